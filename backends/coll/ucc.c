/* backends/coll/ucc.c - collectives by UCC on host memory. UCC works only while it is asked to go on, so that a call is
 * begun, gone on with and over here; it has no way to end a call that waits for a dead rank: such an engine isn't used
 * again, nor taken apart. Its ranks find each other through the team that the engine is opened on. */
#include "backends/coll/ucc.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "backends/coll/transports.h"
#include "core/base/clock.h"
#include "core/coll/state.h"

struct coll_engine {
  tsr_allocator al;
  const ucc_api *api;
  coll_oob oob;
  ucc_handle lib, context, team;
  int32_t rank, n_ranks;
  bool stopped;         /* then request and copy stay: another rank may still reach for them */
  coll_engine *next;    /* of those that were given up */
  ucc_request *request; /* of the call under way */
  void *copy;           /* of its input, where input and result overlap */
  size_t copy_bytes;
  uint64_t *counts; /* 4 for each rank */
  char last[COLL_CALL_TEXT];
};

static st_where here(void) { return ST_WHERE("collective", "ucc", NULL); }

static int64_t until(int64_t deadline_ms) { return clock_ns() + (deadline_ms ? deadline_ms : 30000) * 1000000; }

static tsr_status error(const coll_engine *e, const char *what, int rc) {
  return st_make(&e->al, rc == UCC_ERR_NOT_SUPPORTED ? TSR_UNSUPPORTED : TSR_LAUNCH_FAILED, here(), "rank %d: %s: %s",
                 e->rank, what, e->api->text(rc));
}

/* ---- how its ranks find each other ------------------------------------------------------------------------------- */

typedef struct asked {
  const coll_oob *oob;
  void *request;
} asked;

static int oob_start(void *mine, void *all, size_t each, void *info, void **request) {
  coll_engine *e = info;
  asked *a = al_new(&e->al, asked);
  if (!a) return UCC_ERR_NO_MESSAGE;
  a->oob = &e->oob;
  tsr_status st = e->oob.start(e->oob.user, mine, each, all, &a->request);
  if (st) {
    tsr_status_free(st);
    al_delete(&e->al, a);
    return UCC_ERR_NO_MESSAGE;
  }
  *request = a;
  return UCC_OK;
}

static int oob_test(void *request) {
  asked *a = request;
  if (!a->request) return UCC_OK;
  if (!a->oob->is_done(a->request)) return sched_yield(), UCC_INPROGRESS;
  tsr_status st = a->oob->end(&a->request);
  if (!st) return UCC_OK;
  tsr_status_free(st);
  return UCC_ERR_NO_MESSAGE;
}

static int oob_free(void *request) {
  asked *a = request;
  if (a->request) tsr_status_free(a->oob->end(&a->request));
  coll_engine *e = (coll_engine *)(void *)((char *)(void *)a->oob - offsetof(coll_engine, oob));
  al_delete(&e->al, a);
  return UCC_OK;
}

/* Its first start reads settings that are the process's: ranks that are threads come one by one. */
static tsr_status start_library(coll_engine *e) {
  static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
  const ucc_api *u = e->api;
  const ucc_lib_params lib = {.mask = UCC_LIB_THREAD_MODE, .thread_mode = UCC_THREAD_MULTIPLE};
  ucc_handle config;
  pthread_mutex_lock(&turn);
  int rc = u->lib_config(NULL, NULL, &config);
  if (!rc) {
    rc = u->init(UCC_API_MAJOR, UCC_API_MINOR, &lib, config, &e->lib);
    u->lib_config_end(config);
    if (rc) e->lib = NULL;
  }
  pthread_mutex_unlock(&turn);
  return rc ? error(e, "its start", rc) : NULL;
}

static tsr_status begin(coll_engine *e, int64_t deadline_ms) {
  const ucc_api *u = e->api;
  const ucc_oob oob = {oob_start, oob_test, oob_free, e, (uint32_t)e->n_ranks, (uint32_t)e->rank};
  ucc_context_params context = {.mask = UCC_CONTEXT_OOB, .oob = oob};
  ucc_team_params team = {.mask = UCC_TEAM_EP | UCC_TEAM_EP_RANGE | UCC_TEAM_OOB, .ep = (uint64_t)e->rank, .oob = oob};
  ucc_handle config;
  int64_t end = until(deadline_ms);
  TSR_TRY(start_library(e));
  int rc = u->context_config(e->lib, NULL, &config);
  if (rc) return error(e, "its configuration", rc);
  rc = u->context_create(e->lib, &context, config, &e->context);
  u->context_config_end(config);
  if (rc) return e->context = NULL, error(e, "a context (a rank may be missing)", rc);
  if ((rc = u->team_post(&e->context, 1, &team, &e->team))) return e->team = NULL, error(e, "a team", rc);
  while ((rc = u->team_test(e->team)) == UCC_INPROGRESS && clock_ns() < end) {
    u->context_progress(e->context);
    sched_yield();
  }
  if (!rc) return NULL;
  e->stopped = true;
  if (rc != UCC_INPROGRESS) return error(e, "a team", rc);
  return st_make(&e->al, TSR_TIMEOUT, here(), "rank %d: the team isn't there within %lld ms: a rank doesn't take part",
                 e->rank, (long long)(deadline_ms ? deadline_ms : 30000));
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

/* What is read may be where the result goes: then it is read from a copy. */
static tsr_status apart(coll_engine *e, coll_call *c) {
  const size_t size = dtype_get(c->dtype)->size;
  const size_t in = (size_t)coll_in_elements(c->op, c->count, e->n_ranks, e->rank, c->root) * size;
  const size_t out = (size_t)coll_out_elements(c->op, c->count, e->n_ranks, e->rank, c->root) * size;
  const char *a = c->in, *b = c->out;
  if (c->op == COLL_BROADCAST) {
    if (in && a != b) memmove(c->out, c->in, in);
    return NULL;
  }
  const bool known = a == b && (c->op == COLL_ALL_REDUCE || c->op == COLL_REDUCE);
  if (known || !in || !out || a + in <= b || b + out <= a) return NULL;
  e->copy = al_alloc(&e->al, in, 64);
  if (!e->copy) return st_oom();
  memcpy(e->copy, c->in, in);
  e->copy_bytes = in;
  c->in = e->copy;
  return NULL;
}

static void let_go(coll_engine *e) {
  if (e->copy) al_free(&e->al, e->copy, e->copy_bytes, 64);
  e->copy = NULL;
}

static tsr_status post(coll_engine *e, const coll_call *asked_for, void *stream) {
  coll_call c = *asked_for;
  ucc_args args;
  const char *no = ucc_refusal(&c);
  char text[COLL_CALL_TEXT];
  coll_call_describe(&c, text, sizeof text);
  if (stream)
    return st_make(&e->al, TSR_INVALID_ARGUMENT, here(), "%s: ucc works on host memory, without a stream", text);
  if (no) return st_make(&e->al, TSR_UNSUPPORTED, here(), "%s: %s", text, no);
  if (e->stopped) return st_make(&e->al, TSR_CANCELLED, here(), "rank %d: the team was given up", e->rank);
  memcpy(e->last, text, sizeof text);
  if (!c.count && c.op != COLL_BARRIER) return NULL; /* not all of its algorithms take nothing */
  TSR_TRY(apart(e, &c));
  ucc_args_fill(&c, e->rank, e->n_ranks, e->counts, &args);
  int rc = e->api->coll_init(&args, &e->request, e->team);
  if (rc) e->request = NULL;
  else rc = e->api->coll_post(e->request);
  if (rc >= 0) return NULL;
  if (e->request) e->api->coll_finalize(e->request);
  e->request = NULL;
  let_go(e);
  return error(e, text, rc);
}

static bool go_on(coll_engine *e) {
  if (e->stopped || !e->request || e->request->status != UCC_INPROGRESS) return true;
  e->api->context_progress(e->context);
  return e->request->status != UCC_INPROGRESS;
}

static tsr_status wait_for(coll_engine *e, void *stream, int64_t deadline_ms) {
  const int64_t end = until(deadline_ms);
  while (!go_on(e)) {
    if (clock_ns() > end) {
      e->stopped = true;
      return st_make(&e->al, TSR_TIMEOUT, here(), "rank %d: %s: it isn't done within %lld ms", e->rank, e->last,
                     (long long)(deadline_ms ? deadline_ms : 30000));
    }
    sched_yield();
  }
  if (e->stopped || !e->request) return NULL;
  int rc = e->request->status;
  e->api->coll_finalize(e->request);
  e->request = NULL;
  let_go(e);
  if (rc == UCC_OK) return NULL;
  e->stopped = true;
  return error(e, e->last, rc);
}

/* What is under way in it may still call back: it stays for as long as the process does. */
static void give_up(coll_engine *e) {
  static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
  static coll_engine *all;
  pthread_mutex_lock(&one);
  e->next = all, all = e;
  pthread_mutex_unlock(&one);
}

static void close_engine(coll_engine **pe) {
  coll_engine *e = *pe;
  const ucc_api *u = e->api;
  tsr_allocator al = e->al;
  *pe = NULL;
  if (e->stopped) return give_up(e);
  if (e->team)
    while (u->team_destroy(e->team) == UCC_INPROGRESS) u->context_progress(e->context);
  if (e->context) u->context_destroy(e->context);
  if (e->lib) u->finalize(e->lib);
  if (e->counts) al_free_array(&al, e->counts, 4 * (size_t)e->n_ranks);
  al_delete(&al, e);
}

static tsr_status open_engine(const tsr_allocator *al, const coll_join *j, coll_engine **out) {
  const ucc_api *api;
  *out = NULL;
  TSR_TRY(ucc_load(al, &api));
  coll_engine *e = al_new(al, coll_engine);
  if (!e) return st_oom();
  e->al = al && al->alloc ? *al : al_default;
  e->api = api, e->oob = j->oob, e->rank = j->rank, e->n_ranks = j->n_ranks;
  e->counts = al_zalloc(&e->al, 4 * (size_t)j->n_ranks * sizeof *e->counts);
  tsr_status st = e->counts ? begin(e, j->deadline_ms) : st_oom();
  if (!st) *out = e;
  else close_engine(&e);
  return st;
}

static tsr_status load(const tsr_allocator *al) {
  const ucc_api *api;
  return ucc_load(al, &api);
}

static tsr_status make_id(const tsr_allocator *al, coll_id *out) { return NULL; }

static const coll_engine_ops engine = {load, make_id, open_engine, post, go_on, wait_for, close_engine};

const coll_transport transport_ucc = {
    .name = "ucc",
    .help = "UCC: host memory, by the paths that it finds",
    .processes = true,
    .ops = COLL_BIT(N_COLL_OPS) - 1,
    .engine = &engine,
};
