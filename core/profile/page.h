/* core/profile/page.h - the benchmark as one self-contained HTML page: per device a roofline with every kernel on it,
 * the table with the peers' ratios and the correctness column, and tuning curves. No script, no font, no network:
 * inline SVG and CSS. */
#ifndef CORE_PROFILE_PAGE_H
#define CORE_PROFILE_PAGE_H
#include "core/profile/page_data.h"

TSR_MUST_USE tsr_status page_write(const page_desc *p, strb *out);
#endif
