// A word's letters to its phonemes, by g2p-en's encoder and decoder (GRU of 256). Weights by name, from the package's
// checkpoint20.npz (docs/weights.md). word: 0 padding, 1 unknown, 2 the end, 3 .. 28 a to z. Results: numbers of the
// package's list of phonemes, 3 where the word is over; what the encoder knows of the word.
"tessera.graph.func"() ({
^bb0(%word: tensor<?xi32>, %enc_emb: tensor<29x256xf32>, %enc_w_ih: tensor<768x256xf32>, %enc_w_hh: tensor<768x256xf32>,
     %enc_b_ih: tensor<768xf32>, %enc_b_hh: tensor<768xf32>, %dec_emb: tensor<74x256xf32>, %dec_w_ih: tensor<768x256xf32>,
     %dec_w_hh: tensor<768x256xf32>, %dec_b_ih: tensor<768xf32>, %dec_b_hh: tensor<768xf32>, %fc_w: tensor<74x256xf32>,
     %fc_b: tensor<74xf32>):
  // The checkpoint's gates are r, z, h; those of gru z, r, h.
  %w_r = "tessera.graph.slice"(%enc_w_ih) {starts = [0, 0], sizes = [256, 256]}
  %w_z = "tessera.graph.slice"(%enc_w_ih) {starts = [256, 0], sizes = [256, 256]}
  %w_h = "tessera.graph.slice"(%enc_w_ih) {starts = [512, 0], sizes = [256, 256]}
  %w = "tessera.graph.concat"(%w_z, %w_r, %w_h) {axis = 0}
  %r_r = "tessera.graph.slice"(%enc_w_hh) {starts = [0, 0], sizes = [256, 256]}
  %r_z = "tessera.graph.slice"(%enc_w_hh) {starts = [256, 0], sizes = [256, 256]}
  %r_h = "tessera.graph.slice"(%enc_w_hh) {starts = [512, 0], sizes = [256, 256]}
  %r = "tessera.graph.concat"(%r_z, %r_r, %r_h) {axis = 0}
  %bi_r = "tessera.graph.slice"(%enc_b_ih) {starts = [0], sizes = [256]}
  %bi_z = "tessera.graph.slice"(%enc_b_ih) {starts = [256], sizes = [256]}
  %bi_h = "tessera.graph.slice"(%enc_b_ih) {starts = [512], sizes = [256]}
  %bh_r = "tessera.graph.slice"(%enc_b_hh) {starts = [0], sizes = [256]}
  %bh_z = "tessera.graph.slice"(%enc_b_hh) {starts = [256], sizes = [256]}
  %bh_h = "tessera.graph.slice"(%enc_b_hh) {starts = [512], sizes = [256]}
  %b = "tessera.graph.concat"(%bi_z, %bi_r, %bi_h, %bh_z, %bh_r, %bh_h) {axis = 0}
  %w1 = "tessera.graph.reshape"(%w) {shape = [1, 768, 256]}
  %r1 = "tessera.graph.reshape"(%r) {shape = [1, 768, 256]}
  %b1 = "tessera.graph.reshape"(%b) {shape = [1, 1536]}
  %letters = "tessera.graph.gather"(%enc_emb, %word) {axis = 0}
  %x = "tessera.graph.reshape"(%letters) {shape = [-1, 1, 256]}
  %y, %last = "tessera.graph.gru"(%x, %w1, %r1, %b1) {linear_before_reset = true}
  %h0 = "tessera.graph.reshape"(%last) {shape = [1, 256]}

  %i0 = "tessera.graph.constant"() {value = dense<0> : tensor<1xi32>}
  %begin = "tessera.graph.constant"() {value = dense<2> : tensor<1xi32>}
  %none = "tessera.graph.constant"() {value = dense<3> : tensor<20xi32>}
  %n, %p, %state, %said = "tessera.graph.while"(%i0, %begin, %h0, %none, %dec_emb, %dec_w_ih, %dec_w_hh, %dec_b_ih,
                                                %dec_b_hh, %fc_w, %fc_b) ({
  ^bb0(%i: tensor<1xi32>, %before: tensor<1xi32>, %h: tensor<1x256xf32>, %out: tensor<20xi32>, %emb: tensor<74x256xf32>,
       %wi: tensor<768x256xf32>, %wh: tensor<768x256xf32>, %bi: tensor<768xf32>, %bh: tensor<768xf32>,
       %fw: tensor<74x256xf32>, %fb: tensor<74xf32>):
    %over = "tessera.graph.constant"() {value = dense<3> : tensor<1xi32>}
    %goes_on = "tessera.graph.compare"(%before, %over) {predicate = "ne"}
    %c = "tessera.graph.reshape"(%goes_on) {shape = []}
    "tessera.graph.return"(%c)
  }, {
  ^bb0(%i: tensor<1xi32>, %before: tensor<1xi32>, %h: tensor<1x256xf32>, %out: tensor<20xi32>, %emb: tensor<74x256xf32>,
       %wi: tensor<768x256xf32>, %wh: tensor<768x256xf32>, %bi: tensor<768xf32>, %bh: tensor<768xf32>,
       %fw: tensor<74x256xf32>, %fb: tensor<74xf32>):
    %one = "tessera.graph.constant"() {value = dense<1> : tensor<1xi32>}
    %x1 = "tessera.graph.gather"(%emb, %before) {axis = 0}
    %xw = "tessera.graph.matmul"(%x1, %wi) {transpose_b = true}
    %gi = "tessera.graph.add"(%xw, %bi)
    %hw = "tessera.graph.matmul"(%h, %wh) {transpose_b = true}
    %gh = "tessera.graph.add"(%hw, %bh)
    %both = "tessera.graph.add"(%gi, %gh)
    %gates = "tessera.graph.sigmoid"(%both)
    %reset = "tessera.graph.slice"(%gates) {starts = [0, 0], sizes = [1, 256]}
    %z = "tessera.graph.slice"(%gates) {starts = [0, 256], sizes = [1, 256]}
    %gi_h = "tessera.graph.slice"(%gi) {starts = [0, 512], sizes = [1, 256]}
    %gh_h = "tessera.graph.slice"(%gh) {starts = [0, 512], sizes = [1, 256]}
    %kept = "tessera.graph.mul"(%reset, %gh_h)
    %sum = "tessera.graph.add"(%gi_h, %kept)
    %new = "tessera.graph.tanh"(%sum)
    %way = "tessera.graph.sub"(%h, %new)
    %part = "tessera.graph.mul"(%z, %way)
    %h1 = "tessera.graph.add"(%new, %part)
    %hf = "tessera.graph.matmul"(%h1, %fw) {transpose_b = true}
    %logits = "tessera.graph.add"(%hf, %fb)
    %best = "tessera.graph.argmax"(%logits) {axis = 1}
    %out1 = "tessera.graph.scatter"(%out, %i, %best) {axis = 0}
    %i1 = "tessera.graph.add"(%i, %one)
    "tessera.graph.return"(%i1, %best, %h1, %out1)
  }) {carried = 4, max_trips = 20}
  "tessera.graph.return"(%said, %last)
}) {sym_name = "main"} : () -> ()
