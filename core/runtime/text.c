/* core/runtime/text.c - text that leaves the library: lines of the log, and strings that the caller frees. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/runtime/internal.h"

void rt_log(tsr_context *ctx, tsr_log_level level, const char *fmt, ...) {
  char text[1024];
  if (level > ctx->log_level) return;
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  ctx->log(ctx->log_user, level, text);
}

tsr_status rt_text(tsr_context *c, strb *b, char **text) {
  *text = NULL;
  if (strb_ok(b)) {
    /* The size travels in front, for hooks that want it at free. */
    size_t *p = al_alloc(&c->al, 16 + b->n + 1, 16);
    if (p) {
      *p = b->n;
      *text = (char *)p + 16;
      memcpy(*text, strb_text(b), b->n);
      (*text)[b->n] = 0;
    }
  }
  strb_clear(b);
  return *text ? NULL : st_oom();
}

void tsr_text_free(tsr_context *c, char **text) {
  if (!c || !text || !*text) return;
  size_t *p = (size_t *)(void *)(*text - 16);
  al_free(&c->al, p, 16 + *p + 1, 16);
  *text = NULL;
}
