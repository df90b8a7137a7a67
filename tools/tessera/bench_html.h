/* tools/tessera/bench_html.h - collects what `tessera bench --html FILE` measured and writes the page. */
#ifndef TOOLS_TESSERA_BENCH_HTML_H
#define TOOLS_TESSERA_BENCH_HTML_H
#include "tools/tessera/bench_env.h"

typedef struct bench_html bench_html;

bench_html *bench_html_new(void);
void bench_html_free(bench_html **h);
void bench_html_device(bench_html *h, const tsr_device_info *d);
void bench_html_row(bench_html *h, const tsr_device_info *d, const bench_case *c, const bench_options *o,
                    const bench_result *x, const bench_peaks *p);
/* A case without figures: `kind` is "unsupported" or "failed". */
void bench_html_none(bench_html *h, const char *device, const bench_case *c, const bench_options *o, const char *kind,
                     const char *why);
/* Tunes the case's graph and keeps its curve; the decision is in the cache afterwards. Cases that can't be named as one
 * op have none. */
void bench_html_tune(bench_html *h, tsr_context *ctx, tsr_device *dev, const bench_case *c,
                     const bench_options *o);
/* Writes the page if there is any row. The exit status, after one line where it isn't 0. */
int bench_html_write(bench_html *h, const bench_env *e, const char *path);
#endif
