/* The reader of .npz: what is in a good archive; those that lie, each refused with one line that says where; every
 * truncation and every flipped bit of a good one; bombs. */
#include "tests/unit/weights_read.h"

static zip_build zip;

static bool zlib_is_here(void) { /* of what the library was built with */
  static unsigned char a[256];
  weights *w;
  zip = (zip_build){.n = 0};
  zip_add(&zip, "a.npy", a, build_npy(a, "<f4", "False", "(2, 3)", six, sizeof six), 1);
  zip_end(&zip);
  tsr_status st = weights_parse(NULL, zip.b.p, zip.b.n, "file", &w);
  bool missing = tsr_status_code(st) == TSR_UNSUPPORTED && strstr(tsr_status_message(st), "built without zlib");
  assert_true(!st || missing);
  tsr_status_free(st);
  weights_close(&w);
  return !missing;
}

static void build_npz(int deflated) {
  static unsigned char a[4096];
  unsigned char big[24];
  for (int i = 0; i < 24; i++) big[i] = ((const unsigned char *)six)[i / 4 * 4 + 3 - i % 4];
  zip = (zip_build){.n = 0};
  zip_add(&zip, "a.npy", a, build_npy(a, "<f4", "False", "(2, 3)", six, sizeof six), deflated);
  zip_add(&zip, "f.npy", a, build_npy(a, "<f4", "True", "(2, 3)", turned, sizeof turned), deflated);
  zip_add(&zip, "big.npy", a, build_npy(a, ">f4", "False", "(2, 3)", big, sizeof big), deflated);
  zip_add(&zip, "yes.npy", a, build_npy(a, "|b1", "False", "(2,)", "\0\7", 2), deflated);
  zip_add(&zip, "word.npy", a, build_npy(a, "<U1", "False", "()", "a\0\0", 4), deflated);
  zip_add(&zip, "notes.txt", (const unsigned char *)"text", 4, deflated);
  zip_end(&zip);
}

static void npz_arrays_are_found_and_read(void **state) {
  for (int deflated = 0; deflated < 1 + zlib_is_here(); deflated++) {
    weights *w;
    build_npz(deflated);
    assert_null(weights_parse(NULL, zip.b.p, zip.b.n, "file", &w));
    assert_string_equal(w->format, "npz");
    assert_int_equal(w->n_tensors, 5);
    const weights_tensor *a = get(w, "a", "f32", 2, 2, 3);
    holds(w, a, six, sizeof six);
    assert_true(deflated ? !weights_data(w, a) : !memcmp(weights_data(w, a), six, sizeof six));
    holds(w, get(w, "f", "f32", 2, 2, 3), six, sizeof six);
    holds(w, get(w, "big", "f32", 2, 2, 3), six, sizeof six);
    holds(w, get(w, "yes", "bool", 1, 2, 0), "\0\1", 2);
    assert_false(weights_is_readable(get(w, "word", "<U1", 0, 0, 0)));
    weights_close(&w);
    damage(zip.b.p, zip.b.n);
  }
}

/* The file of build_npz(0) with v at `at` bytes into row i of its table. */
static void with_row(int i, size_t at, uint64_t v, int bytes, const char *says) {
  build_npz(0);
  size_t row = zip.b.n - 22;
  for (int k = zip.n - 1; k >= i; k--) row -= 46 + strlen(zip.part[k].name);
  size_t n = zip.b.n;
  zip.b.n = row + at;
  put_le(&zip.b, v, bytes);
  refused(zip.b.p, n, says);
}

static void npz_archives_that_lie_are_refused(void **state) {
  with_row(1, 0, 0, 1, "expected an entry");
  with_row(1, 8, 1, 2, "encrypted");
  with_row(1, 10, 12, 2, "compression method 12");
  with_row(1, 20, 0xfffffffe, 4, "up to the table there are");
  with_row(1, 24, 7, 4, "stored with two sizes");
  with_row(1, 28, 60000, 2, "malformed entry");
  with_row(1, 30, 60000, 2, "malformed entry");
  with_row(1, 42, 0, 4, "its header and the table differ");
  with_row(1, 42, 0xfffffff0, 4, "does not start where");
  with_row(1, 46, 0, 1, "malformed entry");
  with_row(1, 46, 'a', 1, "header and the table differ");
  build_npz(0);
  zip.b.p[zip.b.n - 10] ^= 1; /* the table's size */
  refused(zip.b.p, zip.b.n, "");
  build_npz(0);
  memset(zip.b.p + zip.b.n - 14, 0xff, 4); /* numbers of entries */
  refused(zip.b.p, zip.b.n, "a table of 65535 entries");
  zip = (zip_build){.n = 0};
  static unsigned char a[512];
  size_t n = build_npy(a, "<f4", "False", "(2, 3)", six, sizeof six);
  zip_add(&zip, "a.npy", a, n, 0);
  zip_add(&zip, "a.npy", a, n, 0);
  zip_end(&zip);
  refused(zip.b.p, zip.b.n, "a second tensor \"a\"");
  zip = (zip_build){.n = 0};
  zip_add(&zip, "a.npy", a, n, 0);
  zip.part[zip.n] = zip.part[0], zip.n++; /* one entry twice in the table */
  zip_end(&zip);
  refused(zip.b.p, zip.b.n, "overlap");
}

static void npz_arrays_that_lie_are_refused(void **state) {
  static const struct { const char *descr, *order, *shape; size_t bytes; const char *says; } bad[] = {
      {"<f4", "False", "(2, 4)", 24, "24 bytes of data, its header needs 32"},
      {"<f4", "False", "(2, 2)", 24, "24 bytes of data, its header needs 16"},
      {"<f4", "False", "(9223372036854775807,)", 24, "overflows"},
      {"<f4", "0", "(2, 3)", 24, "neither True nor False"},
      {"<f4', 'descr': '<f4", "False", "(2, 3)", 24, "unexpected key"},
      {"<f4", "False", "(2, 3", 24, "expected"},
  };
  static unsigned char a[32768];
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    zip = (zip_build){.n = 0};
    zip_add(&zip, "a.npy", a, build_npy(a, bad[i].descr, bad[i].order, bad[i].shape, six, bad[i].bytes), 0);
    zip_end(&zip);
    refused(zip.b.p, zip.b.n, bad[i].says);
  }
  zip = (zip_build){.n = 0};
  zip_add(&zip, "archive/data.pkl", (const unsigned char *)"\x80\2}", 3, 0);
  zip_end(&zip);
  refused(zip.b.p, zip.b.n, "a PyTorch file: archive/data.pkl is a pickle");
  refused("\x80\4\x95\0\0\0\0\0\0\0\0", 11, "a pickle");
  refused("\x89HDF\r\n\x1a\n", 8, "not a safetensors, .npz or GGUF file");
  refused("", 0, "not a safetensors");
  memset(a, ' ', sizeof a); /* a header longer than is unpacked */
  memcpy(a, "\x93NUMPY\1\0\xff\x7f", 10);
  zip = (zip_build){.n = 0};
  zip_add(&zip, "a.npy", a, sizeof a, 0);
  zip_end(&zip);
  refused(zip.b.p, zip.b.n, "truncated .npy header");
}

static void npz_data_that_lies_is_refused_when_read(void **state) {
  weights *w;
  float got[6];
  build_npz(0);
  zip.b.p[zip.part[0].header + 30 + 5 + zip.part[0].size - 1] ^= 1;
  assert_null(weights_parse(NULL, zip.b.p, zip.b.n, "file", &w));
  tsr_status st = weights_read(w, weights_find(w, "a"), got, sizeof got);
  assert_non_null(strstr(tsr_status_message(st), "checksum"));
  tsr_status_free(st);
  weights_close(&w);
}

/* 60 kB of zeros in 400 bytes, with the sizes that it has, and with those of a bomb. */
static void npz_bombs_unpack_no_more_than_is_asked_for(void **state) {
  static unsigned char a[61000];
  static char got[60001];
  weights *w;
  if (!zlib_is_here()) skip();
  memset(a, 0, sizeof a);
  size_t n = build_npy(a, "|i1", "False", "(60000,)", NULL, 0);
  zip = (zip_build){.n = 0};
  zip_add(&zip, "a.npy", a, n + 60000, 1);
  zip_part *e = &zip.part[0];
  assert_in_range(e->packed, 1, 1000);
  zip_end(&zip);
  assert_null(weights_parse(NULL, zip.b.p, zip.b.n, "file", &w));
  memset(got, 1, sizeof got);
  assert_null(weights_read(w, weights_find(w, "a"), got, 60000));
  for (size_t i = 0; i < 60000; i++) assert_int_equal(got[i], 0);
  assert_int_equal(got[60000], 1);
  weights_close(&w);
  size_t head = e->header + 30 + 5;
  bytes_buf *b = &zip.b;
  b->n = head + e->packed; /* the table anew, with other sizes */
  e->size = 4000000000u;
  zip_end(&zip);
  refused(b->p, b->n, "claims 4000000000 bytes");
  b->n = head + e->packed;
  e->size = (uint32_t)n + 60001;
  zip_end(&zip);
  refused(b->p, b->n, "60001 bytes of data, its header needs 60000");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(npz_arrays_are_found_and_read),
      cmocka_unit_test(npz_archives_that_lie_are_refused),
      cmocka_unit_test(npz_arrays_that_lie_are_refused),
      cmocka_unit_test(npz_data_that_lies_is_refused_when_read),
      cmocka_unit_test(npz_bombs_unpack_no_more_than_is_asked_for),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
