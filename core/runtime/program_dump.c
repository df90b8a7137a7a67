/* core/runtime/program_dump.c - looking into programs: levels, source, binary, what was decided; see
 * tessera/program.h. */
#include <stdlib.h>
#include <string.h>

#include "core/emit/emit.h"
#include "core/ir/schedule/schedule.h"
#include "core/runtime/internal.h"

static tsr_status dump_binary(const tsr_program *p, char **text, size_t *bytes) {
  const void *code = p->desc.code;
  size_t n = p->desc.code_bytes;
  void *made = NULL;
  char *log = NULL;
  tsr_status st = NULL;
  if (p->desc.format == BE_TEXT) {
    if (!p->dev->vt->compile)
      return st_make(&p->ctx->al, TSR_UNSUPPORTED, RT_WHERE("dump", "dump the source level"), "%s has no compiler here",
                     p->dev->info.id);
    TSR_GOTO(p->dev->vt->compile(&p->ctx->env, p->dev->caps.arch, p->desc.code, &made, &n, &log));
    code = made;
  }
  strb b;
  strb_init(&b, &p->ctx->al);
  strb_put(&b, code, n);
  if (bytes) *bytes = n;
  st = rt_text(p->ctx, &b, text);
done:
  if (made) al_free(&p->ctx->al, made, n, 16);
  if (log) al_free(&p->ctx->al, log, strlen(log) + 1, 16);
  return st;
}

tsr_status tsr_program_dump(const tsr_program *p, tsr_level level, char **text, size_t *bytes) {
  RT_OUT("program_dump", text);
  RT_NEED("program_dump", "p", p);
  if (bytes) *bytes = 0;
  TSR_TRY(rt_check_enum(&p->ctx->al, "dump", "level", (int64_t)level, "graph, schedule, tile, target, source, binary"));
  if (level == TSR_LEVEL_BINARY) return dump_binary(p, text, bytes);
  strb b;
  strb_init(&b, &p->ctx->al);
  tsr_status st = NULL;
  if (level == TSR_LEVEL_SOURCE) st = emit_source(p->levels[TSR_LEVEL_TARGET], &p->dev->caps, &b);
  else if (level <= TSR_LEVEL_TARGET && p->levels[level]) ir_print(&b, p->levels[level]);
  else
    st = st_make(&p->ctx->al, TSR_NOT_FOUND, RT_WHERE("dump", NULL), "the program was not lowered through that level");
  if (st) {
    strb_clear(&b);
    return st;
  }
  if (bytes) *bytes = b.n;
  return rt_text(p->ctx, &b, text);
}

/* The launches by name, for programs of many thousands. */
typedef struct launch_index { const tsr_kernel_info **v; int n, next; } launch_index;

static int by_name(const void *a, const void *b) {
  const tsr_kernel_info *x = *(const tsr_kernel_info *const *)a, *y = *(const tsr_kernel_info *const *)b;
  int c = strcmp(x->name, y->name);
  return c ? c : x < y ? -1 : x > y;
}

static bool index_launches(const tsr_program *p, launch_index *x) {
  *x = (launch_index){.v = al_alloc(&p->ctx->al, sizeof *x->v * (size_t)(p->n_launches + 1), 16), .n = p->n_launches};
  if (!x->v) return false;
  for (int i = 0; i < x->n; i++) x->v[i] = &p->kernels[i];
  if (x->n) qsort(x->v, (size_t)x->n, sizeof *x->v, by_name);
  return true;
}

/* The first launch of a kernel. One that equals an earlier kernel is launched under that one's name: it is then the
 * next launch of its family. */
static const tsr_kernel_info *launch_of(const tsr_program *p, launch_index *x, const char *kernel, const char *family) {
  int from = 0, to = x->n;
  while (from < to) {
    int mid = from + (to - from) / 2;
    if (strcmp(x->v[mid]->name, kernel) < 0) from = mid + 1;
    else to = mid;
  }
  if (from < x->n && !strcmp(x->v[from]->name, kernel)) {
    x->next = (int)(x->v[from] - p->kernels) + 1;
    return x->v[from];
  }
  for (int i = x->next; i < x->n && i < x->next + 4; i++)
    if (!strcmp(p->kernels[i].family, family)) return x->next = i + 1, &p->kernels[i];
  return NULL;
}

/* Where the schedule leaves the tile to the device, the one that it took. */
static void print_schedule(strb *b, const tsr_kernel_info *k, sched_params p) {
  if (!p.m && !p.n && !p.k && k) p.m = k->tile[0], p.n = k->tile[1], p.k = k->tile[2];
  if (p.m || p.n || p.k) {
    p.n = p.n ? p.n : 1, p.k = p.k ? p.k : 1;
    sched_print(b, &p);
  } else {
    strb_puts(b, "of the device's own");
  }
  if (k && *k->original) strb_printf(b, " (asked for, or in the table: %s)", k->original);
}

/* Time and growth of memory of each pass that ran. */
static void print_costs(strb *b, const pass_cost *costs) {
  size_t n;
  const pass_row *r = pipeline_rows(&n);
  for (size_t i = 0; costs && i < n; i++) {
    if (!costs[i].ran) continue;
    strb_printf(b, "pass %s: %.1f us", r[i].name, costs[i].ns / 1e3);
    if (!r[i].verifies && costs[i].verify_ns > 1000) strb_printf(b, ", verifier %.1f us", costs[i].verify_ns / 1e3);
    strb_printf(b, ", %zu bytes\n", costs[i].bytes);
  }
}

tsr_status tsr_program_explain(const tsr_program *p, char **text) {
  RT_OUT("program_explain", text);
  RT_NEED("program_explain", "p", p);
  strb b;
  strb_init(&b, &p->ctx->al);
  strb_printf(&b, "device %s, policy %s, %d kernel(s), workspace %zu bytes\n", p->dev->info.id,
              tsr_policy_name(p->policy), p->n_launches, p->workspace_bytes);
  trace_print(&b, &p->trace);
  const ir_module *s = p->levels[TSR_LEVEL_SCHEDULE];
  launch_index index;
  if (!index_launches(p, &index)) return strb_clear(&b), st_oom();
  for (const ir_op *o = s && s->root->regions[0]->first ? s->root->regions[0]->first->regions[0]->first : NULL; o;
       o = o->next) {
    if (o->def->level != IR_SCHEDULE || o->def->code != S_KERNEL) continue;
    sched_params params;
    sched_read(o, &params);
    strb_printf(&b, "kernel %s: family %s, fused by %s, schedule ", ir_get_str(o, "sym_name", ""),
                ir_get_str(o, "family", ""), *ir_get_str(o, "fused", "") ? ir_get_str(o, "fused", "") : "nothing");
    print_schedule(&b, launch_of(p, &index, ir_get_str(o, "sym_name", ""), ir_get_str(o, "family", "")), params);
    strb_putc(&b, '\n');
  }
  al_free(&p->ctx->al, index.v, sizeof *index.v * (size_t)(p->n_launches + 1), 16);
  print_costs(&b, p->costs);
  return rt_text(p->ctx, &b, text);
}

tsr_status tsr_program_dump_after(const tsr_program *p, char **text) {
  RT_OUT("program_dump_after", text);
  RT_NEED("program_dump_after", "p", p);
  if (!p->kept_after)
    return st_make(&p->ctx->al, TSR_NOT_FOUND, RT_WHERE("program_dump_after", "tsr_compile_options.keep_after"),
                   "the program was compiled without a pass to keep, or its text begins behind that pass");
  strb b;
  strb_init(&b, &p->ctx->al);
  strb_puts(&b, p->kept_after);
  return rt_text(p->ctx, &b, text);
}
