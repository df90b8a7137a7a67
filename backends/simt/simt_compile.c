/* backends/simt/simt_compile.c - source text to binary by NVRTC or hipRTC, and what the compiler tells about the
 * result. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/simt/simt.h"

void simt_code_free(const be_env *env, simt_code *c) {
  if (c->code) al_free(env->al, c->code, c->bytes, 16);
  if (c->log) al_free(env->al, c->log, strlen(c->log) + 1, 16);
  *c = (simt_code){0};
}

enum { RTC_OUT_OF_MEMORY = 1, RTC_INVALID_OPTION = 5 }; /* the same numbers in NVRTC and hipRTC */

static char *copy_text(const be_env *env, const char *s, size_t n) {
  char *p = al_alloc(env->al, n + 1, 16);
  if (p) memcpy(p, s, n), p[n] = 0;
  return p;
}

static char *read_log(const be_env *env, const simt_rtc *rtc, void *program) {
  size_t n = 0;
  if (rtc->log_size(program, &n) || !n) return copy_text(env, "", 0);
  char *raw = al_alloc(env->al, n + 1, 16), *s;
  if (!raw) return NULL;
  raw[n] = 0;
  if (rtc->log(program, raw)) raw[0] = 0;
  s = copy_text(env, raw, strlen(raw)); /* the reported size may hold more than the text */
  al_free(env->al, raw, n + 1, 16);
  return s;
}

/* The first line that has "error" in it. */
static int first_error(const char *log, const char **line) {
  const char *e = strstr(log, "error");
  if (!e) return *line = log, (int)strcspn(log, "\n");
  while (e > log && e[-1] != '\n') e--;
  *line = e;
  return (int)strcspn(e, "\n");
}

static tsr_status build(const be_env *env, const simt_dialect *d, const simt_rtc *rtc, const char *arch,
                        const char *source, simt_code *out) {
  const char *options[8];
  char buf[256];
  void *program = NULL;
  tsr_status st = NULL;
  int n = d->options(arch, buf, options), code = rtc->create(&program, source, "tessera", 0, NULL, NULL);
  if (code == RTC_OUT_OF_MEMORY) return st_oom();
  if (code)
    return st_make(env->al, TSR_UNAVAILABLE, ST_WHERE(d->name, "compile", NULL),
                   "the run-time compiler does not start (%d)", code);
  code = rtc->compile(program, n, options);
  out->log = read_log(env, rtc, program);
  if (!out->log || code == RTC_OUT_OF_MEMORY) {
    st = st_oom();
  } else if (code == RTC_INVALID_OPTION) { /* the one that may not fit is the architecture */
    st = st_make(env->al, TSR_ARCH_MISMATCH, ST_WHERE(d->name, "compile", "update the run-time compiler"),
                 "the run-time compiler does not know %s", arch);
  } else if (code) {
    const char *line;
    int len = first_error(out->log, &line);
    st = st_make(env->al, TSR_INTERNAL, ST_WHERE(d->name, "compile", NULL),
                 "the run-time compiler refuses the source for %s (%d): %.*s", arch, code, len > 300 ? 300 : len, line);
  } else if (rtc->code_size(program, &out->bytes) || !out->bytes || !(out->code = al_alloc(env->al, out->bytes, 16))) {
    st = out->bytes ? st_oom()
                    : st_make(env->al, TSR_INTERNAL, ST_WHERE(d->name, "compile", NULL),
                              "the run-time compiler made no code for %s", arch);
  } else if (rtc->code(program, out->code)) {
    st = st_make(env->al, TSR_INTERNAL, ST_WHERE(d->name, "compile", NULL), "the code can't be read back");
  }
  rtc->destroy(&program);
  return st;
}

tsr_status simt_compile_source(const be_env *env, const simt_dialect *d, const char *arch, const char *source,
                               simt_code *out) {
  simt_rtc rtc;
  int major = 0, minor = 0;
  char compiler[48];
  *out = (simt_code){0};
  TSR_TRY(simt_load_rtc(env, d, &rtc));
  rtc.version(&major, &minor);
  snprintf(compiler, sizeof compiler, "%s %d.%d", d->name, major, minor);
  tsr_status st = NULL;
  if (!simt_cache_get(env, arch, compiler, source, out)) {
    st = build(env, d, &rtc, arch, source, out);
    if (!st) simt_cache_put(env, arch, compiler, source, out);
  }
  /* The library stays loaded: it keeps threads and caches of its own that don't survive being unloaded. */
  if (st) {
    if (out->code) al_free(env->al, out->code, out->bytes, 16);
    out->code = NULL;
    out->bytes = 0;
    simt_code_free(env, out);
  }
  return st;
}

/* ---- the log of ptxas -------------------------------------------------------------------------------------------- */

void simt_log_stats(const char *log, const char *kernel, be_kernel_stats *out) {
  char want[320];
  *out = (be_kernel_stats){-1, -1, -1, -1, false, -1};
  snprintf(want, sizeof want, "entry function '%.250s'", kernel);
  const char *at = strstr(log, want);
  if (!at) return;
  const char *end = strstr(at + 1, "Compiling entry function"), *p, *q;
  size_t n = end ? (size_t)(end - at) : strlen(at);
  int spill_out = 0, spill_in = 0;
  if ((p = strstr(at, "bytes stack frame")) && (size_t)(p - at) < n) {
    for (q = p - 1; q > at && (q[-1] == ' ' || (q[-1] >= '0' && q[-1] <= '9')); q--) continue;
    out->scratch_bytes = atoi(q);
    if (sscanf(p, "bytes stack frame, %d bytes spill stores, %d bytes spill loads", &spill_out, &spill_in) == 2)
      out->spill_bytes = spill_out + spill_in;
  }
  if ((p = strstr(at, "Used ")) && (size_t)(p - at) < n) out->registers = atoi(p + 5);
  if ((p = strstr(at, " bytes smem")) && (size_t)(p - at) < n) {
    for (q = p; q > at && q[-1] >= '0' && q[-1] <= '9'; q--) continue;
    out->shared_bytes = atoi(q);
  }
  /* The warning stands before or among the lines of its kernel and names it. */
  for (p = strstr(log, "serialized"); p; p = strstr(p + 1, "serialized")) {
    const char *line = p;
    while (line > log && line[-1] != '\n') line--;
    char text[512];
    snprintf(text, sizeof text, "%.*s", (int)strcspn(line, "\n"), line);
    if (strchr(text, '\'') ? strstr(text, kernel) != NULL : p > at && (size_t)(p - at) < n) out->serialized = true;
  }
}

/* ---- the notes of an AMD code object ----------------------------------------------------------------------------- */

/* MessagePack integers up to 64 bits; -1 if it is none. */
static int64_t pack_int(const uint8_t *p, const uint8_t *end) {
  if (p >= end) return -1;
  if (*p < 0x80) return *p;
  int bytes = *p >= 0xcc && *p <= 0xcf ? 1 << (*p - 0xcc) : 0;
  int64_t v = 0;
  if (!bytes || end - p <= bytes) return -1;
  for (int i = 1; i <= bytes; i++) v = v << 8 | p[i];
  return v;
}

static const uint8_t *find(const uint8_t *p, const uint8_t *end, const char *key) {
  size_t n = strlen(key);
  for (; p + n <= end; p++)
    if (!memcmp(p, key, n)) return p + n;
  return NULL;
}

/* A kernel's entry is a map with sorted keys: everything up to the next .agpr_count or .args belongs to it; ".name" in
 * its midst. */
void simt_object_stats(const void *code, size_t bytes, const char *kernel, be_kernel_stats *out) {
  const uint8_t *p = code, *end = p + bytes, *k, *v;
  char name[300];
  *out = (be_kernel_stats){-1, -1, -1, -1, false, -1};
  size_t n = strlen(kernel);
  if (n > 31 && n < 256) snprintf(name, sizeof name, ".name%c%c%.255s", (char)0xd9, (char)n, kernel);
  else snprintf(name, sizeof name, ".name%c%.31s", (char)(0xa0 | n), kernel);
  if (!(k = find(p, end, name))) return;
  struct { const char *key; int *to; bool before; } fields[] = {
      {".vgpr_count", &out->registers, false}, {".vgpr_spill_count", &out->spill_bytes, false}, {".private_segment_fixed_size", &out->scratch_bytes, false},
      {".group_segment_fixed_size", &out->shared_bytes, true}};
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
    const uint8_t *from = k;
    if (fields[i].before) { /* the last one before the name */
      const uint8_t *x = p;
      from = NULL;
      while ((x = find(x, k, fields[i].key))) from = x;
      v = from;
    } else {
      v = find(from, end, fields[i].key);
    }
    if (v) *fields[i].to = (int)pack_int(v, end);
  }
  if (out->spill_bytes > 0) out->spill_bytes *= 4; /* counted in registers */
}
