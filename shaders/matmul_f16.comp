// shaders/matmul_f16.comp - C = A * B in f16 with f32 sums, written by hand: what `tessera bench --against glsl`
// compares the emitted kernel with. A row per invocation, 16 columns in its registers. m is a multiple of 8, n of 16, k
// of 4.
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_16bit_storage : require
layout(local_size_x = 8) in;
layout(buffer_reference, std430, buffer_reference_align = 8) readonly buffer Source { f16vec4 v[]; };
layout(buffer_reference, std430, buffer_reference_align = 8) writeonly buffer Result { f16vec4 v[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer Sizes { uint m, n, k; };
layout(push_constant) uniform Push { Source a; Source b; Sizes sizes; Result c; };

void main() {
  uint n = sizes.n / 4, k = sizes.k / 4;
  uint row = gl_WorkGroupID.y * 8 + gl_LocalInvocationID.x, col = gl_WorkGroupID.x * 4;
  vec4 sum[4] = vec4[](vec4(0), vec4(0), vec4(0), vec4(0));
  uint i = 0;
  do { // tested at the end: llvmpipe goes through the body of a failed test once more, and reads beyond B
    vec4 x = vec4(a.v[row * k + i]);
    for (uint u = 0; u < 4; u++)
      for (uint j = 0; j < 4; j++) sum[j] += x[u] * vec4(b.v[(4 * i + u) * n + col + j]);
  } while (++i < k);
  for (uint j = 0; j < 4; j++) c.v[row * n + col + j] = f16vec4(sum[j]);
}
