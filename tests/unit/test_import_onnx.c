/* The reader of ONNX models: what is in a good one with subgraphs, typed and external data; hostile ones, each refused
 * with one line that says where; every truncation and every flipped bit. */
#include "core/import/onnx.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/onnx_message.h"

/* ---- good -------------------------------------------------------------------------------------------------------- */

static message good(void) {
  message g = {.n = 0}, then = {.n = 0}, attr = {.n = 0}, packed = {.n = 0}, part;
  part = node("Gelu", "com.microsoft");
  inside(&then, 1, &part);
  text(&attr, 1, "then_branch");
  inside(&attr, 6, &then);
  part = node("If", NULL);
  inside(&part, 5, &attr);
  inside(&g, 1, &part);
  part = node("Add", "ai.onnx");
  inside(&g, 1, &part);
  inside(&g, 1, &part);
  part = value("x", F32, "N", 3);
  inside(&g, 11, &part);
  part = value("w", F32, NULL, 3);
  inside(&g, 11, &part);
  part = value("y", F32, NULL, -1);
  inside(&g, 12, &part);
  part = tensor("w", F32, 1, (int64_t[]){3});
  bytes(&part, 9, "\1\2\3\4\5\6\7\10\11\12\13\14", 12);
  inside(&g, 5, &part);
  varint(&packed, 2), varint(&packed, 3);
  part = (message){.n = 0};
  inside(&part, 1, &packed);
  integer(&part, 2, U4);
  text(&part, 8, "packed");
  bytes(&part, 5, "\1\2\3\4\5\6", 6);
  inside(&g, 5, &part);
  part = tensor("far", I64, 2, (int64_t[]){4, 5});
  external(&part, "location", "weights/m.bin");
  external(&part, "offset", "4096");
  external(&part, "length", "160");
  integer(&part, 14, 1);
  inside(&g, 5, &part);
  return model(&g);
}

static void models_are_read(void **state) {
  onnx_model *m;
  message x = good();
  assert_true(onnx_is(x.p, x.n));
  assert_null(onnx_parse(x.p, x.n, "file", &m));
  assert_int_equal(m->ir_version, 8);
  assert_string_equal(m->producer, "test");
  assert_int_equal(m->opsets.v[0].version, 17);
  assert_int_equal(m->inputs.n, 1); /* w is an initializer */
  assert_string_equal(m->inputs.v[0].name, "x");
  assert_string_equal(m->inputs.v[0].type, "f32");
  assert_int_equal(m->inputs.v[0].rank, 2);
  assert_string_equal(m->inputs.v[0].dims[0].name, "N");
  assert_true(m->inputs.v[0].dims[0].value == TSR_ANY_DIM && m->inputs.v[0].dims[1].value == 3);
  assert_true(m->outputs.n == 1 && m->outputs.v[0].dims[1].value == TSR_ANY_DIM);
  assert_int_equal(m->nodes.n, 4);
  assert_string_equal(m->nodes.v[0].op, "Gelu"); /* what is inside comes first */
  assert_string_equal(m->nodes.v[0].domain, "com.microsoft");
  assert_string_equal(m->nodes.v[1].op, "If");
  assert_string_equal(m->nodes.v[2].domain, "");
  assert_int_equal(m->tensors.n, 3);
  assert_memory_equal(x.p + m->tensors.v[0].raw.at, "\1\2\3\4\5\6\7\10\11\12\13\14", 12);
  assert_true(m->tensors.v[1].elements == 6 && m->tensors.v[1].bytes == 3); /* two in a byte */
  assert_string_equal(m->tensors.v[2].location, "weights/m.bin");
  assert_true(m->tensors.v[2].offset == 4096 && m->tensors.v[2].bytes == 160);
  onnx_close(&m);
  assert_null(m);
}

/* ---- bad --------------------------------------------------------------------------------------------------------- */

static bool one_line(const void *p, size_t n, const char *says) {
  onnx_model *m;
  void *exact = malloc(n ? n : 1); /* so that the sanitizer sees a read behind the end */
  memcpy(exact, p, n);
  tsr_status st = onnx_parse(exact, n, "file", &m);
  const char *line = tsr_status_message(st);
  bool ok = st && !m && strstr(line, says) && strstr(line, "file: offset ") && !strchr(line, '\n');
  if (!ok && (st || *says)) print_message("expected \"%s\": %s\n", says, line);
  bool refused = st != NULL;
  tsr_status_free(st);
  onnx_close(&m);
  free(exact);
  return *says ? ok : refused;
}

static void truncated_models_are_refused(void **state) {
  message x = good();
  for (size_t cut = 0; cut < x.n; cut++) assert_true(one_line(x.p, cut, ""));
}

static void flipped_bits_do_no_harm(void **state) {
  message x = good();
  for (size_t bit = 0; bit < 8 * x.n; bit++) {
    x.p[bit / 8] ^= (unsigned char)(1 << bit % 8);
    one_line(x.p, x.n, "");
    x.p[bit / 8] ^= (unsigned char)(1 << bit % 8);
  }
}

static void lengths_that_lie_are_refused(void **state) {
  static const struct { const char *p; size_t n; const char *says; } bad[] = {
      {"\10\10\72\200\200\200\200\200\200\200\200\200\1", 13, "offset 2: field 7 has 9223372036854775808 bytes"},
      {"\10\10\72\177", 4, "offset 2: field 7 has 127 bytes; its message has 0 more"},
      {"\10\200\200\200\200\200\200\200\200\200\200\1", 12, "a number of more than 64 bits"},
      {"\10\200\200\200\200\200\200\200\200\200\2", 11, "a number of more than 64 bits"},
      {"\10\10\0\1", 4, "offset 2: a field of number 0"},
      {"\10\10\73\74", 4, "offset 2: a field of the unknown kind 3"},
      {"\10\10\70\1", 4, "a part of the model is of another kind of field"},
      {"\10\10", 2, "offset 2: no graph"},
      {"\10\10\72\0", 4, "offset 4: no opset"},
      {"\10\10\72\0\72\0", 6, "a second graph"},
      {"\10\10\22\2\303\50", 6, "the producer is not UTF-8"},
      {"\10\10\72\2\12\0", 6, "offset 6: a node without an op"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) assert_true(one_line(bad[i].p, bad[i].n, bad[i].says));
}

static void tensors_that_lie_are_refused(void **state) {
  const int64_t huge = INT64_MAX;
  message t = tensor("w", F32, 1, (int64_t[]){3}), x;
  x = with_tensor(&t);
  assert_true(one_line(x.p, x.n, "tensor \"w\" has no data"));
  bytes(&t, 9, "12345678", 8);
  x = with_tensor(&t);
  assert_true(one_line(x.p, x.n, "has 8 bytes, its shape and type need 12"));
  t = tensor("w", F32, 2, (int64_t[]){huge, huge});
  x = with_tensor(&t);
  assert_true(one_line(x.p, x.n, "the number of elements overflows"));
  t = tensor("w", F32, 1, (int64_t[]){huge});
  x = with_tensor(&t);
  assert_true(one_line(x.p, x.n, "the number of bytes overflows"));
  t = tensor("w", F32, 1, (int64_t[]){-1});
  x = with_tensor(&t);
  assert_true(one_line(x.p, x.n, "a dimension of -1"));
  t = tensor("w", F32, 9, (int64_t[]){1, 1, 1, 1, 1, 1, 1, 1, 1});
  x = with_tensor(&t);
  assert_true(one_line(x.p, x.n, "more than 8 dimensions"));
}

static void external_data_stays_in_the_folder(void **state) {
  static const struct { const char *key, *v, *says; } bad[] = {
      {"location", "/etc/passwd", "outside of the model's folder"},
      {"location", "../m.bin", "outside of the model's folder"},
      {"location", "a/../../m.bin", "outside of the model's folder"},
      {"location", "a/..", "outside of the model's folder"},
      {"location", "..\\m.bin", "outside of the model's folder"},
      {"location", "C:m.bin", "outside of the model's folder"},
      {"location", "", "outside of the model's folder"},
      {"offset", "-1", "external data with the offset \"-1\""},
      {"length", "18446744073709551616", "external data with the length"},
      {"length", "", "external data with the length"},
      {"checksum", "", "external data without a location"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    message t = tensor("w", F32, 1, (int64_t[]){3});
    external(&t, bad[i].key, bad[i].v);
    integer(&t, 14, 1);
    message x = with_tensor(&t);
    assert_true(one_line(x.p, x.n, bad[i].says));
  }
  message t = tensor("w", F32, 1, (int64_t[]){3});
  external(&t, "location", "..m/w..bin"); /* dots alone are no way up */
  external(&t, "length", "13");
  message x = with_tensor(&t);
  assert_true(one_line(x.p, x.n, "has 13 bytes of external data, its shape and type need 12"));
}

static void deep_graphs_are_refused(void **state) {
  message g = {.n = 0};
  for (int i = 0; i < 40; i++) {
    message attr = {.n = 0}, n = node("If", NULL), outer = {.n = 0};
    inside(&attr, 6, &g);
    inside(&n, 5, &attr);
    inside(&outer, 1, &n);
    g = outer;
  }
  message x = model(&g);
  assert_true(one_line(x.p, x.n, "more than 32 deep"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(models_are_read),
      cmocka_unit_test(truncated_models_are_refused),
      cmocka_unit_test(flipped_bits_do_no_harm),
      cmocka_unit_test(lengths_that_lie_are_refused),
      cmocka_unit_test(tensors_that_lie_are_refused),
      cmocka_unit_test(external_data_stays_in_the_folder),
      cmocka_unit_test(deep_graphs_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
