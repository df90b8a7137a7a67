"tessera.graph.func"() ({
^bb0(%a: tensor<1x3x5x7xf32>):
%0 = "tessera.graph.resize"(%a) {sizes = [8, 4], mode = "linear"}
%1 = "tessera.graph.resize"(%0) {scales = [1.5, 0.5], mode = "cubic", exclude_outside = true, cubic_coeff_a = -0.5}
%2 = "tessera.graph.resize"(%1) {sizes = [6, 3], coordinate_transformation_mode = "tf_crop_and_resize", roi = [0.25, -0.5, 0.75, 1.5], extrapolation_value = 3.0}
"tessera.graph.return"(%2) : (tensor<1x3x6x3xf32>) -> ()
}) : () -> ()
