/* The two ways of making SPIR-V side by side: shaderc from the GLSL of shaders/, and the emitter from Target IR. Same
 * results. */
#include "shaders/shaders.h"
#include "tests/conformance/vulkan_run.h"

enum { N = 4096 };
static vr dev;

static void run_shader(const char *name, const int64_t *grid, int block, const be_range *bindings, int n) {
  const shader *s = shader_find(name);
  const size_t offsets[2] = {0, 4 * s->n_words};
  static const int ids[4] = {0, 1, 2, 3};
  be_kernel_desc k = {.name = name, .grid = {grid[0], grid[1], 1}, .block = {block, 1, 1}, .n_args = n, .n_outputs = 1};
  be_module *m;
  be_program *p;
  VR_OK(vulkan_backend.module_create(dev.d,
                                     &(be_module_desc){.format = BE_SPIRV,
                                                       .code = s->words,
                                                       .code_bytes = 4 * s->n_words,
                                                       .offsets = offsets,
                                                       .kernels = &k,
                                                       .n_kernels = 1},
                                     &m));
  VR_OK(vulkan_backend.program_create(dev.d, &(be_program_desc){&(be_launch){m, 0, ids, NULL, 0}, 1, n}, &p));
  VR_OK(vulkan_backend.program_run(dev.s, p, bindings, NULL));
  VR_OK(vulkan_backend.stream_sync(dev.s, -1));
  vulkan_backend.program_destroy(p);
  vulkan_backend.module_destroy(m);
}

static be_range buffer(size_t bytes, const void *data) {
  be_range r = {.bytes = bytes};
  VR_OK(vulkan_backend.buffer_create(dev.d, bytes, BE_DEVICE_LOCAL, &r.buffer));
  if (data) VR_OK(vulkan_backend.write(dev.s, r, data));
  return r;
}

static void fetch(be_range r, void *out) {
  VR_OK(vulkan_backend.read(dev.s, r, out));
  VR_OK(vulkan_backend.stream_sync(dev.s, -1));
  vulkan_backend.buffer_destroy(r.buffer);
}

static void conversion_same_bits_both_ways(void **state) {
  static float x[N];
  static uint16_t by_hand[N], emitted[N];
  for (int i = 0; i < N; i++) x[i] = (float)(i - N / 2) * 37.13f / (float)(1 + i % 29);
  be_range in = buffer(sizeof x, x), out = buffer(sizeof by_hand, NULL);
  run_shader("convert_f32_f16", (const int64_t[]){N / 256, 1}, 64, (const be_range[]){in, out}, 2);
  fetch(out, by_hand);
  vulkan_backend.buffer_destroy(in.buffer);
  static const char text[] =
      "\"tessera.target.kernel\"() ({\n^bb0(%a: !tessera.ptr<f32, \"global\">, %o: !tessera.ptr<f16, \"global\">):\n%i = \"tessera.target.thread_id\"() {axis = 0} : () -> index\n"
      "%b = \"tessera.target.block_id\"() {axis = 0} : () -> index\n%c = \"tessera.target.const\"() {value = 64} : () -> index\n%f = \"tessera.target.const\"() {value = 4} : () -> index\n"
      "%m = \"tessera.target.mul\"(%b, %c) : (index, index) -> index\n%u = \"tessera.target.add\"(%m, %i) : (index, index) -> index\n%t = \"tessera.target.mul\"(%u, %f) : (index, index) -> index\n"
      "%x = \"tessera.target.load\"(%a, %t) : (!tessera.ptr<f32, \"global\">, index) -> vector<4xf32>\n%r = \"tessera.target.cast\"(%x) : (vector<4xf32>) -> vector<4xf16>\n"
      "\"tessera.target.store\"(%r, %o, %t) : (vector<4xf16>, !tessera.ptr<f16, \"global\">, index) -> ()\n\"tessera.target.return\"() : () -> ()\n"
      "}) {sym_name = \"convert\", dialect = \"spirv\", grid = [16, 1, 1], block = [64, 1, 1]} : () -> ()\n";
  vr_run(&dev, text, (vr_arg[]){{x, NULL, sizeof x}, {NULL, emitted, sizeof emitted}}, 2, 1);
  assert_memory_equal(by_hand, emitted, sizeof emitted);
}

static void fill_by_hand_same_as_command(void **state) {
  static uint32_t by_hand[N], command[N];
  const uint32_t value = 0x12345678u;
  be_range v = buffer(16, (const uint32_t[4]){value}), a = buffer(sizeof by_hand, NULL),
           b = buffer(sizeof command, NULL);
  run_shader("fill_u32", (const int64_t[]){N / 256, 1}, 64, (const be_range[]){v, a}, 2);
  VR_OK(vulkan_backend.fill(dev.s, b, value));
  fetch(a, by_hand);
  fetch(b, command);
  vulkan_backend.buffer_destroy(v.buffer);
  assert_memory_equal(by_hand, command, sizeof command);
}

static void matmul_by_hand_right(void **state) {
  enum { M = 128, K = 128, C = 512 };
  static uint16_t a[M * K], b[K * C], c[M * C];
  for (int i = 0; i < M * K; i++) a[i] = dtype_f32_to_f16((float)(i % 7 - 3));
  for (int i = 0; i < K * C; i++) b[i] = dtype_f32_to_f16((float)(i % 5 - 2));
  const uint32_t sizes[3] = {M, C, K};
  be_range r[4] = {buffer(sizeof a, a), buffer(sizeof b, b), buffer(sizeof sizes, sizes), buffer(sizeof c, NULL)};
  run_shader("matmul_f16", (const int64_t[]){C / 16, M / 8}, 8, r, 4);
  fetch(r[3], c);
  for (int i = 0; i < 3; i++) vulkan_backend.buffer_destroy(r[i].buffer);
  for (int i = 0; i < M; i++)
    for (int j = 0; j < C; j++) {
      int want = 0;
      for (int k = 0; k < K; k++) want += ((i * K + k) % 7 - 3) * ((k * C + j) % 5 - 2);
      assert_float_equal(dtype_f16_to_f32(c[i * C + j]), want, 0);
    }
}

int main(void) {
  if (!shader_count()) {
    printf("skipped: built without glslc\n");
    return 77;
  }
  if (!vr_open(&dev)) return 77;
  const struct CMUnitTest tests[] = {cmocka_unit_test(conversion_same_bits_both_ways),
                                     cmocka_unit_test(fill_by_hand_same_as_command),
                                     cmocka_unit_test(matmul_by_hand_right)};
  int r = cmocka_run_group_tests(tests, NULL, NULL);
  return vr_close(&dev) ? 1 : r;
}
