/* core/runtime/team_table.c - see team_table.h. */
#include "core/runtime/team_table.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/knob.h"

/* What rank 0 tells the others. */
typedef struct told {
  int32_t n, unused;
  struct {
    int64_t most_bytes;
    int32_t op, unused;
    char algorithm[48];
  } rows[COLL_TABLE_ROWS];
} told;

static bool path_of(char *path, size_t cap, const char *transport, int32_t ranks) {
  const char *dir = knob_str("TSR_CACHE_DIR");
  return *dir && snprintf(path, cap, "%s/coll-%s-%d.txt", dir, transport, ranks) < (int)cap;
}

static void key_of(char *key, size_t cap, const char *transport, int32_t ranks, const char *path) {
  coll_table_key(key, cap, transport, ranks, (int)sysconf(_SC_NPROCESSORS_ONLN), path);
}

bool team_table_read(const char *transport, int32_t ranks, const char *link_path, coll_table *out) {
  char path[4200], key[200], text[COLL_TABLE_TEXT + 1];
  const char *why;
  out->n = 0;
  if (!path_of(path, sizeof path, transport, ranks)) return false;
  FILE *f = file_open(path, &why);
  if (!f) return false;
  size_t n = fread(text, 1, sizeof text, f);
  fclose(f);
  key_of(key, sizeof key, transport, ranks, link_path);
  return coll_table_parse(text, n, key, ranks, out);
}

tsr_status team_table_write(const char *transport, int32_t ranks, const char *link_path, const coll_table *t,
                            char *path, size_t cap) {
  char key[200], text[COLL_TABLE_TEXT], fresh[4300];
  st_where where = ST_WHERE("collective", "table", "TSR_CACHE_DIR names the folder");
  key_of(key, sizeof key, transport, ranks, link_path);
  size_t n = coll_table_print(t, key, text, sizeof text);
  if (!n || !path_of(path, cap, transport, ranks))
    return st_make(NULL, TSR_IO_ERROR, where, "there is no cache folder");
  for (char *at = path + 1; (at = strchr(at, '/')); at++) { /* the folders above it */
    *at = 0;
    mkdir(path, 0700);
    *at = '/';
  }
  snprintf(fresh, sizeof fresh, "%s.%ld", path, (long)getpid());
  FILE *f = fopen(fresh, "wbx");
  bool ok = f && fwrite(text, 1, n, f) == n;
  if (f && fclose(f)) ok = false;
  if (ok && !rename(fresh, path)) return NULL;
  unlink(fresh);
  return st_make(NULL, TSR_IO_ERROR, where, "%s can't be written", path);
}

tsr_status team_table_agree(coll_team *t, int32_t rank, int64_t deadline_ms, coll_table *table) {
  told x;
  memset(&x, 0, sizeof x);
  x.n = table->n;
  for (int32_t i = 0; i < table->n; i++) {
    x.rows[i].most_bytes = table->rows[i].most_bytes, x.rows[i].op = (int32_t)table->rows[i].op;
    snprintf(x.rows[i].algorithm, sizeof x.rows[i].algorithm, "%s", table->rows[i].algorithm);
  }
  const coll_call c = {.op = COLL_BROADCAST,
                       .dtype = TSR_U8,
                       .count = sizeof x,
                       .algorithm = "direct",
                       .in = &x,
                       .out = &x,
                       .deadline_ms = deadline_ms};
  tsr_status st = coll_run_rank(t, rank, &c);
  if (st) return st;
  table->n = 0;
  for (int32_t i = 0; i < x.n && i < COLL_TABLE_ROWS; i++) {
    x.rows[i].algorithm[sizeof x.rows[i].algorithm - 1] = 0;
    const coll_algorithm *a = coll_algorithm_find(NULL, x.rows[i].algorithm);
    if (!a || (uint32_t)x.rows[i].op >= N_COLL_OPS) continue;
    table->rows[table->n++] = (coll_choice){(coll_op)x.rows[i].op, coll_team_size(t), x.rows[i].most_bytes, a->name};
  }
  return NULL;
}
