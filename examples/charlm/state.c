/* examples/charlm/state.c - a trainer's state as bytes of the host, of one device, and in parts, of a mesh. */
#include <string.h>

#include "train.h"

static int64_t n_own(const trainer *t) {
  int64_t n = 0;
  for (int i = 0; i < t->m.n; i++) n += t->m.p[i].n;
  return n;
}

int64_t trainer_n_parameters(const trainer *t) {
  int64_t n = 0;
  for (; t; t = t->next) n += n_own(t);
  return n;
}

enum { PROGRAMS = 6 };
static void list_programs(const trainer *t, const program *all[PROGRAMS]) {
  const program *const list[PROGRAMS] = {&t->forward, &t->input_gradient, &t->gradients,
                                         &t->add,     &t->squares,        &t->update};
  memcpy(all, list, sizeof list);
}

void trainer_describe(const trainer *t, char *text, size_t cap) {
  const program *all[PROGRAMS];
  int kernels = 0, collectives = 0;
  for (const trainer *k = t; k; k = k->next) {
    list_programs(k, all);
    for (int i = 0; i < PROGRAMS; i++) {
      if (all[i]->one) kernels += tsr_program_n_kernels(all[i]->one);
      if (all[i]->spread) collectives += tsr_dist_program_n_collectives(all[i]->spread);
    }
  }
  if (!t->at->mesh) snprintf(text, cap, "%d kernels", kernels);
  else snprintf(text, cap, "%lld ranks, %d collectives", (long long)place_ranks(t->stage), collectives);
}

int64_t trainer_sent(const trainer *t) {
  const program *all[PROGRAMS];
  int64_t bytes = 0;
  for (; t; t = t->next) {
    list_programs(t, all);
    for (int i = 0; i < PROGRAMS; i++) bytes += tsr_dist_program_sent(all[i]->spread);
  }
  return bytes;
}

/* Values of a triangular distribution about 0 of standard deviation `spread`: exact in C, so the same everywhere. */
void trainer_first_values(const trainer *t, float *state) {
  for (int i = 0; i < t->m.n; i++) {
    const parameter *p = &t->m.p[i];
    for (int64_t k = 0; k < p->n; k++) {
      const uint64_t h = hash((uint64_t)t->c.seed, (uint64_t)p->number + 1, (uint64_t)k);
      const double u = (double)(h >> 40) - (double)(h >> 16 & 0xffffff);
      *state++ = p->ones ? 1 : (float)(u * 0x1p-24 * 2.449489742783178 * p->spread);
    }
  }
  memset(state, 0, (size_t)(2 * n_own(t)) * sizeof *state);
  state += 2 * n_own(t);
  state[0] = t->c.scale > 0 ? t->c.scale : 1;
  state[1] = 0; /* an integer's bits */
}

size_t trainer_state_bytes(const trainer *t) {
  return ((size_t)n_own(t) * STATES + 2) * sizeof(float);
}

void trainer_get_state(const trainer *t, float *out) {
  for (int k = 0; k < STATES; k++)
    for (int i = 0; i < t->m.n; out += t->m.p[i++].n) tensor_read(&t->state[t->now][k][i], out);
  tensor_read(&t->scale[t->now], out);
  tensor_read(&t->held[t->now], out + 1);
}

void trainer_set_state(trainer *t, const float *state) {
  for (int k = 0; k < STATES; k++)
    for (int i = 0; i < t->m.n; state += t->m.p[i++].n) tensor_write(&t->state[t->now][k][i], state);
  tensor_write(&t->scale[t->now], state);
  tensor_write(&t->held[t->now], state + 1);
}

/* What is of a layer: -1 what is of none, which the first and the last stage have; -2 what all stages have. */
static int list_state(const trainer *t, int layer, entry *e) {
  static const char *const prefixes[STATES] = {"", "m.", "v."};
  int n = 0;
  if (layer == -2) {
    e[n++] = (entry){.name = "scale", .dtype = TSR_F32, .t = &t->scale[t->now]};
    e[n++] = (entry){.name = "held", .dtype = TSR_I32, .t = &t->held[t->now]};
  }
  for (int k = 0; k < STATES; k++)
    for (int i = 0; i < t->m.n; i++) {
      if (t->m.p[i].layer != layer) continue;
      e[n] = (entry){.dtype = TSR_F32, .shape = t->m.p[i].shape, .t = &t->state[t->now][k][i]};
      snprintf(e[n++].name, sizeof e->name, "%s%s", prefixes[k], t->m.p[i].name);
    }
  return n;
}

/* The folders are named by what is in them: the embedding and the head, which one stage may have both, by a parameter
 * each. */
static void each_folder(const trainer *t, const char *folder, bool saves) {
  entry e[STATES * MAX_PARAMETERS], some[STATES * MAX_PARAMETERS];
  char path[4096];
  for (int layer = -2; layer < t->c.layers; layer++) {
    const int n = list_state(t, layer, e);
    for (int part = 0; part < (layer == -1 ? 2 : 1); part++) {
      int m = 0;
      for (int i = 0; i < n; i++)
        if (layer != -1 || (strstr(e[i].name, "head") != NULL) == part) some[m++] = e[i];
      snprintf(path, sizeof path, "%s/%d-%d", folder, layer + 2, part);
      if (m && saves && (layer != -2 || stage_is_first(t->at->s))) entries_save(path, some, m);
      if (m && !saves) entries_load(t->at, path, some, m);
    }
  }
}

void trainer_save(const trainer *t, const char *folder) {
  for (; t; t = t->next) each_folder(t, folder, true);
}
void trainer_load(trainer *t, const char *folder) {
  for (; t; t = t->next) each_folder(t, folder, false);
}
const place *trainer_place(const trainer *t) { return t->stage; }
