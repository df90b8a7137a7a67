/* core/profile/page_chart.h - the page's charts as inline SVG: log-log roofline, tuning curve. Internal to page.c. */
#ifndef CORE_PROFILE_PAGE_CHART_H
#define CORE_PROFILE_PAGE_CHART_H
#include "core/profile/page_data.h"

/* Roofs from the device's measured peaks, a dot for each of its rows with work and time; nothing without a bandwidth.
 */
void page_roofline(strb *out, const page_device *d, const page_row *rows, size_t n);
void page_tuning_curve(strb *out, const page_curve *c);
#endif
