/* Large buffers of the Vulkan backend through its own table: beyond what a descriptor takes, beyond the driver's
 * largest allocation or VkBuffer, indices beyond 4 GiB. */
#include <stdio.h>
#include <string.h>

#include "tests/conformance/vulkan_chain.h"

static vr dev;

/* 160 MiB: beyond lavapipe's maxStorageBufferRange, and more blocks than one dispatch may have. */
static void buffer_beyond_storage_range_addressed(void **state) {
  enum { BIG = 40 << 20 };
  if (dev.caps.descriptors) skip();
  float tail[64];
  be_module *m = vr_module(&dev, step_kernel("add", 3, BIG, "big"));
  be_buffer *a = buffer(&dev, (size_t)BIG * 4, NULL);
  VR_OK(vulkan_backend.fill(dev.s, (be_range){a, 0, (size_t)BIG * 4}, 0x3f800000u));
  static const int bindings[] = {0, 0};
  be_program *p;
  VR_OK(vulkan_backend.program_create(dev.d, &(be_program_desc){&(be_launch){m, 0, bindings, NULL, 0}, 1, 1}, &p));
  VR_OK(vulkan_backend.program_run(dev.s, p, (be_range[]){{a, 0, (size_t)BIG * 4}}, NULL));
  VR_OK(vulkan_backend.read(dev.s, (be_range){a, ((size_t)BIG - 64) * 4, sizeof tail}, tail));
  VR_OK(vulkan_backend.stream_sync(dev.s, -1));
  for (int i = 0; i < 64; i++) assert_float_equal(tail[i], 4, 0);
  vulkan_backend.program_destroy(p);
  vulkan_backend.module_destroy(m);
  vulkan_backend.buffer_destroy(a);
}

/* The same without addresses, from a byte below what a descriptor takes to a byte above: one line, and the device goes
 * on. */
static void buffer_beyond_storage_range_refused(void **state) {
  enum { SMALL = 64 };
  if (!dev.caps.descriptors || dev.d->limits.max_range >= dev.d->limits.max_allocation) skip();
  const size_t most = (size_t)dev.d->limits.max_range;
  be_module *m = vr_module(&dev, step_kernel("add", 3, SMALL, "long"));
  be_buffer *a = buffer(&dev, most + 4, NULL);
  const be_launch l = {m, 0, (const int[]){0, 0}, NULL, 0};
  static const int off[] = {4, 1, 0, -1, -4, 1};
  for (size_t i = 0; i < sizeof off / sizeof *off; i++) {
    const float x[SMALL] = {1};
    float y[SMALL] = {0};
    char size[96];
    be_program *p; /* of its own: one is always run on as many bytes */
    VR_OK(vulkan_backend.program_create(dev.d, &(be_program_desc){&l, 1, 1}, &p));
    const size_t bytes = off[i] < 0 ? most - (size_t)-off[i] : most + (size_t)off[i];
    VR_OK(vulkan_backend.write(dev.s, (be_range){a, 0, sizeof x}, x));
    tsr_status st = vulkan_backend.program_run(dev.s, p, (be_range[]){{a, 0, bytes}}, NULL);
    assert_int_equal(tsr_status_code(st), off[i] > 0 ? TSR_UNSUPPORTED : TSR_OK);
    snprintf(size, sizeof size, ": %zu; without bufferDeviceAddress the device takes %zu", bytes, most);
    assert_true(off[i] <= 0 || strstr(tsr_status_message(st), size));
    tsr_status_free(st);
    VR_OK(vulkan_backend.read(dev.s, (be_range){a, 0, sizeof y}, y));
    VR_OK(vulkan_backend.stream_sync(dev.s, -1));
    assert_float_equal(y[0], off[i] > 0 ? 1 : 4, 0);
    vulkan_backend.program_destroy(p);
  }
  vulkan_backend.module_destroy(m);
  vulkan_backend.buffer_destroy(a);
}

/* No allocation above the driver's largest, chunks of shared VkBuffers included: one line with both numbers before the
 * driver is asked, which the validation layer would report. */
static void allocation_beyond_the_largest_refused(void **state) {
  enum { MOST = 4 << 20 };
  const uint64_t real = dev.d->limits.max_allocation;
  be_buffer *small, *whole, *more;
  char size[32];
  assert_true(real > 0);
  dev.d->limits.max_allocation = MOST;
  VR_OK(vulkan_backend.buffer_create(dev.d, 4096, BE_DEVICE_LOCAL, &small));
  VR_OK(vulkan_backend.buffer_create(dev.d, MOST, BE_DEVICE_LOCAL, &whole));
  tsr_status st = vulkan_backend.buffer_create(dev.d, MOST + 4, BE_DEVICE_LOCAL, &more);
  dev.d->limits.max_allocation = real;
  assert_true(small->whole <= MOST && whole->whole <= MOST && !more);
  assert_int_equal(tsr_status_code(st), TSR_OUT_OF_MEMORY);
  snprintf(size, sizeof size, "%d bytes", MOST + 4);
  assert_non_null(strstr(tsr_status_message(st), size));
  assert_non_null(strstr(tsr_status_message(st), "largest allocation has 4194304"));
  tsr_status_free(st);
  vulkan_backend.buffer_destroy(small);
  vulkan_backend.buffer_destroy(whole);
}

/* Several VkBuffers on one allocation where one may not be so large: kernels, copies, fills and staging across their
 * borders. */
static void buffer_beyond_the_largest_made_of_pieces(void **state) {
  enum { COUNT = 5 << 18, BYTES = 4 * COUNT }; /* 5 MiB in pieces of 2 */
  if (dev.caps.descriptors) skip();
  float *x = malloc(BYTES), *y = malloc(BYTES);
  const uint64_t real = dev.d->limits.max_buffer;
  for (int i = 0; i < COUNT; i++) x[i] = (float)(i % 8191);
  be_module *m = vr_module(&dev, step_kernel("add", 3, COUNT, "pieces"));
  dev.d->limits.max_buffer = 2 << 20;
  be_buffer *a = buffer(&dev, BYTES, x), *b = buffer(&dev, BYTES, NULL);
  dev.d->limits.max_buffer = real;
  assert_true(a->n_pieces >= 3 && b->n_pieces >= 3);
  be_program *p;
  VR_OK(vulkan_backend.program_create(dev.d, &(be_program_desc){&(be_launch){m, 0, (const int[]){0, 1}, NULL, 0}, 1, 2},
                                      &p));
  for (int staged = 0; staged < 2; staged++) {
    void *host[2] = {a->host, b->host};
    if (staged) a->host = b->host = NULL; /* as on a card with memory of its own */
    VR_OK(vulkan_backend.write(dev.s, (be_range){a, 0, BYTES}, x));
    VR_OK(vulkan_backend.program_run(dev.s, p, (be_range[]){{a, 0, BYTES}, {b, 0, BYTES}}, NULL));
    VR_OK(vulkan_backend.read(dev.s, (be_range){b, 0, BYTES}, y));
    VR_OK(vulkan_backend.stream_sync(dev.s, -1));
    for (int i = 0; i < COUNT; i++) assert_float_equal(y[i], x[i] + 3, 0);
    /* From the middle of one piece to the middle of another, with the borders elsewhere in the other buffer. */
    VR_OK(vulkan_backend.copy(dev.s, (be_range){b, 1 << 19, 4 << 20}, (be_range){a, 64, 4 << 20}));
    VR_OK(vulkan_backend.fill(dev.s, (be_range){b, (2 << 20) - 4096, 8192}, 0x3f800000u));
    VR_OK(vulkan_backend.read(dev.s, (be_range){b, 0, BYTES}, y));
    VR_OK(vulkan_backend.stream_sync(dev.s, -1));
    for (int i = 0; i < COUNT; i++) {
      bool filled = i >= (2 << 18) - 1024 && i < (2 << 18) + 1024, copied = i >= 1 << 17 && i < (1 << 17) + (4 << 18);
      assert_float_equal(y[i], filled ? 1 : copied ? x[i - (1 << 17) + 16] : x[i] + 3, 0);
    }
    a->host = host[0], b->host = host[1];
  }
  vulkan_backend.program_destroy(p);
  vulkan_backend.module_destroy(m);
  vulkan_backend.buffer_destroy(a);
  vulkan_backend.buffer_destroy(b);
  free(x);
  free(y);
}

/* Elements 2^33 and up of an address 2^35 bytes before the buffer: what a tensor beyond 4 GiB asks of the index
 * arithmetic, on drivers whose largest buffer is smaller. */
static void indices_beyond_4_gib_addressed(void **state) {
  if (!dev.caps.i64 || dev.caps.descriptors) skip(); /* of 64 bits */
  static char text[1 << 12];
  static float x[64], y[64];
  snprintf(text, sizeof text,
           "\"tessera.target.kernel\"() ({\n^bb0(%%a: !tessera.ptr<f32, \"global\">, %%o: !tessera.ptr<f32, \"global\">):\n"
           "%%i = \"tessera.target.thread_id\"() {axis = 0} : () -> index\n%%far = \"tessera.target.const\"() {value = 8589934592} : () -> index\n"
           "%%t = \"tessera.target.add\"(%%i, %%far) : (index, index) -> index\n%%x = \"tessera.target.load\"(%%a, %%t) : (!tessera.ptr<f32, \"global\">, index) -> f32\n"
           "%%r = \"tessera.target.add\"(%%x, %%x) : (f32, f32) -> f32\n\"tessera.target.store\"(%%r, %%o, %%t) : (f32, !tessera.ptr<f32, \"global\">, index) -> ()\n"
           "\"tessera.target.return\"() : () -> ()\n}) {sym_name = \"far\", dialect = \"spirv\", grid = [1, 1, 1], block = [64, 1, 1], wide_index = true} : () -> ()\n");
  be_module *m = vr_module(&dev, text);
  for (int i = 0; i < 64; i++) x[i] = (float)i;
  be_buffer *a = buffer(&dev, sizeof x, x), *o = buffer(&dev, sizeof x, NULL);
  static const int bindings[] = {0, 1};
  const size_t before = 0 - ((size_t)1 << 35);
  be_program *p;
  VR_OK(vulkan_backend.program_create(dev.d, &(be_program_desc){&(be_launch){m, 0, bindings, NULL, 0}, 1, 2}, &p));
  VR_OK(vulkan_backend.program_run(dev.s, p, (be_range[]){{a, before, sizeof x}, {o, before, sizeof x}}, NULL));
  VR_OK(vulkan_backend.read(dev.s, (be_range){o, 0, sizeof y}, y));
  VR_OK(vulkan_backend.stream_sync(dev.s, -1));
  for (int i = 0; i < 64; i++) assert_float_equal(y[i], 2 * i, 0);
  vulkan_backend.program_destroy(p);
  vulkan_backend.module_destroy(m);
  vulkan_backend.buffer_destroy(a);
  vulkan_backend.buffer_destroy(o);
}

int main(void) {
  if (!vr_open_validated(&dev)) return 77;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(buffer_beyond_storage_range_addressed),
      cmocka_unit_test(buffer_beyond_storage_range_refused),
      cmocka_unit_test(allocation_beyond_the_largest_refused),
      cmocka_unit_test(buffer_beyond_the_largest_made_of_pieces),
      cmocka_unit_test(indices_beyond_4_gib_addressed),
  };
  int r = cmocka_run_group_tests(tests, NULL, NULL), messages = vr_close(&dev);
  printf("%d validation messages\n", messages);
  return r || messages;
}
