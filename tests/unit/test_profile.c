/* Profiles: the rows of docs/profile.md byte for byte, aggregation, bound verdicts, JSON, trace against the format,
 * page. The audit is test_profile_audit.c's. */
#include "core/base/json.h"
#include "core/profile/chrome_trace.h"
#include "core/profile/page.h"
#include "core/profile/report.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static prof_log *make_log(void) {
  prof_log *l = NULL;
  assert_null(prof_log_create(NULL, &l));
  return l;
}

static void seed_rows_are_printed_exactly(void **state) {
  prof_log *l = make_log();
  prof_event mm = prof_event_init(PROF_KERNEL, "matmul"), ar = prof_event_init(PROF_COLLECTIVE, "all_reduce"),
             fa = prof_event_init(PROF_FUSED, "flash_attention");
  mm.detail = "128x128x64", mm.end_ns = 2300, mm.occupancy = 0.92;
  ar.detail = "dp", ar.end_ns = 15000, ar.bytes = 24e6;
  fa.detail = "FlashAttn", fa.end_ns = 4100, fa.tiles = 256;
  prof_add(l, &mm), prof_add(l, &ar), prof_add(l, &fa);
  strb b;
  strb_init(&b, NULL);
  assert_null(report_text(l, NULL, false, &b));
  assert_string_equal(strb_text(&b), "MatMul[128x128x64]  latency=2.3µs   occupancy=92%\n"
                                     "AllReduce[dp]       latency=15µs    bandwidth=1.6TB/s\n"
                                     "FusedOp[FlashAttn]  latency=4.1µs   tiles=256\n");
  strb_clear(&b);
  prof_log_destroy(&l);
}

static void unknown_fields_are_na_and_null(void **state) {
  prof_log *l = make_log();
  prof_event e = prof_event_init(PROF_KERNEL, "matmul");
  e.detail = "64x64x32", e.end_ns = 1e6, e.device = "cpu:0";
  prof_add(l, &e);
  strb b;
  strb_init(&b, NULL);
  assert_null(report_text(l, "fused add into matmul\n", true, &b));
  assert_non_null(strstr(strb_text(&b), "occupancy=n/a"));
  assert_non_null(strstr(strb_text(&b), "bandwidth=n/a"));
  assert_non_null(strstr(strb_text(&b), "bound=unknown"));
  assert_non_null(strstr(strb_text(&b), "fusion trace:\nfused add into matmul\n"));
  strb_clear(&b);
  strb_init(&b, NULL);
  assert_null(report_json(l, "one\ntwo \"2\"\n", &b));
  arena a;
  json *j;
  arena_init(&a, NULL);
  assert_null(json_parse(&a, strb_text(&b), b.n, "report", &j));
  const json *row = json_get(j, "rows")->first;
  static const char *const nulls[] = {"occupancy",    "registers", "spill_bytes", "bytes_modelled", "bytes_measured",
                                      "gbytes_per_s", "tile_ns",   "gflops",      "bound_part"};
  for (size_t i = 0; i < sizeof nulls / sizeof *nulls; i++) {
    assert_non_null(json_get(row, nulls[i]));
    assert_int_equal(json_get(row, nulls[i])->type, JSON_NULL);
  }
  assert_true(json_num(row, "median_ns", 0) == 1e6);
  assert_int_equal(json_get(j, "fusion_trace")->n, 2);
  assert_string_equal(json_get(j, "fusion_trace")->first->next->string, "two \"2\"");
  arena_clear(&a);
  strb_clear(&b);
  prof_log_destroy(&l);
}

static void times_and_labels_are_spelled(void **state) {
  static const struct {
    double ns;
    const char *text;
  } times[] = {{0, "0ns"},        {850, "850ns"},    {999.6, "1.0µs"}, {2300, "2.3µs"}, {9940, "9.9µs"}, {9960, "10µs"},
               {999400, "999µs"}, {1.25e6, "1.2ms"}, {3e9, "3.0s"},    {-1, "n/a"},     {NAN, "n/a"}};
  char v[16], label[64];
  for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
    report_time(times[i].ns, v);
    assert_string_equal(v, times[i].text);
  }
  report_bandwidth(320.4, v);
  assert_string_equal(v, "320GB/s");
  report_bandwidth(0.5, v);
  assert_string_equal(v, "500MB/s");
  prof_event fused = prof_event_init(PROF_FUSED, "softmax");
  fused.detail = "softmax+reduce_sum";
  report_label(&fused, label, sizeof label);
  assert_string_equal(label, "FusedOp[Softmax+ReduceSum]");
  static const char *const ops[][2] = {{"matmul", "MatMul"},
                                       {"reduce_scatter", "ReduceScatter"},
                                       {"softmax", "Softmax"},
                                       {"layernorm", "LayerNorm"},
                                       {"rmsnorm", "RMSNorm"}};
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
    prof_event e = prof_event_init(PROF_KERNEL, ops[i][0]);
    report_label(&e, label, sizeof label);
    assert_string_equal(label, ops[i][1]);
  }
}

static void aggregation_over_steps_takes_medians_and_shares(void **state) {
  prof_log *l = make_log();
  static const double times[] = {100, 300, 200, 1000};
  double clock = 0;
  for (int s = 0; s < 4; s++) {
    prof_event a = prof_event_init(PROF_KERNEL, "matmul"), b = prof_event_init(PROF_KERNEL, "softmax");
    char name[16];
    snprintf(name, sizeof name, "matmul_0"); /* strings are copied: the buffer is reused */
    a.kernel = name, a.step = b.step = s, a.start_ns = clock, a.end_ns = clock += times[s];
    a.flops = 2000, a.bytes = 400, a.occupancy = s < 2 ? 0.5 : -1, a.tiles = 8, a.parallel = 2;
    b.start_ns = clock, b.end_ns = clock += 400;
    prof_add(l, &a), prof_add(l, &b);
    memset(name, 'x', sizeof name - 1);
  }
  prof_row *r;
  size_t n;
  assert_null(prof_aggregate(l, NULL, &r, &n));
  assert_int_equal(n, 2);
  assert_true(r[0].count == 4 && r[0].steps == 4 && r[0].median_ns == 250 && r[0].min_ns == 100 &&
              r[0].max_ns == 1000 && r[0].total_ns == 1600);
  assert_true(r[0].share == 0.5 && r[1].share == 0.5);
  assert_true(r[0].occupancy == 0.5 && r[1].occupancy == -1);
  assert_true(r[0].gflops == 8 && r[0].gbytes_per_s == 1.6 && r[0].tile_ns == 62.5);
  assert_string_equal(r[0].first.kernel, "matmul_0");
  al_free_array(NULL, r, n);
  prof_clear(l);
  assert_int_equal(prof_count(l), 0);
  assert_null(prof_aggregate(l, NULL, &r, &n));
  assert_int_equal(n, 0);
  prof_log_destroy(&l);
}

/* Many steps, an op in several kernels and on two devices: one line an op and device; shares are of the device's own
 * time. */
static void ops_are_added_up_over_kernels_and_steps(void **state) {
  prof_log *l = make_log();
  static const struct { prof_kind kind; const char *op, *detail, *kernel, *device; double ns; } runs[] = {
      {PROF_KERNEL, "matmul", "64x64x64", "matmul_0", "cpu:0", 300}, {PROF_FUSED, "softmax", "softmax+exp", "row_0", "cpu:0", 100},
      {PROF_KERNEL, "matmul", "128x64x64", "matmul_1", "cpu:0", 500}, {PROF_KERNEL, "softmax", "4x64", "row_1", "cpu:0", 100}, {PROF_KERNEL, "matmul", "64x64x64", "matmul_0", "vulkan:0", 50}};
  for (int s = 0; s < 10; s++)
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
      prof_event e = prof_event_init(runs[i].kind, runs[i].op);
      e.detail = runs[i].detail, e.kernel = runs[i].kernel, e.device = runs[i].device, e.step = s,
      e.end_ns = runs[i].ns;
      prof_add(l, &e);
    }
  strb b;
  strb_init(&b, NULL);
  assert_null(report_text(l, NULL, true, &b));
  assert_non_null(strstr(strb_text(&b), "per op:\n"
                                        "MatMul              total=8.0µs  share=80.0%  n=20  kernels=2  cpu:0\n"
                                        "FusedOp[Softmax+Exp]  total=1.0µs  share=10.0%  n=10  kernels=1  cpu:0\n"
                                        "Softmax             total=1.0µs  share=10.0%  n=10  kernels=1  cpu:0\n"
                                        "MatMul              total=500ns  share=100.0%  n=10  kernels=1  vulkan:0\n"));
  strb_clear(&b);
  strb_init(&b, NULL);
  assert_null(report_json(l, NULL, &b));
  assert_non_null(strstr(strb_text(&b), "\"ops\": [\n  {\"op\": \"MatMul\", \"device\": \"cpu:0\", \"kernels\": 2, "
                                        "\"count\": 20, \"total_ns\": 8000, \"share\": 0.8},\n"));
  strb_clear(&b);
  prof_log_destroy(&l);
}

static void *fail_alloc(void *user, size_t size, size_t align) {
  int *left = user;
  return (*left)-- > 0 ? al_default.alloc(NULL, size, align) : NULL;
}
static void fail_free(void *user, void *p, size_t size, size_t align) { free(p); }
static void out_of_memory_drops_and_counts(void **state) {
  for (int left = 0; left < 12; left++) {
    int n = left;
    tsr_allocator al = {fail_alloc, fail_free, &n};
    prof_log *l;
    tsr_status st = prof_log_create(&al, &l);
    if (st) {
      assert_int_equal(tsr_status_code(st), TSR_OUT_OF_MEMORY);
      assert_null(l);
      continue;
    }
    for (int i = 0; i < 100; i++) {
      prof_event e = prof_event_init(PROF_KERNEL, "x");
      prof_add(l, &e);
    }
    assert_int_equal(prof_count(l) + prof_dropped(l), 100);
    prof_row *r;
    size_t rows;
    st = prof_aggregate(l, &al, &r, &rows);
    if (!st) al_free_array(&al, r, rows);
    tsr_status_free(st);
    prof_log_destroy(&l);
  }
}

static void bound_names_the_limit_and_the_next_knob(void **state) {
  prof_peaks p = {.gflops = 1000, .gbytes_per_s = 100, .link_gbytes_per_s = 10, .launch_ns = 2000};
  static const struct {
    double ns, flops, bytes, link;
    prof_limit limit;
    const char *next;
  } rows[] = {{1e6, 9e8, 1e6, -1, PROF_COMPUTE, "matrix"},      {1e6, 1e6, 9e7, -1, PROF_MEMORY, "prefetch"},
              {1e6, 1e6, 1e6, 8e6, PROF_COMM, "fuse the collective"}, {2500, 1e3, 1e3, -1, PROF_LAUNCH, "replay"},
              {1e6, 1e7, 1e6, -1, PROF_LATENCY, "blocks"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    prof_bound b = prof_classify(rows[i].ns, rows[i].flops, rows[i].bytes, rows[i].link, &p);
    assert_int_equal(b.limit, rows[i].limit);
    assert_non_null(strstr(b.next, rows[i].next));
    assert_true(b.part > 0 && b.part <= 1);
  }
  assert_int_equal(prof_classify(1e6, 9e8, 1e6, -1, &(prof_peaks){0}).limit, PROF_UNKNOWN);
  assert_int_equal(prof_classify(0, 9e8, 1e6, -1, &p).limit, PROF_UNKNOWN);
  assert_int_equal(prof_classify(1e6, 1e7, 1e6, -1, &(prof_peaks){.gflops = 1000, .launch_ns = 10}).limit,
                   PROF_UNKNOWN); /* memory could be it */
  assert_int_equal(prof_classify(1e6, -1, -1, -1, &p).limit,
                   PROF_UNKNOWN); /* work that is not known does not say that nothing is busy */
  assert_int_equal(prof_classify(1e6, -1, 1e6, -1, &p).limit, PROF_UNKNOWN);
  assert_non_null(strstr(prof_classify(1e6, -1, -1, -1, &p).next, "not known"));
  /* The greatest share wins: the same kernel over a link of falling rate. */
  static const struct {
    double link_rate;
    prof_limit limit;
  } links[] = {{1000, PROF_MEMORY}, {13, PROF_MEMORY}, {11, PROF_COMM}, {1, PROF_COMM}, {0, PROF_MEMORY}};
  for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
    p.link_gbytes_per_s = links[i].link_rate;
    assert_int_equal(prof_classify(1e6, 3e8, 7e7, 8.4e6, &p).limit,
                     links[i].limit); /* 0.3 of compute, 0.7 of memory, 0.7 of a link of 12 GB/s */
  }
  p.link_gbytes_per_s = 0;
  assert_int_equal(prof_classify(1e6, -1, -1, 8e6, &p).limit,
                   PROF_UNKNOWN); /* a collective alone, over a link of unknown rate */
  assert_non_null(strstr(prof_classify(1e6, 1e6, 9e7, -1, &p).next, "a smaller tile"));
  p.matrix_path = true;
  assert_non_null(strstr(prof_classify(1e6, 9e8, 1e6, -1, &p).next, "bf16"));
}

static void trace_keeps_to_the_format(void **state) {
  prof_log *l = make_log();
  static const char *const devices[] = {"cpu:0", "vulkan:0"};
  for (int i = 0; i < 40; i++) {
    prof_event e = prof_event_init((prof_kind)(i % 5), i % 2 ? "matmul" : "quote\"\\op");
    e.device = devices[i % 2], e.stream = i % 3, e.start_ns = 1e12 + 1000.0 * i, e.end_ns = e.start_ns + 500,
    e.step = i;
    prof_add(l, &e);
  }
  strb b;
  strb_init(&b, NULL);
  assert_null(chrome_trace(l, &b));
  arena a;
  json *j;
  arena_init(&a, NULL);
  assert_null(json_parse(&a, strb_text(&b), b.n, "trace", &j));
  const json *events = json_get(j, "traceEvents");
  int complete = 0, processes = 0, threads = 0;
  for (const json *e = events->first; e; e = e->next) {
    const char *ph = json_str(e, "ph", "");
    assert_true(json_num(e, "pid", -1) >= 1 && json_num(e, "tid", -1) >= 0);
    assert_non_null(json_get(e, "name"));
    assert_int_equal(json_get(e, "args")->type, JSON_OBJECT);
    if (!strcmp(ph, "X")) {
      complete++;
      assert_true(json_num(e, "ts", -1) >= 0 && json_num(e, "ts", -1) < 1000 && json_num(e, "dur", -1) == 0.5);
      assert_non_null(json_get(e, "cat"));
    } else {
      assert_string_equal(ph, "M");
      processes += !strcmp(json_str(e, "name", ""), "process_name");
      threads += !strcmp(json_str(e, "name", ""), "thread_name");
    }
  }
  assert_true(complete == 40 && processes == 2 && threads == 6);
  arena_clear(&a);
  strb_clear(&b);
  prof_log_destroy(&l);
}

static void page_has_rows_of_cases_without_figures(void **state) {
  page_device dev = {"gpu:0", "g", "d", 0, 0, 0};
  page_peer peer = {"onednn", 1.5};
  page_row rows[3] = {{.op = "add", .shape = "1", .dtype = "f32", .device = "gpu:0", .tile = "", .median_us = 2,
                       .checked = true, .ok = true, .peer = {peer}, .n_peers = 1},
                      {.op = "pow", .shape = "2", .dtype = "f64", .device = "gpu:0", .tile = "", .none = "unsupported",
                       .why = "no <f64> & co"},
                      {.op = "sin", .shape = "3", .dtype = "f16", .device = "gpu:0", .tile = "", .none = "failed",
                       .why = "lost"}};
  page_desc d = {"Bench", "now", "here", &dev, 1, rows, 3, NULL, 0};
  strb b;
  strb_init(&b, NULL);
  assert_null(page_write(&d, &b));
  const char *t = strb_text(&b);
  assert_non_null(strstr(t, "<p class=bad>1 results, 0 wrong, 0 not checked, 1 cases unsupported, 1 cases failed</p>"));
  /* as wide as the ten columns and the peer's */
  assert_non_null(strstr(t, "<tr><td class=t>pow</td><td class=t>2</td><td class=t>f64</td><td class=t>gpu:0</td>"
                            "<td class=\"t \">unsupported</td><td class=\"t why\" colspan=6>no &lt;f64&gt; &amp; co</td></tr>"));
  assert_non_null(strstr(t, "<td class=\"t bad\">failed</td><td class=\"t why\" colspan=6>lost</td></tr>"));
  strb_clear(&b);
}

static void page_is_self_contained_and_escapes(void **state) {
  static const double curve[] = {0, 900, 700, 700, 420};
  page_device dev[2] = {{"cpu:0", "Some <CPU> & co", "built in", 300, 0, 20},
                        {"vulkan:0", "llvmpipe", "Mesa", 0, 0, 0}};
  page_row rows[3] = {{.op = "matmul",
                       .shape = "1024x1024x1024",
                       .dtype = "f32",
                       .device = "cpu:0",
                       .tile = "128x64x256",
                       .median_us = 9000,
                       .gflops = 238,
                       .gbytes_per_s = 1.4,
                       .peak_fraction = 0.79,
                       .flops = 2.1e9,
                       .bytes = 12.6e6,
                       .error = 1e-6,
                       .tolerance = 1e-5,
                       .checked = true,
                       .ok = true,
                       .peer = {{"openblas", 1.08}, {"onednn", 0.97}},
                       .n_peers = 2},
                      {.op = "softmax",
                       .shape = "4096x4096",
                       .dtype = "f32",
                       .device = "cpu:0",
                       .tile = "16x4096",
                       .median_us = 8000,
                       .flops = 1e8,
                       .bytes = 134e6,
                       .checked = true,
                       .ok = false,
                       .error = 1,
                       .tolerance = 1e-6},
                      {.op = "add", .shape = "1", .dtype = "f32", .device = "vulkan:0", .tile = ""}};
  page_curve c[2] = {{"matmul 1024", curve, 5, 90000, 300, 430}, {"matmul 2048", curve, 5, 900, 300, 900}};
  page_desc d = {"Bench", "2025-01-01", "2 cores", dev, 2, rows, 3, c, 2};
  strb b;
  strb_init(&b, NULL);
  assert_null(page_write(&d, &b));
  const char *t = strb_text(&b);
  assert_non_null(strstr(t, "Some &lt;CPU&gt; &amp; co"));
  assert_null(strstr(t, "<CPU>"));
  assert_null(strstr(t, "http"));
  assert_null(strstr(t, "<script"));
  assert_non_null(strstr(t, "3 results, 1 wrong, 1 not checked"));
  assert_non_null(strstr(t, "WRONG"));
  assert_non_null(strstr(t, "vs openblas"));
  assert_non_null(strstr(t, "class=dotbad"));
  assert_non_null(strstr(t, "no roofline"));
  assert_null(strstr(t, "nan"));
  assert_null(strstr(t, "inf"));
  int svgs = 0;
  for (const char *s = t; (s = strstr(s, "<svg")); s++) svgs++;
  assert_int_equal(svgs, 3);
  assert_non_null(strstr(t, "matmul 1024: 90000 &rarr; 430.0 &micro;s<"));
  assert_non_null(strstr(t, "matmul 2048: untuned stays, 900.0 &micro;s<"));
  const char *keep = getenv("TSR_TEST_PAGE"); /* to look at it in a browser */
  FILE *f = keep ? fopen(keep, "w") : NULL;
  if (f) fputs(t, f), fclose(f);
  strb_clear(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(seed_rows_are_printed_exactly),
      cmocka_unit_test(unknown_fields_are_na_and_null),
      cmocka_unit_test(times_and_labels_are_spelled),
      cmocka_unit_test(aggregation_over_steps_takes_medians_and_shares),
      cmocka_unit_test(ops_are_added_up_over_kernels_and_steps),
      cmocka_unit_test(out_of_memory_drops_and_counts),
      cmocka_unit_test(bound_names_the_limit_and_the_next_knob),
      cmocka_unit_test(trace_keeps_to_the_format),
      cmocka_unit_test(page_has_rows_of_cases_without_figures),
      cmocka_unit_test(page_is_self_contained_and_escapes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
