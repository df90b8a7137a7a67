"tessera.graph.func"() ({
  %0 = "tessera.graph.constant"() {value = dense<[0x7FC00000, 0xFF800000, 1.0e-45, -0.0]> : tensor<4xf32>} : () -> tensor<4xf32>
  %1 = "tessera.graph.constant"() {value = dense<"0x0102"> : tensor<2xi8>} : () -> tensor<2xi8>
  %2 = "tessera.graph.constant"() {value = dense<[[true, false]]> : tensor<1x2xi1>} : () -> tensor<1x2xi1>
  "tessera.graph.return"(%0, %1, %2) : (tensor<4xf32>, tensor<2xi8>, tensor<1x2xi1>) -> ()
}) {sym_name = "c\22", policy = "fast"} : () -> ()
