/* core/base/status.c - see status.h and tessera/base.h. A record is one allocation: header, then its strings. */
#include "core/base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/number.h"
#include "core/base/utf8.h"

struct tsr_status_rec {
  tsr_code code;
  tsr_allocator al;
  size_t bytes; /* 0: static record */
  const char *message, *level, *op, *cause, *hint;
};

static struct tsr_status_rec oom_record = {TSR_OUT_OF_MEMORY, {0}, 0, "out of memory", "", "", "out of memory", ""};

tsr_status st_oom(void) { return &oom_record; }

static const char *put(char **at, const char *s) {
  size_t n = strlen(s) + 1;
  char *p = *at;
  memcpy(p, s, n);
  *at += n;
  return p;
}

tsr_status st_make(const tsr_allocator *al, tsr_code code, st_where w, const char *fmt, ...) {
  char cause[1024];
  va_list ap;
  va_start(ap, fmt);
  number_vprint(cause, sizeof cause, fmt, ap);
  va_end(ap);
  for (char *p = cause; *p;) { /* quoted text of users and files must not break the one line, nor be no text */
    const int n = utf8_length(p, 4);
    if (n && (unsigned char)*p >= 0x20 && *p != 0x7f) p += n;
    else *p++ = '?';
  }
  const char *level = w.level ? w.level : "", *op = w.op ? w.op : "", *hint = w.hint ? w.hint : "";
  size_t l = strlen(level), o = strlen(op), c = strlen(cause), h = strlen(hint);
  size_t bytes = sizeof(struct tsr_status_rec) + 2 * (l + o + c + h) + 32;
  struct tsr_status_rec *s = al_alloc(al, bytes, 16);
  if (!s) return &oom_record;
  s->code = code;
  s->al = al && al->alloc ? *al : al_default;
  s->bytes = bytes;
  char *at = (char *)(s + 1);
  s->level = put(&at, level);
  s->op = put(&at, op);
  s->cause = put(&at, cause);
  s->hint = put(&at, hint);
  s->message = at;
  if (l) at += sprintf(at, "[%s] ", level);
  if (o) at += sprintf(at, "%s: ", op);
  at += sprintf(at, "%s", cause);
  if (h) sprintf(at, " (%s)", hint);
  return s;
}

tsr_code st_take_code(tsr_status s) {
  tsr_code c = tsr_status_code(s);
  tsr_status_free(s);
  return c;
}

tsr_code tsr_status_code(tsr_status s) { return s ? s->code : TSR_OK; }
const char *tsr_status_message(tsr_status s) { return s ? s->message : "ok"; }
const char *tsr_status_level(tsr_status s) { return s ? s->level : ""; }
const char *tsr_status_op(tsr_status s) { return s ? s->op : ""; }
const char *tsr_status_cause(tsr_status s) { return s ? s->cause : ""; }
const char *tsr_status_hint(tsr_status s) { return s ? s->hint : ""; }

void tsr_status_free(tsr_status s) {
  if (!s || !s->bytes) return;
  tsr_allocator al = s->al;
  al_free(&al, s, s->bytes, 16);
}

const char *tsr_code_name(tsr_code c) {
  static const char *const names[] = {
      [TSR_OK] = "ok",
      [TSR_INVALID_ARGUMENT] = "invalid argument",
      [TSR_SHAPE_MISMATCH] = "shape mismatch",
      [TSR_PARSE_ERROR] = "parse error",
      [TSR_VERIFY_ERROR] = "verify error",
      [TSR_UNSUPPORTED] = "unsupported",
      [TSR_UNAVAILABLE] = "unavailable",
      [TSR_OUT_OF_MEMORY] = "out of memory",
      [TSR_LAUNCH_FAILED] = "launch failed",
      [TSR_DEVICE_LOST] = "device lost",
      [TSR_TIMEOUT] = "timeout",
      [TSR_IO_ERROR] = "i/o error",
      [TSR_NOT_FOUND] = "not found",
      [TSR_ARCH_MISMATCH] = "architecture mismatch",
      [TSR_ABI_MISMATCH] = "ABI mismatch",
      [TSR_CACHE_CORRUPT] = "cache corrupt",
      [TSR_COLLECTIVE_MISMATCH] = "collective mismatch",
      [TSR_DETERMINISM_VIOLATION] = "determinism violation",
      [TSR_CANCELLED] = "cancelled",
      [TSR_INTERNAL] = "internal error",
  };
  return (unsigned)c < sizeof names / sizeof *names && names[c] ? names[c] : "unknown";
}

uint32_t tsr_abi_version(void) { return TSR_ABI_VERSION; }
