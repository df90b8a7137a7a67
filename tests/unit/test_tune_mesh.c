/* One decision of the tuner for all ranks of a mesh, with a pretended device. */
#include "tests/unit/tune_pretend.h"

#include <pthread.h>

typedef struct wire {
  unsigned char data[512];
  bool sending;
} wire;
static tsr_status broadcast(void *user, void *data, size_t bytes) {
  wire *w = user;
  assert_true(bytes <= sizeof w->data);
  if (w->sending) memcpy(w->data, data, bytes);
  else memcpy(data, w->data, bytes);
  return NULL;
}
static void mesh_takes_one_decision(void **state) {
  pretend p = {.drift = 1}, q = {.drift = 1, .wrong_m = 128}; /* the second rank would have chosen otherwise */
  tune_target tp = target_of(&p), tq = target_of(&q);
  wire w = {.sending = true};
  tune_agree zero = {0, broadcast, &w}, one = {1, broadcast, &w};
  tuner_desc d0 = desc_of(&tp, NULL), d1 = desc_of(&tq, NULL);
  d0.agree = &zero, d1.agree = &one;
  tuner_result r0, r1;
  assert_null(tuner_run(&d0, &r0));
  w.sending = false;
  assert_null(tuner_run(&d1, &r1));
  assert_memory_equal(&r0.config, &r1.config, sizeof r0.config);
  assert_true(r1.source == TUNE_FROM_RANK0 && q.prepared == 0);
  w.sending = true;
  p.die_after = 1, p.runs = 1;
  tsr_status st = tuner_run(&d0, &r0);
  assert_int_equal(tsr_status_code(st), TSR_DEVICE_LOST);
  tsr_status_free(st);
  w.sending = false;
  st = tuner_run(&d1, &r1); /* the failure reaches all */
  assert_int_equal(tsr_status_code(st), TSR_DEVICE_LOST);
  tsr_status_free(st);
}

/* Four ranks at once, each a thread with a broadcast of its own: everyone waits until rank 0's bytes are there. */
typedef struct fabric {
  pthread_mutex_t lock;
  pthread_cond_t arrived;
  unsigned char data[512];
  int calls;
  bool sent;
} fabric;
typedef struct rank {
  fabric *f;
  int index;
  pretend p;
  tuner_result r;
  tsr_code code;
} rank;
static tsr_status fabric_broadcast(void *user, void *data, size_t bytes) {
  rank *k = user;
  fabric *f = k->f;
  pthread_mutex_lock(&f->lock);
  f->calls++;
  if (k->index == 0) {
    memcpy(f->data, data, bytes);
    f->sent = true;
    pthread_cond_broadcast(&f->arrived);
  }
  while (!f->sent) pthread_cond_wait(&f->arrived, &f->lock);
  memcpy(data, f->data, bytes);
  pthread_mutex_unlock(&f->lock);
  return NULL;
}
static void *run_rank(void *user) {
  rank *k = user;
  tune_target t = target_of(&k->p);
  tune_agree agree = {k->index, fabric_broadcast, k};
  tuner_desc d = desc_of(&t, NULL);
  d.agree = &agree;
  tsr_status st = tuner_run(&d, &k->r);
  k->code = tsr_status_code(st);
  tsr_status_free(st);
  return NULL;
}
static void four_ranks_take_rank_0s_decision(void **state) {
  enum { RANKS = 4 };
  fabric f = {.lock = PTHREAD_MUTEX_INITIALIZER, .arrived = PTHREAD_COND_INITIALIZER};
  rank k[RANKS] = {{0}};
  pthread_t t[RANKS];
  for (int i = RANKS - 1; i >= 0; i--) {
    k[i] = (rank){.f = &f, .index = i, .p = {.drift = 1, .wrong_m = i ? 128 : 0}};
    assert_int_equal(pthread_create(&t[i], NULL, run_rank, &k[i]), 0);
  }
  for (int i = 0; i < RANKS; i++) pthread_join(t[i], NULL);
  assert_int_equal(f.calls, RANKS);
  assert_true(k[0].r.source == TUNE_FROM_SEARCH && k[0].p.prepared > 8);
  for (int i = 1; i < RANKS; i++) {
    assert_true(k[i].code == TSR_OK && k[i].r.source == TUNE_FROM_RANK0 && k[i].p.prepared == 0 &&
                k[i].r.measurements == 0);
    assert_memory_equal(&k[0].r.config, &k[i].r.config, sizeof k[i].r.config);
    assert_memory_equal(&k[0].r.runner_up, &k[i].r.runner_up, sizeof k[i].r.runner_up);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      CASE(mesh_takes_one_decision),
      CASE(four_ranks_take_rank_0s_decision),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
