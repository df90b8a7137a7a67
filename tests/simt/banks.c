/* tests/simt/banks.c - bank conflicts: the shared accesses of the lanes of a warp that belong to one instruction (the
 * k-th time that each lane passes one line) are put together and the most words that fall into one bank are counted,
 * per phase of the access: a phase serves as many lanes as fill all banks once (32 lanes of 4 bytes, 8 of 16; Ampere
 * tuning guide, "Shared memory"). */
#include <stdlib.h>
#include <string.h>

#include "tests/simt/sim.h"

static int phase_degree(const uint32_t *at, int n, int bytes) {
  uint32_t words[64][EMU_MAX_DEGREE];
  uint8_t count[64] = {0};
  int degree = 1;
  for (int i = 0; i < n; i++)
    for (uint32_t w = at[i] / 4; w <= (at[i] + (uint32_t)bytes - 1) / 4; w++) {
      unsigned bank = w % (unsigned)S.banks;
      int k = 0;
      while (k < count[bank] && words[bank][k] != w) k++;
      if (k < count[bank] || k == EMU_MAX_DEGREE) continue;
      words[bank][count[bank]++] = w;
      if (count[bank] > degree) degree = count[bank];
    }
  return degree;
}

static bool is_site(const emu_site *s, int line, int bytes, bool write) {
  return s->line == line && s->bytes == bytes && s->write == write;
}

void banks_count(int line, int bytes, bool write, const uint32_t *at, int n) {
  int lanes = S.banks * 4 / (bytes < 4 ? 4 : bytes), degree = 1;
  if (lanes < 1) lanes = 1;
  for (int i = 0; i < n; i += lanes) {
    int d = phase_degree(at + i, n - i < lanes ? n - i : lanes, bytes);
    if (d > degree) degree = d;
  }
  emu_report *r = S.report;
  int k = S.last_site + 1; /* the next line's, the same again, or any */
  if (k >= r->n_sites || !is_site(&r->sites[k], line, bytes, write)) k = S.last_site;
  if (k >= r->n_sites || !is_site(&r->sites[k], line, bytes, write)) k = 0;
  while (k < r->n_sites && !is_site(&r->sites[k], line, bytes, write)) k++;
  if (k == EMU_MAX_SITES) return;
  S.last_site = k;
  if (k == r->n_sites) r->sites[r->n_sites++] = (emu_site){.line = line, .bytes = bytes, .write = write};
  r->sites[k].n++;
  r->sites[k].degree[degree]++;
}

void banks_log(sim_thread *t, uint32_t at, int bytes, bool write, int line) {
  if (!line) return; /* the compiler's own accesses aren't sites */
  if (t->n_log == SIM_LOG) banks_flush(t->warp);
  t->log[t->n_log++] = (shared_access){line, bytes, at, write};
}

static bool same_site(const shared_access *a, const shared_access *b) {
  return a->line == b->line && a->bytes == b->bytes && a->write == b->write;
}

/* Did all lanes that did anything do the same? Then the i-th records belong together. */
static bool uniform(const sim_warp *w, const sim_thread *first) {
  for (int l = 0; l < w->n_lanes; l++) {
    const sim_thread *t = w->lanes[l];
    if (!t->n_log) continue;
    if (t->n_log != first->n_log) return false;
    for (int i = 0; i < t->n_log; i++)
      if (!same_site(&t->log[i], &first->log[i])) return false;
  }
  return true;
}

/* The slow way: pairs up the k-th records of each site. */
static void flush_mixed(sim_warp *w) {
  static bool used[SIM_MAX_WARP][SIM_LOG];
  memset(used, 0, sizeof used);
  for (int l = 0; l < w->n_lanes; l++)
    for (int i = 0; i < w->lanes[l]->n_log; i++) {
      if (used[l][i]) continue;
      uint32_t at[SIM_MAX_WARP];
      int n = 0;
      const shared_access *a = &w->lanes[l]->log[i];
      for (int m = l; m < w->n_lanes; m++)
        for (int j = 0; j < w->lanes[m]->n_log; j++)
          if (!used[m][j] && same_site(&w->lanes[m]->log[j], a)) {
            used[m][j] = true;
            at[n++] = w->lanes[m]->log[j].at;
            break;
          }
      banks_count(a->line, a->bytes, a->write, at, n);
    }
}

void banks_flush(sim_warp *w) {
  const sim_thread *first = NULL;
  for (int l = 0; l < w->n_lanes && !first; l++)
    if (w->lanes[l]->n_log) first = w->lanes[l];
  if (!first) return;
  if (uniform(w, first)) {
    for (int i = 0; i < first->n_log; i++) {
      uint32_t at[SIM_MAX_WARP];
      int n = 0;
      for (int l = 0; l < w->n_lanes; l++)
        if (w->lanes[l]->n_log) at[n++] = w->lanes[l]->log[i].at;
      banks_count(first->log[i].line, first->log[i].bytes, first->log[i].write, at, n);
    }
  } else {
    flush_mixed(w);
  }
  for (int l = 0; l < w->n_lanes; l++) w->lanes[l]->n_log = 0;
}
