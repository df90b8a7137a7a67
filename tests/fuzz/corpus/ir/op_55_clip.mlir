"tessera.graph.func"() ({
^bb0(%a: tensor<?x3xf16>):
%0 = "tessera.graph.clip"(%a) {min = 0, max = 6.0}
"tessera.graph.return"(%0) : (tensor<?x3xf16>) -> ()
}) : () -> ()
