// shaders/fill_u32.comp - one 32-bit number over a buffer, four words per invocation; the number is the first word of
// `value`.
#version 460
#extension GL_EXT_buffer_reference : require
layout(local_size_x = 64) in;
layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer Value { uint v; };
layout(buffer_reference, std430, buffer_reference_align = 16) writeonly buffer Result { uvec4 v[]; };
layout(push_constant) uniform Push { Value value; Result c; };

void main() { c.v[gl_GlobalInvocationID.x] = uvec4(value.v); }
