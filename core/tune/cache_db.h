/* core/tune/cache_db.h - one database file of the tuning cache: opening, schema, quarantine, prepared statements. The
 * only file that knows SQLite; built without it, db_open says "off" and nothing else is called. Internal to the cache.
 * Invariant: nothing here fails the caller's work. A damaged or foreign file is set aside and a new one begun; what
 * can't be written is counted. Not thread-safe: cache.c holds a lock. */
#ifndef CORE_TUNE_CACHE_DB_H
#define CORE_TUNE_CACHE_DB_H
#include "core/base/status.h"

enum { DB_SCHEMA = 1, DB_MAX_COLUMNS = 24 };

typedef enum db_statement {
  DB_LOOKUP, DB_STORE_NEW, DB_STORE_REPLACE, DB_DELETE, DB_NEIGHBOURS, DB_ALL, DB_CLEAR, DB_SWAP,
  DB_TRIAL_ADD, DB_TRIALS, DB_TRIALS_CLEAR, DB_TRIALS_DELETE,
  DB_DEVICE_GET, DB_DEVICE_SET, DB_DEVICES_CLEAR, DB_COUNT, DB_CHECK, DB_BEGIN, DB_COMMIT, DB_ROLLBACK,
  DB_N_STATEMENTS
} db_statement;

typedef enum db_state { DB_OFF, DB_READ_ONLY, DB_ON } db_state;

typedef struct db db;

/* One row of a result; text is NULL for numbers and NULLs, number 0 for text. Valid during the callback. */
typedef struct db_row {
  int n;
  const char *text[DB_MAX_COLUMNS];
  double number[DB_MAX_COLUMNS];
} db_row;
typedef bool (*db_row_fn)(void *user, const db_row *row); /* false stops */

/* NULL only when out of memory. `path` ends in .sqlite. */
db *db_open(const tsr_allocator *al, const char *path);
/* Opens without ever writing: for merging from a file. */
db *db_open_read_only(const tsr_allocator *al, const char *path);
bool db_in_build(void);
/* Switched off, or built without SQLite: there is no file. */
bool db_is_none(const db *d);
/* One that is off from the start, with the reason. */
db *db_none(const tsr_allocator *al, const char *why);
void db_close(db **d);
db_state db_state_of(const db *d);
/* Why it is off, or read-only, or what was set aside last; "" when all is well. */
const char *db_why(const db *d);
int db_quarantined(const db *d);
/* The file in use: a side file when the named one is a newer library's. */
const char *db_path(const db *d);

/* One argument of a statement: text when not NULL, else the number. */
typedef struct db_arg {
  const char *text;
  double number;
} db_arg;

/* Runs a statement; `row` may be NULL. False: nothing was done (busy, full, read-only, damaged); why it was is in
 * db_why. Damage found on the way sets the file aside and begins a new one. *changed, if not NULL: rows written. */
bool db_run(db *d, db_statement s, const db_arg *args, int n_args, db_row_fn row, void *user, int *changed);
#define db_do(d, s, ...)                                                                                    \
  db_run(d, s, (const db_arg[]){__VA_ARGS__}, (int)(sizeof((const db_arg[]){__VA_ARGS__}) / sizeof(db_arg)), \
         NULL, NULL, NULL)
#endif
