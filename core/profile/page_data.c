/* core/profile/page_data.c - see page_data.h. */
#include "core/profile/page_data.h"

void page_text(strb *out, const char *s) {
  for (; s && *s; s++) switch (*s) {
    case '<': strb_puts(out, "&lt;"); break;
    case '>': strb_puts(out, "&gt;"); break;
    case '&': strb_puts(out, "&amp;"); break;
    case '"': strb_puts(out, "&quot;"); break;
    default: strb_putc(out, *s);
    }
}
