/* Readers of weight files: what is in a good one; hostile ones, each refused with one line that says where; every
 * truncation and every flipped bit of a good one. Of .npz: test_import_npz.c. */
#include "tests/unit/weights_read.h"

static bytes_buf file;

/* ---- safetensors ------------------------------------------------------------------------------------------------- */

static void safetensors_tensors_are_found_and_read(void **state) {
  weights *w;
  build_safetensors(&file,
                    "{\"__metadata__\":{\"format\":\"pt\"},"
                    "\"a\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[3,27]},"
                    "\"b\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1]},"
                    "\"c\":{\"dtype\":\"F8_E8M0\",\"shape\":[2],\"data_offsets\":[1,3]},"
                    "\"none\":{\"dtype\":\"BF16\",\"shape\":[0,7],\"data_offsets\":[3,3]}}",
                    NULL, 0);
  size_t at = file.n;
  put_raw(&file, "\7\1\2", 3); /* which makes a's elements lie at an odd place */
  put_raw(&file, six, sizeof six);
  assert_null(weights_parse(NULL, file.p, file.n, "file", &w));
  assert_string_equal(w->format, "safetensors");
  assert_int_equal(w->n_tensors, 4);
  const weights_tensor *a = get(w, "a", "f32", 2, 2, 3);
  assert_int_equal(a->offset, at + 3);
  holds(w, a, six, sizeof six);
  assert_ptr_equal(weights_data(w, a), file.p + at + 3);
  holds(w, get(w, "b", "u8", 0, 0, 0), "\7", 1);
  holds(w, get(w, "none", "bf16", 2, 0, 7), "", 0);
  const weights_tensor *c = get(w, "c", "F8_E8M0", 1, 2, 0);
  assert_false(weights_is_readable(c));
  unsigned char two[2];
  tsr_status st = weights_read(w, c, two, 2);
  assert_int_equal(tsr_status_code(st), TSR_UNSUPPORTED);
  tsr_status_free(st);
  st = weights_read(w, a, two, 2);
  assert_int_equal(tsr_status_code(st), TSR_INVALID_ARGUMENT);
  tsr_status_free(st);
  assert_string_equal(weights_get_meta(w, "format")->v.s, "pt");
  assert_null(weights_find(w, "d"));
  weights_close(&w);
  assert_null(w);
  damage(file.p, file.n);
}

#define ONE(dtype, shape, offsets) "{\"a\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}}"

static void safetensors_that_lie_are_refused(void **state) {
  static const struct { const char *header, *says; } bad[] = {
      {ONE("F32", "[2,3]", "[0,20]"), "has 20 bytes"},
      {ONE("F32", "[2,3]", "[0,28]"), "0 to 28, the file has 24"},
      {ONE("F32", "[2,3]", "[24,0]"), "24 to 0"},
      {ONE("F32", "[2,3]", "[0,9223372036854775808]"), "data_offsets of two numbers"},
      {ONE("F32", "[2,3]", "[-1,24]"), "data_offsets of two numbers"},
      {ONE("F32", "[2,3]", "[0.5,24]"), "data_offsets of two numbers"},
      {ONE("F32", "[2,3]", "[0]"), "data_offsets of two numbers"},
      {ONE("F32", "[2,-3]", "[0,24]"), "no number from 0"},
      {ONE("F32", "[2,3.5]", "[0,24]"), "no number from 0"},
      {ONE("F32", "[9007199254740992,9007199254740992]", "[0,24]"), "overflows"},
      {ONE("F32", "[4503599627370496,2048,0]", "[0,0]"), "overflows"},
      {ONE("F32", "[1,1,1,1,1,1,1,2,3]", "[0,24]"), "9 dimensions"},
      {ONE("F4", "[3]", "[0,2]"), "another number"},
      {"{\"a\":{\"shape\":[],\"data_offsets\":[0,4]}}", "no dtype"},
      {"{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", "no shape"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", "data_offsets"},
      {"{\"a\":7}", "no shape"},
      {"{\"__metadata__\":{\"a\":1}}", "no text"},
      {"{\"__metadata__\":[]}", "no object"},
      {"{\"__metadata__\":{\"a\":\"b\",\"a\":\"c\"}}", "a second key \"a\""},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},"
       "\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[3,5]}}",
       "\"b\" overlaps \"a\""},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
       "\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}",
       "a second tensor \"a\""},
      {"{\"\xc3\x28\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", "expected UTF-8"},
      {ONE("\xff", "[2]", "[0,2]"), "expected UTF-8"},
      {ONE("a\\nb", "[2]", "[0,2]"), "the type of \"a\" is not UTF-8 without control"},
      {"{\"a\\nb\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", "control characters"},
      {"{\"a\":", "file:1:6"},
      {"{} {}", "file:1:4"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    build_safetensors(&file, bad[i].header, six, sizeof six);
    refused(file.p, file.n, bad[i].says);
  }
  build_safetensors(&file, "{}", NULL, 0);
  static const uint64_t lengths[] = {3, 100000001, (uint64_t)1 << 63, UINT64_MAX, UINT64_MAX - 7};
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    file.n = 0;
    put_le(&file, lengths[i], 8);
    put_raw(&file, "{}", 2);
    refused(file.p, file.n, "offset 0: a header of");
  }
}

static void safetensors_json_is_bounded(void **state) {
  static char deep[40000];
  memset(deep, '[', sizeof deep - 1);
  memcpy(deep, "{\"a\":", 5);
  build_safetensors(&file, deep, NULL, 0);
  refused(file.p, file.n, "at most 64 levels");
  size_t n = 8000016; /* more values than a header may have */
  char *many = malloc(8 + n);
  memset(many, 0, 8);
  for (int i = 0; i < 8; i++) many[i] = (char)(n >> 8 * i);
  memcpy(many + 8, "{\"a\":[", 6);
  for (size_t i = 6; i < n; i++) many[8 + i] = i % 2 ? ',' : '0';
  refused(many, 8 + n, "fewer values");
  free(many);
}

/* ---- GGUF -------------------------------------------------------------------------------------------------------- */

enum { U8 = 0, I8 = 1, U32 = 4, F32 = 6, BOOL = 7, STRING = 8, ARRAY = 9 };

static void build_gguf(bytes_buf *b, unsigned version) {
  gguf_begin(b, version, 4, 6);
  gguf_key(b, "general.alignment", U32, 64, 4);
  gguf_key(b, "text", STRING, 3, 8);
  put_raw(b, "abc", 3);
  gguf_key(b, "least", I8, 0xfd, 1);
  gguf_key(b, "eps", F32, 0x3f000000, 4);
  gguf_key(b, "yes", BOOL, 1, 1);
  gguf_key(b, "words", ARRAY, STRING, 4);
  put_le(b, 2, 8);
  gguf_text(b, "x");
  gguf_text(b, "");
  gguf_tensor(b, "plain", 2, (uint64_t[]){3, 2}, 0, 64);
  gguf_tensor(b, "quant", 2, (uint64_t[]){32, 2}, 2, 0); /* q4_0 */
  gguf_tensor(b, "known", 1, (uint64_t[]){256}, 16, 128); /* iq2_xxs: its size alone */
  gguf_tensor(b, "odd", 1, (uint64_t[]){5}, 77, 192);
  gguf_align(b, 64);
  for (int i = 0; i < 2; i++) {
    put_le(b, 0x3c00, 2); /* 1 */
    for (int k = 0; k < 16; k++) put_le(b, (uint64_t)(k | (15 - k) << 4), 1);
  }
  gguf_align(b, 64);
  put_raw(b, six, sizeof six);
  gguf_align(b, 64);
  for (int i = 0; i < 66; i++) put_le(b, 0, 1);
}

static void gguf_tensors_are_found_and_read(void **state) {
  for (unsigned version = 2; version <= 3; version++) {
    weights *w;
    float quant[64];
    build_gguf(&file, version);
    assert_null(weights_parse(NULL, file.p, file.n, "file", &w));
    assert_string_equal(w->format, "gguf");
    holds(w, get(w, "plain", "f32", 2, 2, 3), six, sizeof six);
    for (int i = 0; i < 64; i++) quant[i] = (float)(i % 32 < 16 ? i % 32 - 8 : 7 - i % 16);
    holds(w, get(w, "quant", "q4_0", 2, 2, 32), quant, sizeof quant);
    assert_false(weights_is_readable(get(w, "known", "iq2_xxs", 1, 256, 0)));
    assert_int_equal(weights_find(w, "known")->bytes, 66);
    assert_false(weights_is_readable(get(w, "odd", "type 77", 1, 5, 0)));
    assert_string_equal(weights_get_meta(w, "text")->v.s, "abc");
    assert_int_equal(weights_get_meta(w, "least")->v.i, -3);
    assert_true(weights_get_meta(w, "eps")->v.f == 0.5);
    assert_int_equal(weights_get_meta(w, "yes")->v.u, 1);
    assert_int_equal(weights_get_meta(w, "words")->v.array.n, 2);
    weights_close(&w);
  }
  damage(file.p, file.n);
}

/* A file of one tensor of six f32 whose fields are as given. */
static void one_gguf(const char *name, int rank, const uint64_t *dims, unsigned type, uint64_t offset) {
  gguf_begin(&file, 3, 1, 0);
  gguf_tensor(&file, name, rank, dims, type, offset);
  gguf_align(&file, 32);
  put_raw(&file, six, sizeof six);
}

/* A tensor of no bytes lies in the file although the file ends before the data would begin. */
static void gguf_tensors_of_nothing_lie_in_the_file(void **state) {
  weights *w;
  gguf_begin(&file, 3, 1, 0);
  gguf_tensor(&file, "none", 1, (uint64_t[]){0}, 0, 0);
  assert_null(weights_parse(NULL, file.p, file.n, "file", &w));
  assert_true(file.n % 32 != 0 && weights_find(w, "none")->offset <= file.n);
  weights_close(&w);
}

static void gguf_tensors_that_lie_are_refused(void **state) {
  const uint64_t huge = (uint64_t)1 << 63;
  static const struct { int rank; uint64_t dims[9]; unsigned type; uint64_t offset; const char *says; } bad[] = {
      {1, {7}, 0, 0, "has 28 bytes from byte 0 of the data, of which there are 24"},
      {1, {1}, 0, 32, "from byte 32"},
      {1, {1}, 0, 4, "no multiple of the alignment 32"},
      {1, {1}, 0, (uint64_t)1 << 63, "has 4 bytes from byte 9223372036854775808"},
      {1, {1}, 0, UINT64_MAX - 31, "has 4 bytes from"},
      {1, {(uint64_t)1 << 63}, 0, 0, "a dimension of 9223372036854775808"},
      {2, {(uint64_t)1 << 32, (uint64_t)1 << 32}, 0, 0, "the number of elements overflows"},
      {3, {(uint64_t)1 << 32, (uint64_t)1 << 32, 0}, 0, 0, "the number of elements overflows"},
      {1, {(uint64_t)1 << 62}, 28, 0, "the number of bytes overflows"},
      {5, {1, 1, 1, 1, 1}, 0, 0, "5 dimensions"},
      {1, {31}, 2, 0, "no whole blocks of q4_0"},
      {2, {255, 256}, 14, 0, "no whole blocks of q6_k"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    one_gguf("a", bad[i].rank, bad[i].dims, bad[i].type, bad[i].offset);
    refused(file.p, file.n, bad[i].says);
  }
  one_gguf("a\tb", 1, (uint64_t[]){6}, 0, 0);
  refused(file.p, file.n, "control characters");
  gguf_begin(&file, 3, 2, 0);
  for (int i = 0; i < 2; i++) gguf_tensor(&file, i ? "b" : "a", 1, (uint64_t[]){6}, 0, 0);
  gguf_align(&file, 32);
  put_raw(&file, six, sizeof six);
  refused(file.p, file.n, "overlaps");
  gguf_begin(&file, 3, 2, 0);
  for (int i = 0; i < 2; i++) gguf_tensor(&file, "a", 1, (uint64_t[]){0}, 0, 0);
  gguf_align(&file, 32);
  refused(file.p, file.n, "a second tensor \"a\"");
  gguf_begin(&file, 3, huge, 0);
  refused(file.p, file.n, "offset 8: 9223372036854775808 tensors");
  gguf_begin(&file, 3, 0, huge);
  refused(file.p, file.n, "offset 16: 9223372036854775808 key-values");
}

static void one_key(unsigned type, uint64_t v, int bytes) {
  gguf_begin(&file, 3, 0, 1);
  gguf_key(&file, "k", type, v, bytes);
}

static void gguf_keys_that_lie_are_refused(void **state) {
  one_key(STRING, (uint64_t)1 << 63, 8);
  refused(file.p, file.n, "offset 37: a text of 9223372036854775808 bytes");
  one_key(STRING, 2, 8);
  put_raw(&file, "\xc3(", 2);
  refused(file.p, file.n, "the text of \"k\" is not UTF-8");
  one_key(13, 0, 8);
  refused(file.p, file.n, "unknown type 13");
  one_key(BOOL, 2, 1);
  refused(file.p, file.n, "a bool that is 2");
  one_key(ARRAY, ARRAY, 4);
  put_le(&file, 1, 8);
  refused(file.p, file.n, "an array of elements of type 9");
  one_key(ARRAY, U8, 4);
  put_le(&file, (uint64_t)1 << 63, 8);
  refused(file.p, file.n, "an array of 9223372036854775808 elements");
  one_key(ARRAY, STRING, 4);
  put_le(&file, 1, 8);
  put_le(&file, UINT64_MAX, 8);
  refused(file.p, file.n, "a text in an array of 18446744073709551615 bytes");
  gguf_begin(&file, 3, 0, 2);
  gguf_key(&file, "k", U8, 1, 1);
  gguf_key(&file, "k", U8, 1, 1);
  refused(file.p, file.n, "a second key \"k\"");
  static const uint64_t alignments[] = {0, 3, 48};
  for (size_t i = 0; i < 3; i++) {
    gguf_begin(&file, 3, 0, 1);
    gguf_key(&file, "general.alignment", U32, alignments[i], 4);
    refused(file.p, file.n, "no power of two");
  }
  static const struct { unsigned version; const char *says; } versions[] = {
      {0, "version 0"}, {1, "version 1"}, {4, "version 4"}, {3u << 24, "big-endian"}};
  for (size_t i = 0; i < 4; i++) {
    gguf_begin(&file, versions[i].version, 0, 0);
    refused(file.p, file.n, versions[i].says);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(safetensors_tensors_are_found_and_read),
      cmocka_unit_test(safetensors_that_lie_are_refused),
      cmocka_unit_test(safetensors_json_is_bounded),
      cmocka_unit_test(gguf_tensors_are_found_and_read),
      cmocka_unit_test(gguf_tensors_of_nothing_lie_in_the_file),
      cmocka_unit_test(gguf_tensors_that_lie_are_refused),
      cmocka_unit_test(gguf_keys_that_lie_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
