/* Every public function of base.h, device.h, graph.h, program.h, tessera.h and the backends' headers with what its
 * header doesn't allow: NULL for each pointer, counts and indices below zero, past the end and huge, enums that there
 * are not. A function that returns a status says TSR_INVALID_ARGUMENT and leaves its out parameters empty; the others
 * return nothing, zero or "". The last case reads the headers: a function that is not tried here fails it. Those of
 * tune.h and profile.h: test_runtime_arguments_tools.c. */
#include "core/base/knob.h"
#include "core/ir/schedule/schedule.h"
#include "tessera/cuda.h"
#include "tessera/hip.h"
#include "tessera/profile.h"
#include "tessera/tune.h"
#include "tessera/vulkan.h"
#include "tests/unit/bad_arguments.h"

static void base_functions(void **state) {
  HOLDS(tsr_abi_version(), == TSR_ABI_VERSION);
  HOLDS(tsr_probe_main(3, NULL), == -1); /* arguments of another's */
  HOLDS(tsr_probe_main(0, (char *[]){NULL}), == -1);
  HOLDS(tsr_probe_main(2, (char *[]){"app", "--help", NULL}), == -1);
  HOLDS(tsr_probe_main(1, (char *[]){"tessera-probe", NULL}), == 2);
  HOLDS(tsr_probe_main(3, (char *[]){"tessera-probe", "none", "", NULL}), == 2);
  HOLDS(tsr_status_code(NULL), == TSR_OK);
  HOLDS(tsr_status_message(NULL), != NULL);
  HOLDS_TEXT(tsr_status_level(NULL), == 0);
  HOLDS_TEXT(tsr_status_op(NULL), == 0);
  HOLDS_TEXT(tsr_status_cause(NULL), == 0);
  HOLDS_TEXT(tsr_status_hint(NULL), == 0);
  try("tsr_status_free("), tsr_status_free(NULL);
  for (int e = -2; e < 100; e += 3) {
    HOLDS_TEXT(tsr_code_name((tsr_code)e), != 0);
    HOLDS_TEXT(tsr_policy_name((tsr_policy)e), != 0);
    HOLDS_TEXT(tsr_policy_help((tsr_policy)e), != 0);
    HOLDS_TEXT(tsr_precision_name((tsr_precision)e), != 0);
    HOLDS_TEXT(tsr_precision_help((tsr_precision)e), != 0);
    HOLDS_TEXT(tsr_dtype_name((tsr_dtype)e), != 0);
    HOLDS(tsr_dtype_size((tsr_dtype)e), <= 16);
    HOLDS(tsr_dtype_bytes((tsr_dtype)e, 3), <= 48);
  }
  HOLDS(tsr_dtype_size((tsr_dtype)INT32_MIN), == 0);
  HOLDS(tsr_dtype_parse(NULL), == TSR_DTYPE_NONE);
}

static void contexts_and_devices(void **state) {
  tsr_context *c;
  tsr_device *d;
  tsr_policy p;
  const tsr_device_info *di;
  const tsr_backend_info *bi;
  int n;
  static const tsr_allocator half = {.free = count_free}, other_half = {.alloc = count_alloc};
  BAD_OUT(c, tsr_context_create(&(tsr_context_desc){.policy = (tsr_policy)99}, &c));
  BAD_OUT(c, tsr_context_create(&(tsr_context_desc){.policy = (tsr_policy)-1}, &c));
  BAD_OUT(c, tsr_context_create(&(tsr_context_desc){.fallback = (tsr_fallback)77}, &c));
  BAD_OUT(c, tsr_context_create(&(tsr_context_desc){.allocator = &half}, &c));
  BAD_OUT(c, tsr_context_create(&(tsr_context_desc){.allocator = &other_half}, &c));
  BAD(tsr_context_create(NULL, NULL));
  try("tsr_context_destroy("), tsr_context_destroy(NULL), c = NULL, tsr_context_destroy(&c);
  BAD(tsr_policy_parse("fast", NULL));
  memset(&p, 0x5a, sizeof p);
  tsr_status st = tsr_policy_parse(NULL, &p);
  assert_int_equal(tsr_status_code(st), TSR_NOT_FOUND);
  assert_int_equal(p, TSR_POLICY_DEFAULT);
  tsr_status_free(st);
  tsr_precision mode;
  BAD(tsr_precision_parse("safe", NULL));
  for (tsr_precision m = TSR_PRECISION_STANDARD; m <= TSR_PRECISION_TF32; m++) {
    assert_null(tsr_precision_parse(tsr_precision_name(m), &mode));
    assert_int_equal(mode, m);
  }
  st = tsr_precision_parse("saf", &mode);
  assert_int_equal(tsr_status_code(st), TSR_NOT_FOUND);
  assert_non_null(strstr(tsr_status_hint(st), "standard, safe, aggressive"));
  tsr_status_free(st);
  BAD_OUT(di, tsr_devices(NULL, &di, &n));
  BAD_OUT(di, tsr_devices(ctx, &di, NULL));
  BAD(tsr_devices(ctx, NULL, &n));
  BAD_OUT(bi, tsr_backends(NULL, &bi, &n));
  BAD_OUT(bi, tsr_backends(ctx, &bi, NULL));
  BAD(tsr_backends(ctx, NULL, &n));
  BAD_OUT(d, tsr_device_open(NULL, "cpu:0", &d));
  BAD(tsr_device_open(ctx, "cpu:0", NULL));
  BAD_OUT(d, tsr_device_import(ctx, NULL, &d, &d));
  BAD_OUT(d, tsr_device_import(ctx, "cpu", NULL, &d));
  BAD_OUT(d, tsr_device_import(NULL, "cpu", &d, &d));
  BAD(tsr_device_import(ctx, "cpu", &d, NULL));
  try("tsr_device_close("), tsr_device_close(NULL), d = NULL, tsr_device_close(&d);
  try("tsr_device_memory("), tsr_device_memory(NULL, NULL, NULL);
  HOLDS(tsr_device_get_info(NULL), == NULL);
}

/* What an application gives of its own, with nothing in it; a driver that isn't here says so first. */
static void empty_imports_are_refused(void **state) {
  static const tsr_vulkan_import vulkan;
  static const tsr_vulkan_import named = {.n_extensions = 3};
  static const tsr_cuda_import cuda;
  static const tsr_hip_import hip = {.device = -7};
  const struct {
    const char *backend;
    const void *import;
  } rows[] = {{"vulkan", &vulkan}, {"vulkan", &named}, {"cuda", &cuda},
              {"hip", &hip},       {"cpu", &vulkan},   {"null", &vulkan}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    tsr_device *d = dev;
    tsr_status st = tsr_device_import(ctx, rows[i].backend, rows[i].import, &d);
    if (!st || d) fail_msg("%s takes an empty import", rows[i].backend);
    tsr_status_free(st);
  }
}

static void buffers(void **state) {
  tsr_buffer *x;
  char bytes[64];
  BAD_OUT(x, tsr_buffer_create(NULL, 4, TSR_MEMORY_DEVICE, &x));
  BAD_OUT(x, tsr_buffer_create(dev, 4, (tsr_memory)9, &x));
  BAD_OUT(x, tsr_buffer_create(dev, 4, (tsr_memory)-1, &x));
  BAD_OUT(x, tsr_buffer_create(dev, SIZE_MAX, TSR_MEMORY_DEVICE, &x));
  BAD(tsr_buffer_create(dev, 4, TSR_MEMORY_DEVICE, NULL));
  BAD_OUT(x, tsr_buffer_import(NULL, bytes, 4, &x));
  BAD_OUT(x, tsr_buffer_import(dev, NULL, 4, &x));
  BAD_OUT(x, tsr_buffer_import(dev, bytes, SIZE_MAX, &x));
  BAD(tsr_buffer_import(dev, bytes, 4, NULL));
  int fd = 0;
  BAD_OUT(x, tsr_buffer_create_shared(NULL, 4, &x));
  BAD(tsr_buffer_create_shared(dev, 4, NULL));
  BAD_OUT(x, tsr_buffer_import_fd(NULL, 0, 4, &x));
  BAD_OUT(x, tsr_buffer_import_fd(dev, -1, 4, &x));
  BAD(tsr_buffer_import_fd(dev, 0, 4, NULL));
  BAD(tsr_buffer_export_fd(NULL, &fd));
  BAD(tsr_buffer_export_fd(buf, NULL));
  try("tsr_buffer_destroy("), tsr_buffer_destroy(NULL), x = NULL, tsr_buffer_destroy(&x);
  HOLDS(tsr_buffer_bytes(NULL), == 0);
  HOLDS(tsr_buffer_map(NULL), == NULL);
  BAD(tsr_buffer_write(NULL, 0, bytes, 4));
  BAD(tsr_buffer_write(buf, 0, NULL, 4));
  BAD(tsr_buffer_write(buf, 0, bytes, 65));
  BAD(tsr_buffer_write(buf, SIZE_MAX, bytes, 2));
  BAD(tsr_buffer_write(buf, 2, bytes, SIZE_MAX));
  BAD(tsr_buffer_read(NULL, 0, bytes, 4));
  BAD(tsr_buffer_read(buf, 0, NULL, 4));
  BAD(tsr_buffer_read(buf, 61, bytes, 4));
  BAD(tsr_buffer_read(buf, SIZE_MAX, bytes, SIZE_MAX));
  OK(tsr_buffer_write(buf, 64, NULL, 0));
}

static void streams_and_events(void **state) {
  tsr_stream *s, *other = NULL;
  tsr_event *e, *never = NULL;
  tsr_recording *r;
  double ns;
  OK(tsr_stream_create(dev, 0, &other));
  OK(tsr_event_create(dev, &never));
  BAD_OUT(s, tsr_stream_create(NULL, 0, &s));
  BAD(tsr_stream_create(dev, 0, NULL));
  try("tsr_stream_destroy("), tsr_stream_destroy(NULL), s = NULL, tsr_stream_destroy(&s);
  BAD(tsr_stream_sync(NULL, -1));
  BAD(tsr_stream_wait(NULL, never));
  BAD(tsr_stream_wait(other, NULL));
  BAD(tsr_stream_wait(other, never));
  BAD(tsr_stream_wait_external(NULL, &ns));
  BAD(tsr_stream_signal_external(NULL, &ns));
  int fd = 0;
  BAD(tsr_stream_signal_fd(NULL, &fd));
  BAD(tsr_stream_wait_fd(NULL, 0));
  BAD(tsr_stream_copy(NULL, buf, 0, buf, 32, 4));
  BAD(tsr_stream_copy(other, NULL, 0, buf, 32, 4));
  BAD(tsr_stream_copy(other, buf, 0, NULL, 32, 4));
  BAD(tsr_stream_copy(other, buf, SIZE_MAX, buf, 0, 4));
  BAD(tsr_stream_copy(other, buf, 0, buf, 0, SIZE_MAX));
  BAD(tsr_stream_fill(NULL, buf, 0, 4, 0));
  BAD(tsr_stream_fill(other, NULL, 0, 4, 0));
  BAD(tsr_stream_fill(other, buf, 1, 4, 0));
  BAD(tsr_stream_fill(other, buf, 64, SIZE_MAX - 63, 0));
  BAD_OUT(e, tsr_event_create(NULL, &e));
  BAD(tsr_event_create(dev, NULL));
  try("tsr_event_destroy("), tsr_event_destroy(NULL), e = NULL, tsr_event_destroy(&e);
  BAD(tsr_event_record(NULL, other));
  BAD(tsr_event_sync(NULL));
  BAD(tsr_event_sync(never));
  BAD_OUT(ns, tsr_event_elapsed(NULL, never, &ns));
  BAD_OUT(ns, tsr_event_elapsed(never, NULL, &ns));
  BAD_OUT(ns, tsr_event_elapsed(never, never, &ns));
  BAD(tsr_event_elapsed(never, never, NULL));
  BAD(tsr_capture_begin(NULL));
  BAD_OUT(r, tsr_capture_end(NULL, &r));
  BAD_OUT(r, tsr_capture_end(other, &r));
  BAD(tsr_capture_end(other, NULL));
  BAD(tsr_recording_replay(NULL, other));
  try("tsr_recording_destroy("), tsr_recording_destroy(NULL), r = NULL, tsr_recording_destroy(&r);
  tsr_event_destroy(&never);
  tsr_stream_destroy(&other);
}

static void attributes(void **state) {
  static const int64_t dims[2] = {2, 8};
  const tsr_attr bad[] = {TSR_INT(NULL, 1),
                          TSR_INT("", 1),
                          {.name = "shape", .kind = (tsr_attr_kind)9},
                          {.name = "shape", .kind = (tsr_attr_kind)-1},
                          TSR_STRING("shape", NULL),
                          TSR_INTS("shape", NULL, 2),
                          TSR_INTS("shape", dims, -1),
                          TSR_INTS("shape", dims, INT32_MIN),
                          TSR_FLOATS("shape", NULL, 2),
                          TSR_FLOATS("shape", ((const double[2]){2, 8}), -1)};
  tsr_value v;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) BAD_OUT(v, tsr_graph_op(g, "reshape", &a, 1, &bad[i], 1, &v));
  BAD_OUT(v, tsr_graph_op(g, "neg", &a, 1, NULL, 1, &v));
  BAD_OUT(v, tsr_graph_op(g, "neg", &a, 1, bad, -1, &v));
}

static void graphs(void **state) {
  const tsr_shape s = {2, {4, 4}},
                  bad[] = {{-1, {0}},       {9, {0}}, {INT32_MAX, {0}}, {2, {-2, 4}}, {2, {INT64_MAX, INT64_MAX}},
                           {1, {INT64_MIN}}};
  static const double element[16];
  tsr_graph *x;
  tsr_value v;
  BAD_OUT(x, tsr_graph_create(NULL, "main", &x));
  BAD(tsr_graph_create(ctx, "main", NULL));
  BAD_OUT(x, tsr_graph_parse(NULL, text_ok, sizeof text_ok - 1, NULL, &x));
  BAD_OUT(x, tsr_graph_parse(ctx, NULL, 5, NULL, &x));
  BAD_OUT(x, tsr_graph_parse(ctx, text_ok, SIZE_MAX, NULL, &x));
  BAD(tsr_graph_parse(ctx, text_ok, sizeof text_ok - 1, NULL, NULL));
  const tsr_import_desc model = {.data = text_ok, .bytes = sizeof text_ok - 1};
  BAD_OUT(x, tsr_graph_import(NULL, &model, &x));
  BAD_OUT(x, tsr_graph_import(ctx, NULL, &x));
  BAD_OUT(x, tsr_graph_import(ctx, &(tsr_import_desc){0}, &x));
  const tsr_import_desc no_inputs = {.data = text_ok, .bytes = sizeof text_ok - 1, .n_inputs = 1};
  BAD_OUT(x, tsr_graph_import(ctx, &no_inputs, &x));
  BAD(tsr_graph_import(ctx, &model, NULL));
  BAD(tsr_graph_if(NULL, 1, g, g, NULL, 0, &v));
  BAD(tsr_graph_if(g, 1, NULL, g, NULL, 0, &v));
  BAD(tsr_graph_if(g, 1, g, g, NULL, -1, &v));
  BAD(tsr_graph_if(g, 1, g, g, NULL, 0, NULL));
  BAD(tsr_graph_while(NULL, g, g, NULL, 0, 0, 1, &v));
  BAD(tsr_graph_while(g, g, NULL, NULL, 0, 0, 1, &v));
  BAD(tsr_graph_while(g, g, g, NULL, INT32_MAX, 0, 1, &v));
  BAD(tsr_graph_while(g, g, g, NULL, 1, 2, 1, &v));
  try("tsr_graph_destroy("), tsr_graph_destroy(NULL), x = NULL, tsr_graph_destroy(&x);
  BAD_OUT(v, tsr_graph_input(NULL, "x", TSR_F32, s, &v));
  BAD(tsr_graph_input(g, "x", TSR_F32, s, NULL));
  BAD_OUT(v, tsr_graph_constant(NULL, TSR_F32, s, element, &v));
  BAD_OUT(v, tsr_graph_constant(g, TSR_F32, s, NULL, &v));
  BAD(tsr_graph_constant(g, TSR_F32, s, element, NULL));
  for (int e = -3; e <= TSR_N_DTYPES + 2; e += e == 0 ? TSR_N_DTYPES : 1) {
    BAD_OUT(v, tsr_graph_input(g, "x", (tsr_dtype)e, s, &v));
    BAD_OUT(v, tsr_graph_constant(g, (tsr_dtype)e, s, element, &v));
  }
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    BAD_OUT(v, tsr_graph_input(g, "x", TSR_F32, bad[i], &v));
    BAD_OUT(v, tsr_graph_constant(g, TSR_F32, bad[i], element, &v));
    BAD_OUT(x, tsr_graph_specialize(g, &bad[i], 1, &x));
  }
}

static void ops_of_graphs(void **state) {
  const tsr_shape s = {2, {4, 4}};
  tsr_graph *x;
  tsr_value v;
  tsr_dtype t;
  tsr_shape got;
  char *text;
  BAD_OUT(v, tsr_graph_op(NULL, "neg", &a, 1, NULL, 0, &v));
  BAD_OUT(v, tsr_graph_op(g, "neg", NULL, 1, NULL, 0, &v));
  BAD_OUT(v, tsr_graph_op(g, "neg", &a, -1, NULL, 0, &v));
  BAD_OUT(v, tsr_graph_op(g, "neg", &a, INT32_MAX, NULL, 0, &v));
  BAD_OUT(v, tsr_graph_op(g, "neg", &(tsr_value){0}, 1, NULL, 0, &v));
  BAD_OUT(v, tsr_graph_op(g, "neg", &(tsr_value){UINT32_MAX}, 1, NULL, 0, &v));
  BAD(tsr_graph_op(g, "neg", &a, 1, NULL, 0, NULL));
  BAD(tsr_graph_op_results(NULL, "neg", &a, 1, NULL, 0, &v, 1));
  BAD(tsr_graph_op_results(g, "neg", &a, 1, NULL, 0, NULL, 1));
  BAD(tsr_graph_op_results(g, "neg", &a, 1, NULL, 0, &v, 0));
  BAD(tsr_graph_op_results(g, "neg", &a, 1, NULL, 0, &v, INT32_MAX));
  tsr_status st = tsr_graph_op(g, NULL, &a, 1, NULL, 0, &v);
  assert_int_equal(tsr_status_code(st), TSR_NOT_FOUND);
  tsr_status_free(st);
  BAD(tsr_graph_output(NULL, a));
  BAD(tsr_graph_output(g, 0));
  BAD(tsr_graph_output(g, UINT32_MAX));
  BAD_OUT(t, tsr_graph_type(NULL, a, &t, &got));
  BAD_OUT(t, tsr_graph_type(g, 0, &t, &got));
  BAD_OUT(t, tsr_graph_type(g, UINT32_MAX, &t, &got));
  BAD_OUT(t, tsr_graph_type(g, a, &t, NULL));
  BAD(tsr_graph_type(g, a, NULL, &got));
  BAD_OUT(x, tsr_graph_grad(NULL, &a, 1, &x));
  BAD_OUT(x, tsr_graph_grad(g, NULL, 1, &x));
  BAD_OUT(x, tsr_graph_grad(g, &a, 0, &x));
  BAD_OUT(x, tsr_graph_grad(g, &a, -1, &x));
  BAD_OUT(x, tsr_graph_grad(g, &a, INT32_MAX, &x));
  BAD(tsr_graph_grad(g, &a, 1, NULL));
  BAD_OUT(x, tsr_graph_specialize(NULL, &s, 1, &x));
  BAD_OUT(x, tsr_graph_specialize(g, NULL, 1, &x));
  BAD_OUT(x, tsr_graph_specialize(g, &s, -1, &x));
  BAD_OUT(x, tsr_graph_specialize(g, &s, INT32_MAX, &x));
  BAD(tsr_graph_specialize(g, &s, 1, NULL));
  BAD_OUT(text, tsr_graph_print(NULL, &text));
  BAD(tsr_graph_print(g, NULL));
  text = NULL;
  try("tsr_text_free("), tsr_text_free(NULL, NULL), tsr_text_free(ctx, NULL), tsr_text_free(ctx, &text);
}

static void what_graphs_tell(void **state) {
  static const double element[16];
  double *const none[1] = {NULL}, y[16];
  const void *const no_input[1] = {NULL}, *const in[1] = {element};
  char *text;
  HOLDS(tsr_graph_n_inputs(NULL), == 0);
  HOLDS(tsr_graph_n_outputs(NULL), == 0);
  for (int i = -1; i < 3; i += i < 0 ? 2 : 1) {
    HOLDS_TEXT(tsr_graph_input_info(g, i).name, == 0);
    HOLDS_TEXT(tsr_graph_output_info(g, i).name, == 0);
    HOLDS_TEXT(tsr_program_input(prog, i).name, == 0);
    HOLDS_TEXT(tsr_program_output(prog, i).name, == 0);
    HOLDS_TEXT(tsr_program_kernel(prog, i).name, == 0);
  }
  HOLDS(tsr_graph_input_info(NULL, 0).bytes, == 0);
  HOLDS(tsr_graph_output_info(g, INT32_MIN).bytes, == 0);
  BAD(tsr_graph_reference(NULL, in, none, NULL));
  BAD(tsr_graph_reference(g, NULL, (double *[]){y}, NULL));
  BAD(tsr_graph_reference(g, no_input, (double *[]){y}, NULL));
  BAD(tsr_graph_reference(g, in, NULL, NULL));
  BAD(tsr_graph_reference(g, in, none, NULL));
  BAD(tsr_graph_reference_at(NULL, in, 0, (int64_t[]){0}, 1, y, NULL));
  BAD(tsr_graph_reference_at(g, NULL, 0, (int64_t[]){0}, 1, y, NULL));
  BAD(tsr_graph_reference_at(g, no_input, 0, (int64_t[]){0}, 1, y, NULL));
  BAD(tsr_graph_reference_at(g, in, -1, (int64_t[]){0}, 1, y, NULL));
  BAD(tsr_graph_reference_at(g, in, 1, (int64_t[]){0}, 1, y, NULL));
  BAD(tsr_graph_reference_at(g, in, 0, NULL, 1, y, NULL));
  BAD(tsr_graph_reference_at(g, in, 0, (int64_t[]){16}, 1, y, NULL));
  BAD(tsr_graph_reference_at(g, in, 0, (int64_t[]){INT64_MIN}, 1, y, NULL));
  BAD(tsr_graph_reference_at(g, in, 0, (int64_t[]){0}, -1, y, NULL));
  BAD(tsr_graph_reference_at(g, in, 0, (int64_t[]){0}, 1, NULL, NULL));
  BAD_OUT(text, tsr_ops_json(NULL, &text));
  BAD(tsr_ops_json(ctx, NULL));
  BAD_OUT(text, tsr_ops_markdown(NULL, &text));
  BAD(tsr_ops_markdown(ctx, NULL));
}

static void programs(void **state) {
  tsr_program *p;
  tsr_program_set *set;
  char *text;
  double ns;
  const tsr_shape s = {2, {4, 4}}, wrong = {-3, {0}};
  BAD_OUT(p, tsr_program_compile(NULL, g, NULL, &p));
  BAD_OUT(p, tsr_program_compile(dev, NULL, NULL, &p));
  BAD(tsr_program_compile(dev, g, NULL, NULL));
  BAD_OUT(p, tsr_program_parse(NULL, text_ok, sizeof text_ok - 1, NULL, NULL, &p));
  BAD_OUT(p, tsr_program_parse(dev, NULL, 7, NULL, NULL, &p));
  BAD_OUT(p, tsr_program_parse(dev, text_ok, SIZE_MAX, NULL, NULL, &p));
  BAD(tsr_program_parse(dev, text_ok, sizeof text_ok - 1, NULL, NULL, NULL));
  try("tsr_program_destroy("), tsr_program_destroy(NULL), p = NULL, tsr_program_destroy(&p);
  BAD_OUT(set, tsr_program_set_create(NULL, g, NULL, 0, &set));
  BAD_OUT(set, tsr_program_set_create(dev, NULL, NULL, 0, &set));
  BAD_OUT(set, tsr_program_set_create(dev, g, NULL, -1, &set));
  BAD_OUT(set, tsr_program_set_create(dev, g, NULL, INT32_MAX, &set));
  BAD(tsr_program_set_create(dev, g, NULL, 0, NULL));
  OK(tsr_program_set_create(dev, g, NULL, 0, &set));
  BAD_OUT(p, tsr_program_set_get(NULL, &s, 1, &p));
  BAD_OUT(p, tsr_program_set_get(set, NULL, 1, &p));
  BAD_OUT(p, tsr_program_set_get(set, &s, -1, &p));
  BAD_OUT(p, tsr_program_set_get(set, &wrong, 1, &p));
  BAD(tsr_program_set_get(set, &s, 1, NULL));
  tsr_shape served;
  BAD_OUT(p, tsr_program_set_serve(NULL, &s, 1, &served, &p));
  BAD_OUT(p, tsr_program_set_serve(set, NULL, 1, &served, &p));
  BAD_OUT(p, tsr_program_set_serve(set, &s, -1, &served, &p));
  BAD_OUT(p, tsr_program_set_serve(set, &wrong, 1, &served, &p));
  BAD_OUT(p, tsr_program_set_serve(set, &s, 1, NULL, &p));
  BAD(tsr_program_set_serve(set, &s, 1, &served, NULL));
  BAD(tsr_program_set_wait(NULL));
  HOLDS(tsr_program_set_count(NULL), == 0);
  try("tsr_program_set_destroy("), tsr_program_set_destroy(NULL), tsr_program_set_destroy(&set),
      tsr_program_set_destroy(&set);
  HOLDS(tsr_program_n_inputs(NULL), == 0);
  HOLDS(tsr_program_n_outputs(NULL), == 0);
  HOLDS(tsr_program_n_kernels(NULL), == 0);
  HOLDS(tsr_program_n_fallbacks(NULL), == 0);
  HOLDS(tsr_program_donated_input(NULL, 0), == -1);
  HOLDS(tsr_program_input(NULL, 0).bytes, == 0);
  HOLDS(tsr_program_output(NULL, 0).bytes, == 0);
  HOLDS_TEXT(tsr_program_kernel(NULL, 0).path, == 0);
  BAD_OUT(text, tsr_program_dump(NULL, TSR_LEVEL_TILE, &text, NULL));
  BAD_OUT(text, tsr_program_dump(prog, (tsr_level)6, &text, NULL));
  BAD_OUT(text, tsr_program_dump(prog, (tsr_level)-1, &text, NULL));
  BAD(tsr_program_dump(prog, TSR_LEVEL_TILE, NULL, NULL));
  BAD_OUT(text, tsr_program_dump_after(NULL, &text));
  BAD(tsr_program_dump_after(prog, NULL));
  BAD_OUT(text, tsr_program_explain(NULL, &text));
  BAD(tsr_program_explain(prog, NULL));
  BAD(tsr_program_run(NULL, NULL, &one, &one));
  BAD(tsr_program_run(prog, NULL, NULL, &one));
  BAD(tsr_program_run(prog, NULL, &one, NULL));
  BAD(tsr_program_run(prog, NULL, &(tsr_binding){NULL, 0}, &one));
  BAD(tsr_program_run(prog, NULL, &(tsr_binding){buf, SIZE_MAX}, &one));
  BAD(tsr_program_profile(NULL, NULL, &one, &one, &ns));
  BAD(tsr_program_profile(prog, NULL, &one, &one, NULL));
  BAD(tsr_program_prewarm(NULL, NULL, NULL));
  HOLDS(tsr_schedule_pipelined().pipeline_stages, == 3);
}

static bool any_infer(void *user, const tsr_custom_call *call, char *why, size_t bytes) { return false; }
static bool any_cpu(void *user, const tsr_custom_call *call, int64_t first, int64_t last, char *why, size_t bytes) {
  return false;
}

static void custom_ops(void **state) {
  const tsr_custom_op bad[] = {{.infer = any_infer, .cpu = any_cpu},
                               {.name = "", .infer = any_infer, .cpu = any_cpu},
                               {.name = "x.y", .cpu = any_cpu},
                               {.name = "x.y", .infer = any_infer},
                               {.name = "x.y", .infer = any_infer, .cpu = any_cpu, .n_operands = -1},
                               {.name = "x.y", .infer = any_infer, .cpu = any_cpu, .n_operands = INT32_MAX}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) BAD(tsr_custom_op_register(ctx, &bad[i]));
  BAD(tsr_custom_op_register(NULL, &bad[0]));
  BAD(tsr_custom_op_register(ctx, NULL));
}

/* What the knob takes a schedule may name too. */
static void paths_of_the_knob_are_paths_of_schedules(void **state) {
  size_t n_knobs, n_words = 0;
  const knob *k = knob_table(&n_knobs);
  while (strcmp(k->name, "TSR_MATRIX")) k++;
  for (const char *at = k->words; *at; at += strspn(at, ",")) {
    char word[32];
    size_t n = strcspn(at, ",");
    snprintf(word, sizeof word, "%.*s", (int)n, at);
    if (!matrix_path_find(word)) fail_msg("no schedule can name the path %s", word);
    at += n, n_words++;
  }
  assert_true(n_words > 5);
  assert_false(matrix_path_find("") || matrix_path_find("coop") || matrix_path_find("at") ||
               matrix_path_find("memory") || matrix_path_find("auto,"));
}

static void every_function_of_the_headers_was_tried(void **state) {
  static const char *const headers[] = {"base", "device", "graph", "program", "tessera", "vulkan", "cuda", "hip"};
  assert_true(every_function_was_tried(headers, sizeof headers / sizeof *headers) > 80);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(base_functions),
      cmocka_unit_test(contexts_and_devices),
      cmocka_unit_test(empty_imports_are_refused),
      cmocka_unit_test(buffers),
      cmocka_unit_test(streams_and_events),
      cmocka_unit_test(attributes),
      cmocka_unit_test(graphs),
      cmocka_unit_test(ops_of_graphs),
      cmocka_unit_test(what_graphs_tell),
      cmocka_unit_test(programs),
      cmocka_unit_test(custom_ops),
      cmocka_unit_test(paths_of_the_knob_are_paths_of_schedules),
      cmocka_unit_test(every_function_of_the_headers_was_tried),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
