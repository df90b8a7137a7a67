"tessera.graph.func"() ({
^bb0(%a: tensor<3x131xcomplex<f32>>):
  %0 = "tessera.graph.fft"(%a) {norm = "ortho"}
  "tessera.graph.return"(%0)
}) {sym_name = "main"}
