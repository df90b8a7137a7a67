/* Small programs for the tests of the Vulkan backend's own table: chains of one-step kernels. */
#ifndef TESTS_CONFORMANCE_VULKAN_CHAIN_H
#define TESTS_CONFORMANCE_VULKAN_CHAIN_H
#include <stdlib.h>

#include "tests/conformance/vulkan_run.h"

/* out[i] = op(in[i], value) over n elements in blocks of 64. */
static inline const char *step_kernel(const char *op, double value, int n, const char *name) {
  static char s[4096];
  snprintf(s, sizeof s,
           "\"tessera.target.kernel\"() ({\n^bb0(%%a: !tessera.ptr<f32, \"global\">, %%o: !tessera.ptr<f32, \"global\">):\n"
           "%%i = \"tessera.target.thread_id\"() {axis = 0} : () -> index\n%%b = \"tessera.target.block_id\"() {axis = 0} : () -> index\n"
           "%%c = \"tessera.target.const\"() {value = 64} : () -> index\n%%m = \"tessera.target.mul\"(%%b, %%c) : (index, index) -> index\n%%t = \"tessera.target.add\"(%%m, %%i) : (index, index) -> index\n"
           "%%x = \"tessera.target.load\"(%%a, %%t) : (!tessera.ptr<f32, \"global\">, index) -> f32\n%%v = \"tessera.target.const\"() {value = %.9g} : () -> f32\n"
           "%%r = \"tessera.target.%s\"(%%x, %%v) : (f32, f32) -> f32\n\"tessera.target.store\"(%%r, %%o, %%t) : (f32, !tessera.ptr<f32, \"global\">, index) -> ()\n"
           "\"tessera.target.return\"() : () -> ()\n}) {sym_name = \"%s\", dialect = \"spirv\", grid = [%d, 1, 1], block = [64, 1, 1], flops = %d} : () -> ()\n",
           value + 1e-300, op, name, n / 64, n);
  return s;
}

static inline be_buffer *buffer(vr *r, size_t bytes, const void *data) {
  be_buffer *b;
  VR_OK(vulkan_backend.buffer_create(r->d, bytes, BE_DEVICE_LOCAL, &b));
  if (data) VR_OK(vulkan_backend.write(r->s, (be_range){b, 0, bytes}, data));
  return b;
}

enum { N = 1 << 14 };

/* a -> b (+ 1) -> a (* 2) -> b (+ 1): each launch waits for the one before. */
static inline be_program *chain(vr *r, be_module *m) {
  static const int ab[] = {0, 1}, ba[] = {1, 0}, w0[] = {0}, w1[] = {1};
  const be_launch l[] = {{m, 0, ab, NULL, 0}, {m, 1, ba, w0, 1}, {m, 0, ab, w1, 1}};
  be_program *p;
  VR_OK(vulkan_backend.program_create(r->d, &(be_program_desc){l, 3, 2}, &p));
  return p;
}

static inline be_module *two_kernels(vr *r) {
  char *s = malloc(8192);
  s[0] = 0;
  strcat(s, step_kernel("add", 1, N, "plus"));
  strcat(s, step_kernel("mul", 2, N, "times"));
  be_module *m = vr_module(r, s);
  free(s);
  return m;
}
#endif
