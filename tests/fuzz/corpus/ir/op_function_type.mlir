"builtin.module"() ({
  "tessera.graph.func"() ({
  ^bb0(%arg0: tensor<4x6xf32>, %arg1: tensor<6xf32>):
    %0 = "tessera.graph.add"(%arg0, %arg1) : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
    %1 = "tessera.graph.reduce_max"(%0) {axes = [1]} : (tensor<4x6xf32>) -> tensor<4xf32>
    "tessera.graph.return"(%0, %1) : (tensor<4x6xf32>, tensor<4xf32>) -> ()
  }) {function_type = (tensor<4x6xf32>, tensor<6xf32>) -> (tensor<4x6xf32>, tensor<4xf32>), sym_name = "main"} : () -> ()
}) : () -> ()
