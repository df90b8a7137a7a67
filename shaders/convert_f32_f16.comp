// shaders/convert_f32_f16.comp - f32 to f16, four elements per invocation: the twin by hand of an emitted conversion,
// for the test that compares the two ways of making SPIR-V.
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_16bit_storage : require
layout(local_size_x = 64) in;
layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Source { vec4 v[]; };
layout(buffer_reference, std430, buffer_reference_align = 8) writeonly buffer Result { f16vec4 v[]; };
layout(push_constant) uniform Push { Source a; Result c; };

void main() { c.v[gl_GlobalInvocationID.x] = f16vec4(a.v[gl_GlobalInvocationID.x]); }
