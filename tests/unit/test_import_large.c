/* Weight files above 4 GB, made as sparse files: a tensor behind the 32-bit limit is where the table says, and read. */
#include "core/import/weights.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/support/weights_build.h"

static const float six[6] = {1, 2, 3, 4, 5, 6};

#define FAR 4400000000ull /* above 2^32 */

/* A sparse file: `head`, a hole up to `tail_at`, `tail`. False: this file system can't. */
static bool sparse(char *path, const bytes_buf *head, uint64_t tail_at, const bytes_buf *tail) {
  int fd = mkstemp(path);
  if (fd < 0) return false;
  bool ok = pwrite(fd, head->p, head->n, 0) == (ssize_t)head->n &&
            pwrite(fd, tail->p, tail->n, (off_t)tail_at) == (ssize_t)tail->n;
  close(fd);
  if (!ok) unlink(path);
  return ok;
}

static void far_tensor_is_read(const bytes_buf *head, uint64_t tail_at, const bytes_buf *tail, uint64_t far_offset) {
  char path[] = "/tmp/tessera_weights_XXXXXX";
  weights *w;
  if (!sparse(path, head, tail_at, tail)) skip();
  tsr_status st = weights_open(NULL, path, &w);
  unlink(path);
  if (st) print_message("%s\n", tsr_status_message(st));
  assert_null(st);
  assert_int_equal(w->n_tensors, 2);
  const weights_tensor *t = weights_find(w, "far");
  float got[6];
  assert_non_null(t);
  assert_int_equal(t->offset, far_offset);
  assert_null(weights_read(w, t, got, sizeof got));
  assert_memory_equal(got, six, sizeof six);
  weights_close(&w);
}

static void safetensors_above_4_gb_is_read(void **state) {
  static bytes_buf head, tail;
  build_safetensors(&head,
                    "{\"near\":{\"dtype\":\"I8\",\"shape\":[4400000000],\"data_offsets\":[0,4400000000]},"
                    "\"far\":{\"dtype\":\"F32\",\"shape\":[6],\"data_offsets\":[4400000000,4400000024]}}",
                    NULL, 0);
  tail.n = 0;
  put_raw(&tail, six, sizeof six);
  far_tensor_is_read(&head, head.n + FAR, &tail, head.n + FAR);
}

static void gguf_above_4_gb_is_read(void **state) {
  static bytes_buf head, tail;
  gguf_begin(&head, 3, 2, 0);
  gguf_tensor(&head, "near", 1, (uint64_t[]){FAR}, 24, 0); /* i8 */
  gguf_tensor(&head, "far", 1, (uint64_t[]){6}, 0, FAR);
  gguf_align(&head, 32);
  tail.n = 0;
  put_raw(&tail, six, sizeof six);
  far_tensor_is_read(&head, head.n + FAR, &tail, head.n + FAR);
}

/* zip64: sizes of the first entry and the place of the second don't fit 32 bits. */
static void npz_above_4_gb_is_read(void **state) {
  static bytes_buf head, tail;
  static unsigned char a[512];
  size_t near_head = build_npy(a, "|i1", "False", "(4400000000,)", NULL, 0);
  uint64_t near_bytes = near_head + FAR, second = 30 + 8 + near_bytes;
  head.n = tail.n = 0;
  put_raw(&head, "PK\3\4\55\0\0\0\0\0\0\0\0\0\0\0\0\0\377\377\377\377\377\377\377\377\10\0\0\0near.npy", 38);
  put_raw(&head, a, near_head);
  size_t n = build_npy(a, "<f4", "False", "(6,)", six, sizeof six);
  put_raw(&tail, "PK\3\4\55\0\0\0\0\0\0\0\0\0", 14);
  put_le(&tail, zip_crc(a, n), 4);
  put_le(&tail, n, 4);
  put_le(&tail, n, 4);
  put_le(&tail, 7, 2);
  put_le(&tail, 0, 2);
  put_raw(&tail, "far.npy", 7);
  put_raw(&tail, a, n);
  uint64_t table = second + tail.n, from = tail.n;
  put_raw(&tail,
          "PK\1\2\55\0\55\0\0\0\0\0\0\0\0\0\0\0\0\0\377\377\377\377\377\377\377\377\10\0\24\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
          "\0near.npy",
          54);
  put_le(&tail, 1, 2);
  put_le(&tail, 16, 2);
  put_le(&tail, near_bytes, 8);
  put_le(&tail, near_bytes, 8);
  put_raw(&tail, "PK\1\2\55\0\55\0\0\0\0\0\0\0\0\0", 16);
  put_le(&tail, zip_crc(a, n), 4);
  put_le(&tail, n, 4);
  put_le(&tail, n, 4);
  put_le(&tail, 7, 2);
  put_le(&tail, 12, 2);
  put_raw(&tail, "\0\0\0\0\0\0\0\0\0\0\377\377\377\377far.npy", 21);
  put_le(&tail, 1, 2);
  put_le(&tail, 8, 2);
  put_le(&tail, second, 8);
  uint64_t bytes = tail.n - from, end64 = second + tail.n;
  put_raw(&tail, "PK\6\6\54\0\0\0\0\0\0\0\55\0\55\0\0\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0", 40);
  put_le(&tail, bytes, 8);
  put_le(&tail, table, 8);
  put_raw(&tail, "PK\6\7\0\0\0\0", 8);
  put_le(&tail, end64, 8);
  put_le(&tail, 1, 4);
  put_raw(&tail, "PK\5\6\0\0\0\0\2\0\2\0\377\377\377\377\377\377\377\377\0\0", 22);
  far_tensor_is_read(&head, second, &tail, second + 37 + n - sizeof six);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(safetensors_above_4_gb_is_read),
      cmocka_unit_test(gguf_above_4_gb_is_read),
      cmocka_unit_test(npz_above_4_gb_is_read),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
