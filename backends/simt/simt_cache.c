/* backends/simt/simt_cache.c - compiled binaries between runs, in the store of core/base/blob.h, named by everything
 * they were made from. An entry is the length of the compiler's log, the log, the code. */
#include <string.h>

#include "backends/simt/simt.h"
#include "core/base/blob.h"

static blob_store *open_store(const be_env *env, const char *arch, const char *compiler, const char *source,
                              char id[65]) {
  blob_store *s = NULL;
  if (!env->cache_dir) return NULL;
  blob_id((blob_part[]){{"simt 1", 6}, {arch, strlen(arch)}, {compiler, strlen(compiler)}, {source, strlen(source)}}, 4,
          id);
  tsr_status_free(blob_open(env->al, env->cache_dir, 0, &s));
  if (s && blob_why(s)[0]) env->log(env->log_user, 2, blob_why(s));
  return s;
}

/* Takes an entry apart into memory of its own. */
static bool unpack(const be_env *env, const char *p, size_t n, simt_code *out) {
  uint64_t n_log;
  if (n < sizeof n_log) return false;
  memcpy(&n_log, p, sizeof n_log);
  if (n_log > n - sizeof n_log) return false;
  out->bytes = n - sizeof n_log - (size_t)n_log;
  out->code = al_alloc(env->al, out->bytes ? out->bytes : 1, 16);
  out->log = al_alloc(env->al, (size_t)n_log + 1, 16);
  if (!out->code || !out->log) {
    if (out->code) al_free(env->al, out->code, out->bytes ? out->bytes : 1, 16);
    if (out->log) al_free(env->al, out->log, (size_t)n_log + 1, 16);
    return false;
  }
  memcpy(out->log, p + sizeof n_log, (size_t)n_log);
  out->log[n_log] = 0;
  memcpy(out->code, p + sizeof n_log + n_log, out->bytes);
  return true;
}

bool simt_cache_get(const be_env *env, const char *arch, const char *compiler, const char *source, simt_code *out) {
  char id[65];
  void *p;
  size_t n;
  *out = (simt_code){0};
  blob_store *s = open_store(env, arch, compiler, source, id);
  if (!s) return false;
  bool ok = blob_get(s, id, &p, &n);
  if (ok) {
    ok = unpack(env, p, n, out);
    if (!ok) *out = (simt_code){0};
    al_free(env->al, p, n, 16);
  }
  blob_close(&s);
  return ok;
}

void simt_cache_put(const be_env *env, const char *arch, const char *compiler, const char *source, const simt_code *c) {
  char id[65];
  if (!env->cache_dir || !c->code) return;
  uint64_t n_log = strlen(c->log);
  size_t n = sizeof n_log + (size_t)n_log + c->bytes;
  char *p = al_alloc(env->al, n, 16);
  if (!p) return;
  memcpy(p, &n_log, sizeof n_log);
  memcpy(p + sizeof n_log, c->log, (size_t)n_log);
  memcpy(p + sizeof n_log + n_log, c->code, c->bytes);
  blob_store *s = open_store(env, arch, compiler, source, id);
  if (s) blob_put(s, id, p, n);
  blob_close(&s);
  al_free(env->al, p, n, 16);
}
