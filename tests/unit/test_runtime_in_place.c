/* What is written into the memory of an input: a decoder's cache, bound to one buffer with the output, moves its new
 * rows and nothing else, and allocates nothing; bound elsewhere it is copied first. Which kernels may, and what is
 * refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/runtime/internal.h"
#include "tests/support/api_check.h"

enum { B = 2, H = 3, L = 64, W = 16, ALL = B * H * L * W, BYTES = ALL * 4, ROW = B * H * W };

static be_vtable counted;
static const be_vtable *real;
static size_t copied;

static tsr_status count_copy(be_stream *s, be_range dst, be_range src) {
  copied += src.bytes;
  return real->copy(s, dst, src);
}

typedef struct rig {
  counting memory;
  tsr_allocator al;
  tsr_context *ctx;
  tsr_device *dev;
} rig;

static void open_rig(rig *r) {
  *r = (rig){.memory = {.left = 1L << 40}};
  r->al = (tsr_allocator){count_alloc, count_free, &r->memory};
  OK(tsr_context_create(&(tsr_context_desc){.allocator = &r->al, .cache_dir = ""}, &r->ctx));
  OK(tsr_device_open(r->ctx, "cpu:0", &r->dev));
  real = r->dev->vt;
  counted = *real;
  counted.copy = count_copy;
  r->dev->vt = &counted;
  copied = 0;
}

static void close_rig(rig *r) {
  r->dev->vt = real;
  tsr_device_close(&r->dev);
  tsr_context_destroy(&r->ctx);
  assert_int_equal(r->memory.live, 0);
}

#define CACHE "tensor<2x3x64x16xf32>"
#define HEAD \
  "\"tessera.graph.func\"() ({\n^bb0(%k: " CACHE ", %r: tensor<2x3x1x16xf32>, %p: tensor<2xi32>, %i: tensor<2x3x64x16xi32>):\n"
#define UPDATE(to, from) "%" to " = \"tessera.graph.cache_update\"(%" from ", %r, %p)\n"
#define TAIL(v, types) "\"tessera.graph.return\"(" v ") : (" types ") -> ()\n}) {sym_name = \"main\"} : () -> ()\n"

static tsr_program *compile(rig *r, const char *text, const char *disable) {
  tsr_program *p = NULL;
  tsr_compile_options o = {.disable = disable, .tune = TSR_TUNE_OFF};
  OK(tsr_program_parse(r->dev, text, strlen(text), "test.mlir", &o, &p));
  return p;
}

static tsr_buffer *buffer(rig *r, size_t bytes, const void *data) {
  tsr_buffer *b;
  OK(tsr_buffer_create(r->dev, bytes, TSR_MEMORY_HOST, &b));
  if (data) OK(tsr_buffer_write(b, 0, data, bytes));
  return b;
}

static float cache[ALL], rows[ROW], got[ALL];
static const int32_t positions[B] = {5, 63};

static void fill(void) {
  for (int i = 0; i < ALL; i++) cache[i] = (float)i;
  for (int i = 0; i < ROW; i++) rows[i] = -1 - (float)i;
}

static void check_rows(const int32_t *at) {
  for (int i = 0; i < ALL; i++) {
    const int b = i / (H * L * W), h = i / (L * W) % H, l = i / W % L, w = i % W;
    const float want = l == at[b] ? rows[(b * H + h) * W + w] : cache[i];
    if (got[i] != want) fail_msg("element %d is %g, not %g", i, (double)got[i], (double)want);
  }
}

static bool traced(rig *r, tsr_program *p, const char *what) {
  char *text;
  OK(tsr_program_explain(p, &text));
  const bool is = strstr(text, what) != NULL;
  tsr_text_free(r->ctx, &text);
  return is;
}

static void a_donated_cache_is_not_copied(void **state) {
  rig r;
  open_rig(&r);
  fill();
  tsr_program *p = compile(&r, HEAD UPDATE("0", "k") TAIL("%0", CACHE), NULL);
  assert_int_equal(tsr_program_donated_input(p, 0), 0);
  assert_int_equal(tsr_program_donated_input(p, 1), -1);
  assert_int_equal(tsr_program_donated_input(NULL, 0), -1);
  assert_true(traced(&r, p, "each run first copies 24576 bytes"));
  /* The kernels' own traffic: rows read and written, and places. */
  assert_int_equal(tsr_program_n_kernels(p), 2);
  double moved = 0;
  for (int i = 0; i < tsr_program_n_kernels(p); i++) moved += tsr_program_kernel(p, i).bytes;
  assert_true(moved > 0 && moved <= 4 * (2 * ROW + 3 * B));
  tsr_buffer *k = buffer(&r, BYTES, cache), *x = buffer(&r, sizeof rows, rows),
             *at = buffer(&r, sizeof positions, positions), *unused = buffer(&r, BYTES, NULL), *other = NULL;
  tsr_binding in[4] = {{k, 0}, {x, 0}, {at, 0}, {unused, 0}}, out = {k, 0};
  OK(tsr_program_run(p, NULL, in, &out));
  assert_int_equal(copied, 0);
  OK(tsr_buffer_read(k, 0, got, BYTES));
  check_rows(positions);
  /* Elsewhere: the cache stays as it was, and is copied once a run. */
  OK(tsr_buffer_write(k, 0, cache, BYTES));
  other = buffer(&r, BYTES, NULL);
  out.buffer = other;
  OK(tsr_program_run(p, NULL, in, &out));
  assert_int_equal(copied, BYTES);
  OK(tsr_buffer_read(other, 0, got, BYTES));
  check_rows(positions);
  OK(tsr_buffer_read(k, 0, got, BYTES));
  assert_memory_equal(got, cache, BYTES);
  tsr_buffer *all[] = {k, x, at, unused, other};
  for (int i = 0; i < 5; i++) tsr_buffer_destroy(&all[i]);
  tsr_program_destroy(&p);
  close_rig(&r);
}

/* A step captured once and replayed: the cache stays where it is, and nothing is allocated. */
static void replays_move_rows_and_allocate_nothing(void **state) {
  enum { STEPS = 20 };
  rig r;
  open_rig(&r);
  fill();
  tsr_program *p = compile(&r, HEAD UPDATE("0", "k") TAIL("%0", CACHE), NULL);
  tsr_buffer *k = buffer(&r, BYTES, cache), *x = buffer(&r, sizeof rows, rows),
             *at = buffer(&r, sizeof positions, (int32_t[B]){0}),
             *unused = buffer(&r, BYTES, NULL);
  tsr_binding in[4] = {{k, 0}, {x, 0}, {at, 0}, {unused, 0}}, out = {k, 0};
  tsr_stream *s;
  tsr_recording *step;
  OK(tsr_stream_create(r.dev, 0, &s));
  OK(tsr_capture_begin(s));
  OK(tsr_program_run(p, s, in, &out));
  OK(tsr_capture_end(s, &step));
  OK(tsr_recording_replay(step, s));
  OK(tsr_stream_sync(s, -1));
  const long before = r.memory.left, live = r.memory.live;
  for (int32_t i = 0; i < STEPS; i++) {
    int32_t now[B] = {i, i};
    OK(tsr_buffer_write(at, 0, now, sizeof now));
    OK(tsr_recording_replay(step, s));
    OK(tsr_stream_sync(s, -1));
  }
  assert_int_equal(r.memory.left, before);
  assert_int_equal(r.memory.live, live);
  assert_int_equal(copied, 0);
  OK(tsr_buffer_read(k, 0, got, BYTES));
  for (int i = 0; i < ALL; i++) {
    const int l = i / W % L;
    const float want = l < STEPS ? rows[(i / (L * W)) * W + i % W] : cache[i];
    if (got[i] != want) fail_msg("element %d is %g, not %g", i, (double)got[i], (double)want);
  }
  tsr_recording_destroy(&step);
  tsr_stream_destroy(&s);
  tsr_buffer *all[] = {k, x, at, unused};
  for (int i = 0; i < 4; i++) tsr_buffer_destroy(&all[i]);
  tsr_program_destroy(&p);
  close_rig(&r);
}

/* donor: input of output 0, -1 = none; says: what the trace has. */
static const struct legal { const char *body, *results, *types; int donor; const char *says; } cases[] = {
    {UPDATE("0", "k") UPDATE("1", "0"), "%1", CACHE, 0, "written into its operand;"},
    {UPDATE("0", "k") "%1 = \"tessera.graph.exp\"(%0)\n", "%0, %1", CACHE ", " CACHE, 0, "written into its operand;"},
    {UPDATE("1", "k") "%0 = \"tessera.graph.reshape\"(%1) {shape = [6, 1024]}\n", "%0", "tensor<6x1024xf32>", 0, "written into its operand;"},
    {"%0 = \"tessera.graph.scatter_add\"(%k, %i, %k) {axis = 2}\n", "%0", CACHE, -1, "the kernel reads it twice"},
    {UPDATE("0", "k"), "%0, %k", CACHE ", " CACHE, -1, "it is read later; the kernel copies it"},
    {UPDATE("0", "k") "%1 = \"tessera.graph.exp\"(%k)\n", "%0, %1", CACHE ", " CACHE, -1, "it is read later"},
    {UPDATE("0", "k") "%1 = \"tessera.graph.cache_update\"(%k, %r, %p) {ring = true}\n", "%1, %0", CACHE ", " CACHE, 0, "it is read later"},
    {UPDATE("1", "k") "%0 = \"tessera.graph.exp\"(%1)\n", "%0", CACHE, -1, "the result no output"},
    {"%1 = \"tessera.graph.exp\"(%k)\n" UPDATE("2", "1") "%0 = \"tessera.graph.exp\"(%2)\n", "%0", CACHE, -1, "written into its operand"},
    {"%1 = \"tessera.graph.constant\"() {value = dense<1.0> : " CACHE "}\n" UPDATE("0", "1"), "%0", CACHE, -1, "it is a constant"},
};

static void only_what_nothing_reads_is_written_into(void **state) {
  static float want[2][ALL], have[2][ALL];
  rig r;
  open_rig(&r);
  fill();
  int32_t *index = calloc(ALL, sizeof *index);
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    char text[2000];
    snprintf(text, sizeof text, "%s%s" TAIL("%s", "%s"), HEAD, cases[c].body, cases[c].results, cases[c].types);
    tsr_program *p[2] = {compile(&r, text, NULL), compile(&r, text, "in_place")};
    if (tsr_program_donated_input(p[0], 0) != cases[c].donor || !traced(&r, p[0], cases[c].says))
      fail_msg("case %zu: %d", c, tsr_program_donated_input(p[0], 0));
    for (int side = 0; side < 2; side++) { /* in place and donated; copied by the kernel */
      tsr_buffer *b[6] = {buffer(&r, BYTES, cache), buffer(&r, sizeof rows, rows), buffer(&r, 8, positions),
                          buffer(&r, BYTES, index), buffer(&r, BYTES, NULL), buffer(&r, BYTES, NULL)};
      tsr_binding in[4] = {{b[0], 0}, {b[1], 0}, {b[2], 0}, {b[3], 0}}, out[2] = {{b[4], 0}, {b[5], 0}};
      for (int i = 0; i < tsr_program_n_outputs(p[side]); i++) {
        const int donor = tsr_program_donated_input(p[side], i);
        assert_true(!side || donor < 0);
        if (donor >= 0) out[i] = in[donor];
      }
      OK(tsr_program_run(p[side], NULL, in, out));
      for (int i = 0; i < tsr_program_n_outputs(p[side]); i++)
        OK(tsr_buffer_read(out[i].buffer, 0, side ? want[i] : have[i], BYTES));
      for (int i = 0; i < 6; i++) tsr_buffer_destroy(&b[i]);
    }
    for (int i = 0; i < tsr_program_n_outputs(p[0]); i++)
      if (memcmp(want[i], have[i], BYTES)) fail_msg("case %zu: output %d differs", c, i);
    for (int side = 0; side < 2; side++) tsr_program_destroy(&p[side]);
  }
  free(index);
  close_rig(&r);
}

static void says(rig *r, tsr_status st, const char *what) {
  if (!st || !strstr(tsr_status_message(st), what)) fail_msg("%s", st ? tsr_status_message(st) : "no failure");
  tsr_status_free(st);
}

static void another_overlap_is_refused(void **state) {
  rig r;
  open_rig(&r);
  fill();
  tsr_program *p = compile(&r, HEAD UPDATE("0", "k") TAIL("%0", CACHE), NULL);
  tsr_buffer *k = buffer(&r, 2 * BYTES, NULL), *x = buffer(&r, sizeof rows, rows), *at = buffer(&r, 8, positions);
  tsr_binding in[4] = {{k, 0}, {x, 0}, {at, 0}, {k, BYTES}}, out = {k, 4};
  says(&r, tsr_program_run(p, NULL, in, &out), "output 0 overlaps input 0");
  in[3].offset = 64, out.offset = 0;
  says(&r, tsr_program_run(p, NULL, in, &out), "output 0 overlaps input 3");
  in[3].offset = BYTES;
  OK(tsr_program_run(p, NULL, in, &out));
  assert_int_equal(copied, 0);
  tsr_buffer_destroy(&k);
  tsr_buffer_destroy(&x);
  tsr_buffer_destroy(&at);
  tsr_program_destroy(&p);
  close_rig(&r);
}

/* Thousands of tensors are looked through in another way. */
static void overlaps_among_many_are_refused(void **state) {
  enum { MANY = 70, ELEMENTS = 64 };
  rig r;
  open_rig(&r);
  tsr_graph *g;
  tsr_value v[3], y;
  tsr_program *p;
  const tsr_attr axis = TSR_INT("axis", 0);
  OK(tsr_graph_create(r.ctx, "main", &g));
  OK(tsr_graph_input(g, "at", TSR_I32, (tsr_shape){0}, &v[2]));
  OK(tsr_graph_input(g, "row", TSR_F32, (tsr_shape){1, {1}}, &v[1]));
  for (int i = 0; i < MANY; i++) {
    OK(tsr_graph_input(g, NULL, TSR_F32, (tsr_shape){1, {ELEMENTS}}, &v[0]));
    OK(tsr_graph_op(g, "cache_update", v, 3, &axis, 1, &y));
    OK(tsr_graph_output(g, y));
  }
  OK(tsr_program_compile(r.dev, g, NULL, &p));
  tsr_buffer *all = buffer(&r, (MANY + 1) * ELEMENTS * 4, NULL), *few = buffer(&r, 8, (int32_t[]){3, 0});
  tsr_binding in[MANY + 2] = {{few, 0}, {few, 4}}, out[MANY];
  for (int i = 0; i < MANY; i++) in[i + 2] = out[i] = (tsr_binding){all, (size_t)i * ELEMENTS * 4};
  OK(tsr_program_run(p, NULL, in, out));
  assert_int_equal(copied, 0);
  in[1] = (tsr_binding){all, 5 * ELEMENTS * 4 + 8};
  says(&r, tsr_program_run(p, NULL, in, out), "output 5 overlaps input 1");
  in[1] = (tsr_binding){few, 4};
  in[9].offset += 4;
  says(&r, tsr_program_run(p, NULL, in, out), "overlaps input 9");
  tsr_buffer_destroy(&all);
  tsr_buffer_destroy(&few);
  tsr_program_destroy(&p);
  tsr_graph_destroy(&g);
  close_rig(&r);
}

/* Texts of lower levels that say in_place where it is not so: `from` in the program's dump becomes `to`. */
static void edited(rig *r, tsr_program *p, tsr_level level, const char *from, const char *to, const char *message) {
  char *text, changed[30000];
  tsr_program *q;
  OK(tsr_program_dump(p, level, &text, NULL));
  char *at = strstr(text, from);
  if (!at) fail_msg("no \"%s\" in %s", from, text);
  snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
  says(r, tsr_program_parse(r->dev, changed, strlen(changed), "edited", NULL, &q), message);
  assert_null(q);
  tsr_text_free(r->ctx, &text);
}

static void wrong_texts_are_refused(void **state) {
  rig r;
  open_rig(&r);
  tsr_program *p = compile(&r, HEAD UPDATE("0", "k") TAIL("%0", CACHE), NULL);
  edited(&r, p, TSR_LEVEL_SCHEDULE, "in_place = 0", "in_place = 1", "in_place = 1 is not the operand of a scatter");
  edited(&r, p, TSR_LEVEL_SCHEDULE, "in_place = 0", "in_place = -1", "in_place = -1 is not the operand");
  for (int level = TSR_LEVEL_TILE; level <= TSR_LEVEL_TARGET; level++) {
    edited(&r, p, (tsr_level)level, "in_place = 0", "in_place = 9", "in_place = 9 can't be the memory");
    edited(&r, p, (tsr_level)level, "in_place = 0", "in_place = 2", "in_place = 2 can't be the memory");
    edited(&r, p, (tsr_level)level, "return\"(%3", "return\"(%k", "it is read again");
  }
  tsr_program_destroy(&p);
  close_rig(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_donated_cache_is_not_copied),
      cmocka_unit_test(replays_move_rows_and_allocate_nothing),
      cmocka_unit_test(only_what_nothing_reads_is_written_into),
      cmocka_unit_test(another_overlap_is_refused),
      cmocka_unit_test(overlaps_among_many_are_refused),
      cmocka_unit_test(wrong_texts_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
