/* core/tune/cache_db.c - see cache_db.h. Waiting is counted in steps, never by the clock, so that a clock that jumps
 * changes nothing. Setting a damaged file aside happens under a lock file and only if the damaged file is still the one
 * in place. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "core/tune/cache_db.h"

#include "core/base/file.h"

#include <stdio.h>
#include <string.h>

struct db {
  tsr_allocator al;
  db_state state;
  int quarantined;
  bool none, no_writes, checked; /* checked: the file was read as a whole and is sound */
  char path[1024], why[256];
  void *handle;
  void *prepared[DB_N_STATEMENTS];
  unsigned long long inode, device;
};

db_state db_state_of(const db *d) { return d->state; }
const char *db_why(const db *d) { return d->why; }
int db_quarantined(const db *d) { return d->quarantined; }
bool db_is_none(const db *d) { return d->none; }
const char *db_path(const db *d) { return d->path; }

static db *make(const tsr_allocator *al, const char *path) {
  db *d = al_new(al, db);
  if (!d) return NULL;
  d->al = al && al->alloc ? *al : al_default;
  snprintf(d->path, sizeof d->path, "%s", path);
  return d;
}

db *db_none(const tsr_allocator *al, const char *why) {
  db *d = make(al, "");
  if (d) d->none = true, snprintf(d->why, sizeof d->why, "%s", why);
  return d;
}

#ifndef TSR_HAVE_SQLITE

bool db_in_build(void) { return false; }
db *db_open(const tsr_allocator *al, const char *path) { return db_none(al, "built without SQLite"); }
db *db_open_read_only(const tsr_allocator *al, const char *path) { return db_open(al, path); }
void db_close(db **d) {
  if (!*d) return;
  tsr_allocator al = (*d)->al;
  al_delete(&al, *d);
  *d = NULL;
}
bool db_run(db *d, db_statement s, const db_arg *args, int n_args, db_row_fn row, void *user, int *changed) {
  return false;
}

#else

bool db_in_build(void) { return true; }

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { APPLICATION_ID = 0x54535243 /* "TSRC" */, BUSY_MS = 10000, RETRIES = 500, RETRY_US = 10000 };

static const char schema[] =
    "CREATE TABLE entry(key TEXT PRIMARY KEY NOT NULL, op TEXT, shape TEXT, dtype TEXT, layout TEXT, policy TEXT, mesh TEXT,"
    " arch TEXT, driver TEXT, generator TEXT, config TEXT, runner_up TEXT, strategy TEXT, best_ns REAL, runner_up_ns REAL,"
    " default_ns REAL, predicted_ns REAL, samples REAL, created REAL, sum TEXT) WITHOUT ROWID;"
    "CREATE INDEX entry_near ON entry(op, dtype, arch);"
    "CREATE TABLE trial(key TEXT NOT NULL, config TEXT NOT NULL, state TEXT, ns REAL, registers REAL, sum TEXT,"
    " PRIMARY KEY(key, config)) WITHOUT ROWID;"
    "CREATE TABLE device(id TEXT PRIMARY KEY NOT NULL, profile TEXT, sum TEXT) WITHOUT ROWID;";

#define ENTRY \
  "key,op,shape,dtype,layout,policy,mesh,arch,driver,generator,config,runner_up,strategy,best_ns,runner_up_ns,default_ns,predicted_ns,samples,created,sum"
#define VALUES20 " VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
static const char *const sql[DB_N_STATEMENTS] = {
    [DB_LOOKUP] = "SELECT " ENTRY " FROM entry WHERE key=?",
    [DB_STORE_NEW] = "INSERT OR IGNORE INTO entry(" ENTRY ")" VALUES20,
    [DB_STORE_REPLACE] = "INSERT OR REPLACE INTO entry(" ENTRY ")" VALUES20,
    [DB_DELETE] = "DELETE FROM entry WHERE key=?",
    [DB_NEIGHBOURS] =
        "SELECT " ENTRY
        " FROM entry WHERE op=? AND dtype=? AND arch=? AND layout=? AND policy=? AND driver=? AND generator=?",
    [DB_ALL] = "SELECT " ENTRY " FROM entry ORDER BY key",
    [DB_CLEAR] = "DELETE FROM entry",
    [DB_SWAP] = "UPDATE entry SET config=?, runner_up=?, best_ns=?, runner_up_ns=?, sum=? WHERE key=?",
    [DB_TRIAL_ADD] = "INSERT OR REPLACE INTO trial(key,config,state,ns,registers,sum) VALUES(?,?,?,?,?,?)",
    [DB_TRIALS] = "SELECT key,config,state,ns,registers,sum FROM trial WHERE key=? ORDER BY config",
    [DB_TRIALS_CLEAR] = "DELETE FROM trial",
    [DB_TRIALS_DELETE] = "DELETE FROM trial WHERE key=?",
    [DB_DEVICE_GET] = "SELECT id,profile,sum FROM device WHERE id=?",
    [DB_DEVICE_SET] = "INSERT OR REPLACE INTO device(id,profile,sum) VALUES(?,?,?)",
    [DB_DEVICES_CLEAR] = "DELETE FROM device",
    [DB_COUNT] = "SELECT (SELECT count(*) FROM entry), (SELECT count(*) FROM trial)",
    [DB_CHECK] = "PRAGMA integrity_check(1)",
    [DB_BEGIN] = "BEGIN IMMEDIATE",
    [DB_COMMIT] = "COMMIT",
    [DB_ROLLBACK] = "ROLLBACK",
};

static bool is_damage(int rc) {
  int primary = rc & 0xff;
  return primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB || rc == SQLITE_IOERR_SHORT_READ ||
         primary == SQLITE_FORMAT;
}

static void say(db *d, const char *what, const char *detail) {
  snprintf(d->why, sizeof d->why, "%.48s: %.200s", what, detail);
}

static void shut(db *d) {
  for (int i = 0; i < DB_N_STATEMENTS; i++) {
    sqlite3_finalize(d->prepared[i]);
    d->prepared[i] = NULL;
  }
  sqlite3_close(d->handle);
  d->handle = NULL;
}

/* A one-row, one-number query; *rc tells. */
static int64_t ask(db *d, const char *text, int *rc) {
  sqlite3_stmt *st = NULL;
  int64_t v = 0;
  *rc = sqlite3_prepare_v2(d->handle, text, -1, &st, NULL);
  if (*rc == SQLITE_OK) *rc = sqlite3_step(st);
  if (*rc == SQLITE_ROW) {
    v = sqlite3_column_int64(st, 0);
    *rc = SQLITE_OK;
  } else if (*rc == SQLITE_DONE) {
    *rc = SQLITE_OK;
  }
  sqlite3_finalize(st);
  return v;
}

static int exec(db *d, const char *text) { return sqlite3_exec(d->handle, text, NULL, NULL, NULL); }

/* Switching to WAL wants the file alone and does not wait by itself. */
static int exec_patiently(db *d, const char *text) {
  int rc = SQLITE_BUSY;
  for (int i = 0; i < RETRIES && (rc & 0xff) == SQLITE_BUSY; i++) {
    if (i) usleep(RETRY_US);
    rc = exec(d, text);
  }
  return rc;
}

typedef enum kind { KIND_OURS, KIND_FRESH, KIND_FOREIGN, KIND_NEWER, KIND_UNREADABLE } kind;

/* One statement, so that a file which another process is just making is seen either empty or whole. */
static kind classify(db *d, int *rc) {
  sqlite3_stmt *st = NULL;
  int64_t id = 0, version = 0, tables = 0;
  *rc = sqlite3_prepare_v2(d->handle, "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_master)"
                           " FROM pragma_application_id, pragma_user_version", -1, &st, NULL);
  if (*rc == SQLITE_OK) *rc = sqlite3_step(st);
  if (*rc == SQLITE_ROW) {
    id = sqlite3_column_int64(st, 0), version = sqlite3_column_int64(st, 1), tables = sqlite3_column_int64(st, 2);
    *rc = SQLITE_OK;
  }
  sqlite3_finalize(st);
  /* A number of the header that SQLite doesn't know has no code of its own; in the statement nothing is wrong where
   * there are functions for pragmas. */
  if (*rc == SQLITE_ERROR && sqlite3_libversion_number() >= 3016000) return KIND_FOREIGN;
  if (*rc != SQLITE_OK) return is_damage(*rc) ? KIND_FOREIGN : KIND_UNREADABLE;
  if (!id && !version && !tables) return KIND_FRESH;
  if (id != APPLICATION_ID) return KIND_FOREIGN;
  if (version > DB_SCHEMA) return KIND_NEWER;
  return version == DB_SCHEMA && tables ? KIND_OURS : KIND_FOREIGN;
}

static int create_schema(db *d) {
  char head[128];
  snprintf(head, sizeof head, "PRAGMA application_id=%d; PRAGMA user_version=%d;", APPLICATION_ID, DB_SCHEMA);
  int rc = exec_patiently(d, "BEGIN IMMEDIATE");
  if (rc != SQLITE_OK) return rc;
  int again;
  if (classify(d, &again) == KIND_FRESH) { /* else another process was first */
    rc = exec(d, schema);
    if (rc == SQLITE_OK) rc = exec(d, head);
  }
  if (rc == SQLITE_OK) rc = exec(d, "COMMIT");
  if (rc != SQLITE_OK) exec(d, "ROLLBACK");
  return rc;
}

static bool stat_path(const char *path, unsigned long long *inode, unsigned long long *device) {
  struct stat st;
  if (stat(path, &st)) return false;
  *inode = (unsigned long long)st.st_ino;
  *device = (unsigned long long)st.st_dev;
  return true;
}

static int open_handle(db *d, int flags, const char *uri) {
  sqlite3 *h = NULL;
  int rc = sqlite3_open_v2(uri, &h, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI | SQLITE_OPEN_EXRESCODE, NULL);
  d->handle = h;
  if (h) sqlite3_busy_timeout(h, BUSY_MS);
  return rc;
}

/* "file:" URI with the characters escaped that mean something there. */
static void make_uri(const char *path, const char *query, char *out, size_t n) {
  size_t at = (size_t)snprintf(out, n, "file:");
  for (; *path && at + 4 < n; path++) {
    if (strchr("?#%", *path)) at += (size_t)snprintf(out + at, n - at, "%%%02X", (unsigned char)*path);
    else out[at++] = *path;
  }
  snprintf(out + at, n - at, "?%s", query);
}

/* Read-only: through the shared index if that can be had, else the bare file as it stands. */
static void open_reader(db *d, const char *reason) {
  static const char *const modes[] = {"mode=ro", "mode=ro&immutable=1"};
  char uri[3200], why[200]; /* the reason may be the closing handle's text */
  snprintf(why, sizeof why, "%s", reason);
  for (int i = 0; i < 2; i++) {
    int rc;
    make_uri(d->path, modes[i], uri, sizeof uri);
    shut(d);
    rc = open_handle(d, SQLITE_OPEN_READONLY, uri);
    kind k = rc == SQLITE_OK ? classify(d, &rc) : KIND_UNREADABLE;
    if (k == KIND_OURS) ask(d, "SELECT count(*) FROM entry", &rc);
    if (k == KIND_OURS && rc == SQLITE_OK) {
      d->state = DB_READ_ONLY;
      say(d, "read-only", why);
      return;
    }
    if (d->no_writes)
      snprintf(why, sizeof why, "%s",
               k == KIND_NEWER        ? "a newer library's cache"
               : k == KIND_UNREADABLE ? "can't be opened"
                                      : "damaged, or not a tuning cache");
  }
  shut(d);
  d->state = DB_OFF;
  if (d->no_writes) snprintf(d->why, sizeof d->why, "%s", why);
  else say(d, "off", why);
}

enum { MOST_RESCUED = 8, RESCUE_PATH = 1120 };
static const char *const companions[] = {"-wal", "-shm", ""};

/* The first name of NAME.sqlite.bad, .bad2, .bad3, ... under which nothing is. A cache that is damaged again and again
 * must not fill the disk: the last name is used over, the copies before it are never touched. */
static void rescue_path(const db *d, char out[RESCUE_PATH]) {
  char part[RESCUE_PATH + 8];
  for (int i = 1; i <= MOST_RESCUED; i++) {
    bool taken = false;
    snprintf(out, RESCUE_PATH, i > 1 ? "%s.bad%d" : "%s.bad", d->path, i);
    for (int k = 0; k < 3; k++) {
      snprintf(part, sizeof part, "%s%s", out, companions[k]);
      taken |= access(part, F_OK) == 0 || errno != ENOENT;
      if (i == MOST_RESCUED) unlink(part);
    }
    if (!taken) return;
  }
}

/* Moves the file and its companions aside, unless another process already put a new one in its place. */
static bool set_aside(db *d) {
  char lock[1100], to[RESCUE_PATH + 8], from[1100], name[RESCUE_PATH];
  unsigned long long inode = 0, device = 0;
  snprintf(lock, sizeof lock, "%s.lock", d->path);
  int fd = open(lock, O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0 || flock(fd, LOCK_EX)) {
    if (fd >= 0) close(fd);
    return false;
  }
  bool same = stat_path(d->path, &inode, &device) && inode == d->inode && device == d->device, ok = true;
  if (same) rescue_path(d, name);
  for (int i = 0; same && i < 3; i++) {
    snprintf(from, sizeof from, "%s%s", d->path, companions[i]);
    snprintf(to, sizeof to, "%s%s", name, companions[i]);
    if (rename(from, to) && errno != ENOENT) ok = false;
  }
  if (same) d->quarantined++, snprintf(d->why, sizeof d->why, "a damaged or foreign file was set aside: %.200s", name);
  close(fd);
  return ok;
}

static void side_path(db *d) {
  char side[1024];
  size_t n = strlen(d->path), ext = strlen(".sqlite");
  snprintf(side, sizeof side, "%.*s.v%d.sqlite", (int)(n > ext ? n - ext : n), d->path, DB_SCHEMA);
  memcpy(d->path, side, sizeof d->path);
}

/* What is opened here, by us or by SQLite, must be a file: a FIFO would wait. */
static const char *special_part(const db *d) {
  static const char *const parts[] = {"", "-wal", "-shm", "-journal", ".lock"};
  char path[1100];
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    snprintf(path, sizeof path, "%s%s", d->path, parts[i]);
    if (file_is_special(path)) return parts[i];
  }
  return NULL;
}

/* True: the state is decided. */
static bool refuse_special(db *d) {
  const char *part = special_part(d);
  if (!part) return false;
  d->state = DB_OFF;
  snprintf(d->why, sizeof d->why, "%.200s%s: not a regular file", d->path, part);
  return true;
}

/* One try; true when the state is decided. */
static bool try_open(db *d) {
  char uri[3200];
  int rc;
  if (refuse_special(d)) return true;
  make_uri(d->path, "mode=rwc", uri, sizeof uri);
  rc = open_handle(d, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, uri);
  if (rc != SQLITE_OK) return open_reader(d, d->handle ? sqlite3_errmsg(d->handle) : "out of memory"), true;
  stat_path(d->path, &d->inode, &d->device);
  kind k = classify(d, &rc);
  if (k == KIND_FRESH || k == KIND_OURS) {
    rc = exec_patiently(d, "PRAGMA journal_mode=WAL");
    if (rc == SQLITE_OK) rc = exec(d, "PRAGMA synchronous=NORMAL; PRAGMA journal_size_limit=4194304");
    if (rc == SQLITE_OK && k == KIND_FRESH) rc = create_schema(d);
    if (rc == SQLITE_OK && sqlite3_db_readonly(d->handle, "main") == 0) {
      /* Proves that the folder can be written, which WAL needs. */
      rc = exec_patiently(d, "BEGIN IMMEDIATE");
      if (rc == SQLITE_OK) rc = exec(d, "COMMIT");
      if (rc == SQLITE_OK) return d->state = DB_ON, true;
    }
    bool by_header = rc == SQLITE_OK && sqlite3_db_readonly(d->handle, "main") == 1 &&
                     access(d->path, W_OK) == 0; /* another format for writers: not ours */
    if (!is_damage(rc) && !by_header) {
      open_reader(d, rc == SQLITE_OK ? "the file or its file system can't be written" : sqlite3_errmsg(d->handle));
      return true;
    }
    k = KIND_FOREIGN;
  }
  if (k == KIND_UNREADABLE) return open_reader(d, sqlite3_errmsg(d->handle)), true;
  shut(d);
  if (k == KIND_NEWER) {
    say(d, "a newer library's file is left alone", d->path);
    side_path(d);
    return false;
  }
  if (set_aside(d)) return false;
  d->state = DB_OFF;
  say(d, "off", "a damaged file could not be set aside");
  return true;
}

static void open_all(db *d) {
  enum { TRIES = 4 };
  d->state = DB_OFF;
  d->checked = false;
  for (int i = 0; i < TRIES; i++)
    if (try_open(d)) return;
  say(d, "off", "the file is damaged each time it is opened");
}

db *db_open(const tsr_allocator *al, const char *path) {
  db *d = make(al, path);
  if (!d) return NULL;
  if (strlen(path) > sizeof d->path - 16) say(d, "off", "the path is too long");
  else open_all(d);
  return d;
}

db *db_open_read_only(const tsr_allocator *al, const char *path) {
  db *d = make(al, path);
  if (!d) return NULL;
  d->no_writes = true;
  if (!refuse_special(d)) open_reader(d, "opened for reading");
  return d;
}

void db_close(db **d) {
  if (!*d) return;
  tsr_allocator al = (*d)->al;
  shut(*d);
  al_delete(&al, *d);
  *d = NULL;
}

static sqlite3_stmt *prepared(db *d, db_statement s, int *rc) {
  *rc = SQLITE_OK;
  if (!d->prepared[s]) {
    sqlite3_stmt *st = NULL;
    *rc = sqlite3_prepare_v3(d->handle, sql[s], -1, SQLITE_PREPARE_PERSISTENT, &st, NULL);
    d->prepared[s] = st;
  }
  return d->prepared[s];
}

static void read_row(sqlite3_stmt *st, db_row *row) {
  row->n = sqlite3_column_count(st);
  if (row->n > DB_MAX_COLUMNS) row->n = DB_MAX_COLUMNS;
  for (int i = 0; i < row->n; i++) {
    bool text = sqlite3_column_type(st, i) == SQLITE_TEXT;
    row->text[i] = text ? (const char *)sqlite3_column_text(st, i) : NULL;
    row->number[i] = text ? 0 : sqlite3_column_double(st, i);
  }
}

static int step_all(db *d, sqlite3_stmt *st, const db_arg *args, int n_args, db_row_fn row, void *user) {
  for (int i = 0; i < n_args; i++) {
    if (args[i].text) sqlite3_bind_text(st, i + 1, args[i].text, -1, SQLITE_STATIC);
    else sqlite3_bind_double(st, i + 1, args[i].number);
  }
  int rc;
  while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
    db_row r;
    if (!row) continue;
    read_row(st, &r);
    if (row(user, &r)) continue;
    rc = SQLITE_DONE;
    break;
  }
  sqlite3_reset(st);
  sqlite3_clear_bindings(st);
  return rc;
}

/* Damage may lie where a write doesn't look and the next process does: the file is read as a whole before the first
 * write. */
static bool found_unsound(db *d) {
  sqlite3_stmt *st = NULL;
  int rc = sqlite3_prepare_v2(d->handle, sql[DB_CHECK], -1, &st, NULL);
  if (rc == SQLITE_OK) rc = sqlite3_step(st);
  const unsigned char *says = rc == SQLITE_ROW ? sqlite3_column_text(st, 0) : NULL;
  bool unsound = is_damage(rc) || (says && strcmp((const char *)says, "ok"));
  d->checked = says && !unsound;
  sqlite3_finalize(st);
  return unsound;
}

/* What wants no rows writes: where there is damage it is done in the file that takes the damaged one's place. */
bool db_run(db *d, db_statement s, const db_arg *args, int n_args, db_row_fn row, void *user, int *changed) {
  if (changed) *changed = 0;
  for (int tries = row ? 1 : 2; tries > 0; tries--) {
    int rc = SQLITE_CORRUPT;
    if (d->state == DB_OFF || !d->handle) return false;
    bool damage = !row && d->state == DB_ON && !d->checked && found_unsound(d);
    sqlite3_stmt *st = damage ? NULL : prepared(d, s, &rc);
    damage |= !st && (rc & 0xff) == SQLITE_ERROR; /* our statements are right, so the stored schema is not */
    if (st) rc = step_all(d, st, args, n_args, row, user);
    if (rc == SQLITE_DONE) {
      if (changed) *changed = sqlite3_changes(d->handle);
      return true;
    }
    say(d, "not done", damage ? "the file is damaged" : sqlite3_errmsg(d->handle));
    if (!(damage || is_damage(rc)) || d->state != DB_ON) return false;
    shut(d);
    if (set_aside(d)) open_all(d);
    else d->state = DB_OFF;
  }
  return false;
}
#endif
