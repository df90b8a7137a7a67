/* The store of compiled binaries: content, checksums, size cap, refusal of what others can write, kill -9, full disk.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "core/base/blob.h"

#include "core/base/alloc.h"
#include "core/base/sha256.h"

#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utime.h>

#include <cmocka.h>

static char dir[64];

static int make_dir(void **state) {
  snprintf(dir, sizeof dir, "/tmp/tsr-blob-XXXXXX");
  return mkdtemp(dir) ? 0 : -1;
}
static int drop_dir(void **state) {
  char cmd[200];
  snprintf(cmd, sizeof cmd, "rm -rf %s", dir);
  return system(cmd);
}
static blob_store *open_store(uint64_t cap) {
  blob_store *s = NULL;
  assert_null(blob_open(NULL, dir, cap, &s));
  return s;
}
static void id_of(int i, char out[65]) { blob_id(&(blob_part){&i, sizeof i}, 1, out); }
static void file_of(const char *id, char out[256]) { snprintf(out, 256, "%.63s/blobs/%.64s.bin", dir, id); }
static bool has(blob_store *s, const char *id, const void *want, size_t n) {
  void *p;
  size_t bytes;
  if (!blob_get(s, id, &p, &bytes)) return false;
  bool same = bytes == n && !memcmp(p, want, n);
  al_free(NULL, p, bytes, 16);
  assert_true(same); /* a hit is never wrong */
  return true;
}

static void sha256_matches_published_vectors(void **state) {
  static const struct {
    const char *text, *hex;
  } rows[] = {{"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
              {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
              {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"}};
  for (size_t i = 0; i < 3; i++) {
    sha256 h;
    uint8_t d[32];
    char hex[65];
    sha256_begin(&h);
    for (const char *c = rows[i].text; *c; c++) sha256_add(&h, c, 1);
    sha256_end(&h, d);
    sha256_hex(d, hex);
    assert_string_equal(hex, rows[i].hex);
  }
}

static void id_depends_on_every_part_and_boundary(void **state) {
  char a[65], b[65];
  blob_id((blob_part[]){{"ab", 2}, {"c", 1}}, 2, a);
  blob_id((blob_part[]){{"a", 1}, {"bc", 2}}, 2, b);
  assert_string_not_equal(a, b);
}

static void binary_is_found_again(void **state) {
  blob_store *s = open_store(0);
  assert_string_equal(blob_why(s), "");
  char id[65], blobs[128];
  id_of(1, id);
  assert_false(has(s, id, "code", 4));
  snprintf(blobs, sizeof blobs, "%s/blobs", dir);
  assert_int_not_equal(access(blobs, F_OK), 0); /* looking leaves nothing behind */
  assert_true(blob_put(s, id, "code", 4));
  blob_close(&s);
  s = open_store(0);
  assert_true(has(s, id, "code", 4));
  assert_true(blob_total(s) > 4);
  assert_false(blob_put(s, "../../etc/passwd", "x", 1));
  assert_false(has(s, "short", "x", 1));
  blob_close(&s);
}

static void damaged_file_is_a_miss_and_goes(void **state) {
  blob_store *s = open_store(0);
  char id[65], path[256], data[3000];
  id_of(2, id);
  file_of(id, path);
  memset(data, 7, sizeof data);
  for (int i = 0; i < 300; i++) {
    assert_true(blob_put(s, id, data, sizeof data));
    FILE *f = fopen(path, "r+b");
    if (i % 3 == 0) assert_int_equal(ftruncate(fileno(f), i * 10), 0);
    else {
      fseek(f, i * 10, SEEK_SET);
      int c = fgetc(f);
      fseek(f, i * 10, SEEK_SET);
      fputc(c ^ 0x40, f);
    }
    fclose(f);
    assert_false(has(s, id, data, sizeof data));
    assert_int_not_equal(access(path, F_OK), 0);
  }
  char other[65], other_path[256]; /* one binary under another's name */
  id_of(3, other);
  file_of(other, other_path);
  assert_true(blob_put(s, id, data, sizeof data));
  assert_int_equal(rename(path, other_path), 0);
  assert_false(has(s, other, data, sizeof data));
  blob_close(&s);
}

static void size_cap_drops_least_recently_used(void **state) {
  enum { SIZE = 1000 };
  blob_store *s = open_store(5 * (SIZE + 48));
  char id[8][65], data[SIZE], path[256];
  memset(data, 1, sizeof data);
  for (int i = 0; i < 5; i++) {
    id_of(i, id[i]);
    assert_true(blob_put(s, id[i], data, SIZE));
    struct utimbuf t = {1000000 + i, 1000000 + i};
    file_of(id[i], path);
    assert_int_equal(utime(path, &t), 0);
  }
  assert_true(has(s, id[0], data, SIZE)); /* used now, so 1 is the oldest */
  id_of(5, id[5]);
  assert_true(blob_put(s, id[5], data, SIZE));
  assert_true(has(s, id[0], data, SIZE));
  assert_false(has(s, id[1], data, SIZE));
  assert_true(blob_total(s) <= 5 * (SIZE + 48));
  blob_clear(s);
  assert_true(blob_total(s) == 0 && !has(s, id[0], data, SIZE) && !has(s, id[5], data, SIZE));
  static char large[6 * (SIZE + 48)];
  id_of(6, id[6]);
  assert_false(blob_put(s, id[6], large, sizeof large));
  blob_close(&s);
}

static void clock_jumps_keep_the_cap(void **state) {
  blob_store *s = open_store(4000);
  char id[65], path[256], data[900] = {0};
  for (int i = 0; i < 40; i++) {
    id_of(100 + i, id);
    assert_true(blob_put(s, id, data, sizeof data));
    file_of(id, path);
    time_t when = i % 2 ? 4102444800 : 0;
    struct utimbuf t = {when, when};
    assert_int_equal(utime(path, &t), 0);
    assert_true(blob_total(s) <= 4000);
    assert_true(has(s, id, data, sizeof data));
  }
  blob_close(&s);
}

static void folder_that_others_can_write_is_refused(void **state) {
  blob_store *s = open_store(0);
  char id[65], path[256];
  id_of(1, id);
  assert_true(blob_put(s, id, "code", 4));
  blob_close(&s);
  char blobs[128];
  snprintf(blobs, sizeof blobs, "%s/blobs", dir);
  const char *folders[] = {dir, blobs};
  static const mode_t modes[] = {0722, 0702, 0777, 0770, 01777};
  for (size_t f = 0; f < 2; f++)
    for (size_t m = 0; m < sizeof modes / sizeof *modes; m++) {
      assert_int_equal(chmod(folders[f], modes[m]), 0);
      s = open_store(0);
      assert_non_null(strstr(blob_why(s), "others can write"));
      assert_false(has(s, id, "code", 4));
      assert_false(blob_put(s, id, "code", 4));
      blob_close(&s);
      assert_int_equal(chmod(folders[f], 0700), 0);
    }
  s = open_store(0);
  assert_true(has(s, id, "code", 4));
  file_of(id, path);
  assert_int_equal(chmod(path, 0606), 0);
  assert_false(has(s, id, "code", 4));
  blob_close(&s);
}

static void links_and_other_kinds_are_refused(void **state) {
  blob_store *s = open_store(0);
  char id[65], path[256], real[256];
  id_of(9, id);
  file_of(id, path);
  assert_true(blob_put(s, id, "code", 4));
  snprintf(real, sizeof real, "%s/real", dir);
  assert_int_equal(rename(path, real), 0);
  assert_int_equal(symlink(real, path), 0);
  assert_false(has(s, id, "code", 4));
  unlink(path);
  assert_int_equal(mkfifo(path, 0600), 0);
  assert_false(has(s, id, "code", 4)); /* and does not hang */
  blob_close(&s);
}

static void file_of_another_user_is_refused(void **state) {
  if (geteuid() != 0) skip(); /* only root can give a file away */
  blob_store *s = open_store(0);
  char id[65], path[256];
  id_of(4, id);
  assert_true(blob_put(s, id, "code", 4));
  file_of(id, path);
  assert_int_equal(chown(path, 12345, 12345), 0);
  assert_false(has(s, id, "code", 4));
  blob_close(&s);
}

static void kill_9_leaves_whole_files_or_none(void **state) {
  static char data[200000];
  char first[65];
  for (size_t i = 0; i < sizeof data; i++) data[i] = (char)(i * 7);
  blob_store *made = open_store(0); /* the folder is there, however early the kills come */
  id_of(0, first);
  assert_true(blob_put(made, first, data, sizeof data));
  blob_close(&made);
  for (int round = 0; round < 200; round++) {
    pid_t pid = fork();
    if (!pid) {
      blob_store *s = open_store(0);
      for (int i = 0;; i++) {
        char id[65];
        id_of(i % 8, id);
        blob_put(s, id, data, sizeof data);
      }
    }
    usleep((useconds_t)(500 + round * 37 % 4000));
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    blob_store *s = open_store(0);
    for (int i = 0; i < 8; i++) {
      char id[65], path[256];
      id_of(i, id);
      file_of(id, path);
      if (access(path, F_OK) == 0) assert_true(has(s, id, data, sizeof data));
    }
    blob_close(&s);
  }
  char blobs[128];
  snprintf(blobs, sizeof blobs, "%s/blobs", dir);
  DIR *d = opendir(blobs);
  assert_non_null(d);
  for (struct dirent *e; (e = readdir(d));) assert_null(strstr(e->d_name, ".tmp")); /* left-overs are removed */
  closedir(d);
}

/* Stores of one process share its number, and each counts from 0. */
static void temporary_file_of_another_store_is_left_alone(void **state) {
  char id[65], path[128];
  blob_store *s = open_store(0);
  id_of(1, id);
  assert_true(blob_put(s, id, "a", 1));
  snprintf(path, sizeof path, "%s/blobs/%d.1.tmp", dir, (int)getpid());
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  fclose(f);
  id_of(2, id);
  assert_true(blob_put(s, id, "b", 1));
  assert_true(has(s, id, "b", 1));
  assert_int_equal(access(path, F_OK), 0);
  blob_close(&s);
}

static void full_disk_is_a_refused_put(void **state) {
  pid_t pid = fork();
  if (!pid) {
    static char data[20000];
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit limit = {4096, 4096};
    setrlimit(RLIMIT_FSIZE, &limit);
    blob_store *s = open_store(0);
    char id[65];
    id_of(1, id);
    if (blob_put(s, id, data, sizeof data)) _exit(1);
    id_of(2, id);
    if (!blob_put(s, id, data, 100) || !has(s, id, data, 100)) _exit(2);
    blob_close(&s);
    _exit(0);
  }
  int status;
  waitpid(pid, &status, 0);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

#define IN_DIR(f) cmocka_unit_test_setup_teardown(f, make_dir, drop_dir)
int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sha256_matches_published_vectors),
      cmocka_unit_test(id_depends_on_every_part_and_boundary),
      IN_DIR(binary_is_found_again),
      IN_DIR(damaged_file_is_a_miss_and_goes),
      IN_DIR(size_cap_drops_least_recently_used),
      IN_DIR(clock_jumps_keep_the_cap),
      IN_DIR(folder_that_others_can_write_is_refused),
      IN_DIR(links_and_other_kinds_are_refused),
      IN_DIR(file_of_another_user_is_refused),
      IN_DIR(kill_9_leaves_whole_files_or_none),
      IN_DIR(temporary_file_of_another_store_is_left_alone),
      IN_DIR(full_disk_is_a_refused_put),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
