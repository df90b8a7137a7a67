/* core/dist/schedule.c - see schedule.h. */
#include "core/dist/schedule.h"

#include <string.h>

#include "core/base/int_math.h"
#include "core/dist/memory.h"
#include "core/dist/order.h"

enum { DONE_NOT, DONE_PENDING, DONE }; /* of an op: not begun, a collective under way, its results are there */

typedef struct bucket {
  ir_op **ops;
  int n;
  int64_t bytes;
} bucket;

typedef struct builder {
  dist_schedule *s;
  const dist_schedule_options *o;
  ir_op **ops;
  int n_ops, *state, *step_of; /* by op's scratch: its step */
  int n_open, first_open;      /* ops of the open compute step: in open[] */
  ir_op **open;
  bucket waiting; /* collectives of one kind that have not begun */
  /* Ops whose operands are there, the first one on top: what computes, and what only collectives would delay. */
  int *ready[2], n_ready[2], n_begun;
  int *missing;              /* by op: operands that aren't there yet */
  int *readers, *readers_at; /* by op, from readers_at[op] on: the ops that read its results */
  int *read_by;              /* by slot: the last step that was found to read it, from 1 on */
  int oldest;                /* collectives of the steps before it are over */
  int n_left;                /* collectives that have not come yet: none joins the waiting ones any more */
} builder;

/* A chunk's collective goes by itself, and its second half behind its first one. */
static bool is_chunk(const ir_op *op) { return graph_is_kind(op, GRAPH_COLLECTIVE) && ir_get_attr(op, "chunk"); }

/* ---- ops that can begin ------------------------------------------------------------------------------------------ */

static void push_ready(builder *b, int op) {
  const int which = graph_is_kind(b->ops[op], GRAPH_COLLECTIVE);
  int *heap = b->ready[which], at = b->n_ready[which]++;
  for (; at && heap[(at - 1) / 2] > op; at = (at - 1) / 2) heap[at] = heap[(at - 1) / 2], b->s->looked++;
  heap[at] = op;
}

static int pop_ready(builder *b, int which) {
  int *heap = b->ready[which], n = --b->n_ready[which], top = heap[0], moved = heap[n], at = 0;
  for (int child; (child = 2 * at + 1) < n; at = child, b->s->looked++) {
    if (child + 1 < n && heap[child + 1] < heap[child]) child++;
    if (heap[child] >= moved) break;
    heap[at] = heap[child];
  }
  heap[at] = moved;
  return top;
}

/* op's results are there for those of its readers that `chunks` says. */
static void release(builder *b, const ir_op *op, bool to_chunks, bool to_others) {
  for (int i = b->readers_at[op->scratch]; i < b->readers_at[op->scratch + 1]; i++) {
    const int r = b->readers[i];
    b->s->looked++;
    if ((is_chunk(b->ops[r]) ? to_chunks : to_others) && --b->missing[r] == 0) push_ready(b, r);
  }
}

static void set_done(builder *b, const ir_op *op) {
  b->state[op->scratch] = DONE;
  release(b, op, !is_chunk(op), true); /* a chunk's second half has begun behind its first one */
}

static bool note_readers(builder *b) {
  arena *a = &b->s->arena;
  int n = 0;
  b->readers_at = arena_array(a, int, b->n_ops + 2);
  b->missing = arena_array(a, int, b->n_ops + 1);
  for (int k = 0; k < 2; k++)
    if (!(b->ready[k] = arena_array(a, int, b->n_ops + 1))) return false;
  if (!b->readers_at || !b->missing) return false;
  for (int i = 0; i < b->n_ops; i++)
    for (int k = 0; k < b->ops[i]->n_operands; k++)
      if (b->ops[i]->operands[k]->def) b->readers_at[b->ops[i]->operands[k]->def->scratch + 2]++, b->missing[i]++, n++;
  if (!(b->readers = arena_array(a, int, n + 1))) return false;
  for (int i = 2; i < b->n_ops + 2; i++) b->readers_at[i] += b->readers_at[i - 1];
  for (int i = 0; i < b->n_ops; i++) {
    for (int k = 0; k < b->ops[i]->n_operands; k++)
      if (b->ops[i]->operands[k]->def) b->readers[b->readers_at[b->ops[i]->operands[k]->def->scratch + 1]++] = i;
    if (!b->missing[i]) push_ready(b, i);
  }
  return true;
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

static dist_step *new_step(builder *b, dist_step_kind kind, ir_op *const *ops, int n) {
  dist_schedule *s = b->s;
  dist_step *x = &s->steps[s->n_steps];
  *x = (dist_step){.kind = kind, .n_ops = n, .ops = arena_dup(&s->arena, ops, sizeof *ops * (size_t)n)};
  x->stream = kind == DIST_COMM && !b->o->one_stream ? DIST_STREAM_COMM : DIST_STREAM_COMPUTE;
  for (int i = 0; i < n; i++) b->step_of[ops[i]->scratch] = s->n_steps;
  s->n_steps++;
  return x->ops ? x : NULL;
}

static bool close_open(builder *b) {
  const int n = b->n_open;
  b->n_open = 0;
  return !n || new_step(b, DIST_COMPUTE, b->open, n);
}

static int64_t bytes_of(const ir_value *v) { return ir_type_bytes(v->type); }

static bool may_join(const ir_op *op) {
  return op->def->code == G_ALL_REDUCE || op->def->code == G_REDUCE_SCATTER || op->def->code == G_ALL_GATHER;
}

int64_t dist_bucket_bytes(const ir_op *func) {
  int64_t all[3] = {0};
  for (const ir_op *op = func->regions[0]->first; op; op = op->next)
    if (graph_is_kind(op, GRAPH_COLLECTIVE) && may_join(op) && !is_chunk(op))
      all[op->def->code == G_ALL_REDUCE ? 0 : op->def->code == G_REDUCE_SCATTER ? 1 : 2] += bytes_of(op->operands[0]);
  return clamp64(max64(all[0], max64(all[1], all[2])) / 4, 1 << 20, 25 << 20);
}

static bool same_kind(const ir_op *a, const ir_op *b) {
  const graph_collective x = graph_collective_get(a), y = graph_collective_get(b);
  return may_join(a) && a->def == b->def && !strcmp(x.axes, y.axes) && !strcmp(x.reduction, y.reduction) &&
         a->operands[0]->type->dtype == b->operands[0]->type->dtype;
}

static bool flush(builder *b) {
  const int n = b->waiting.n;
  b->waiting.n = 0, b->waiting.bytes = 0;
  if (!n) return true;
  if (!close_open(b)) return false;
  for (int i = 0; i < n; i++) b->state[b->waiting.ops[i]->scratch] = DONE_PENDING;
  if (is_chunk(b->waiting.ops[0])) release(b, b->waiting.ops[0], true, false);
  return new_step(b, DIST_COMM, b->waiting.ops, n) != NULL;
}

static bool add_collective(builder *b, ir_op *op) {
  const int64_t bytes = bytes_of(op->operands[0]);
  const bool joins = !is_chunk(op) && b->waiting.n && same_kind(op, b->waiting.ops[0]) &&
                     b->waiting.bytes + bytes <= b->o->bucket_bytes;
  if (b->waiting.n && !joins && !flush(b)) return false;
  b->waiting.ops[b->waiting.n++] = op;
  b->waiting.bytes += bytes;
  b->state[op->scratch] = DONE_PENDING;
  if (!is_chunk(op) && --b->n_left && b->waiting.bytes < b->o->bucket_bytes) return true;
  return flush(b);
}

/* A collective under way is waited for: its results are there from now on. */
static bool wait_oldest(builder *b) {
  if (!flush(b) || !close_open(b)) return false;
  while (b->oldest < b->s->n_steps) {
    const dist_step *x = &b->s->steps[b->oldest++];
    if (x->kind != DIST_COMM) continue;
    for (int k = 0; k < x->n_ops; k++) set_done(b, x->ops[k]);
    return true;
  }
  return false;
}

static bool begin_op(builder *b, ir_op *op) {
  if (!graph_is_kind(op, GRAPH_COLLECTIVE)) {
    b->open[b->n_open++] = op;
    return set_done(b, op), true;
  }
  if (op->def->code == G_RECV) return set_done(b, op), true; /* the message itself */
  if (graph_collective_moves(op)) return add_collective(b, op);
  set_done(b, op);
  return close_open(b) && new_step(b, DIST_LOCAL, &op, 1);
}

/* Where none can begin all wait for collectives; these go before what would only delay them. */
static bool order(builder *b) {
  if (!note_readers(b)) return false;
  while (b->n_begun < b->n_ops) {
    const int which = b->n_ready[1] > 0;
    const bool some = b->n_ready[which] > 0;
    b->n_begun += some;
    if (some ? !begin_op(b, b->ops[pop_ready(b, which)]) : !wait_oldest(b)) return false;
  }
  return flush(b) && close_open(b);
}

/* ---- slots ------------------------------------------------------------------------------------------------------- */

/* The value whose memory v has: of a recv the message. */
static ir_value *memory_of(ir_value *v) {
  while (v->def && v->def->def->code == G_RECV && graph_is_kind(v->def, GRAPH_COLLECTIVE)) v = v->def->operands[0];
  return v;
}

static int slot_of(builder *b, ir_value *given, int writer) {
  ir_value *v = memory_of(given);
  if (v->scratch < 0) {
    v->scratch = b->s->n_slots;
    b->s->slots[b->s->n_slots++] = (dist_slot){
        .v = v, .bytes = (size_t)bytes_of(v), .input = v->def ? -1 : v->index, .output = -1, .writer = writer};
  }
  return (int)(given->scratch = v->scratch);
}

/* The values that step `at` reads and doesn't make. */
static void note_reads(builder *b, dist_step *x, int at) {
  for (int i = 0; i < x->n_ops; i++)
    for (int k = 0; k < x->ops[i]->n_operands; k++) {
      ir_value *v = memory_of(x->ops[i]->operands[k]);
      const int from = v->def ? b->step_of[v->def->scratch] : -1;
      if (from == at) continue;
      const int slot = slot_of(b, x->ops[i]->operands[k], from);
      b->s->looked++;
      if (b->read_by[slot] != at + 1) x->reads[x->n_reads++] = slot, b->read_by[slot] = at + 1;
    }
}

static bool make_slots(builder *b, const ir_block *body) {
  dist_schedule *s = b->s;
  const ir_op *ret = body->last;
  for (int i = 0; i < body->n_args; i++) slot_of(b, body->args[i], -1);
  for (int i = 0; i < s->n_steps; i++) {
    dist_step *x = &s->steps[i];
    int n_in = 0, n_out = 0;
    for (int k = 0; k < x->n_ops; k++) n_in += x->ops[k]->n_operands, n_out += x->ops[k]->n_results;
    x->reads = arena_array(&s->arena, int, n_in + 1);
    x->writes = arena_array(&s->arena, int, n_out + 1);
    x->waits = arena_array(&s->arena, int, DIST_STREAMS);
    if (!x->reads || !x->writes || !x->waits) return false;
    note_reads(b, x, i);
  }
  s->n_outputs = ret->n_operands;
  if (!(s->outputs = arena_array(&s->arena, int, s->n_outputs + 1))) return false;
  for (int i = 0; i < ret->n_operands; i++) {
    ir_value *v = memory_of(ret->operands[i]);
    s->outputs[i] = slot_of(b, ret->operands[i], v->def ? b->step_of[v->def->scratch] : -1);
    dist_slot *slot = &s->slots[s->outputs[i]];
    if (slot->output < 0 && slot->input < 0) slot->output = i;
  }
  for (int i = 0; i < s->n_slots; i++)
    if (s->slots[i].writer >= 0) {
      dist_step *x = &s->steps[s->slots[i].writer];
      x->writes[x->n_writes++] = i;
    }
  for (int i = 0; i < s->n_steps; i++) /* a collective of whose result nobody reads has one all the same */
    for (int k = 0; k < s->steps[i].n_ops && s->steps[i].kind != DIST_COMPUTE; k++) {
      const int before = s->n_slots, slot = slot_of(b, s->steps[i].ops[k]->results[0], i);
      if (slot == before) s->steps[i].writes[s->steps[i].n_writes++] = slot;
    }
  return true;
}

static bool list_streams(dist_schedule *s) {
  for (int k = 0; k < DIST_STREAMS; k++)
    if (!(s->of_stream[k] = arena_array(&s->arena, int, s->n_steps + 1))) return false;
  for (int i = 0; i < s->n_steps; i++) {
    const int k = s->steps[i].stream;
    s->of_stream[k][s->n_of_stream[k]++] = i;
  }
  return true;
}

tsr_status dist_schedule_make(ir_op *func, const dist_schedule_options *o, dist_schedule *s) {
  ir_block *body = func->regions[0];
  int n_ops = 0, n_values = body->n_args;
  *s = (dist_schedule){0};
  arena_init(&s->arena, &func->module->arena.al);
  for (ir_op *op = body->first; op; op = op->next) {
    op->scratch = n_ops++;
    n_values += op->n_results;
    for (int i = 0; i < op->n_results; i++) op->results[i]->scratch = -1;
  }
  for (int i = 0; i < body->n_args; i++) body->args[i]->scratch = -1;
  builder b = {.s = s, .o = o};
  b.ops = arena_array(&s->arena, ir_op *, n_ops + 1), b.open = arena_array(&s->arena, ir_op *, n_ops + 1);
  b.waiting.ops = arena_array(&s->arena, ir_op *, n_ops + 1);
  b.read_by = arena_array(&s->arena, int, n_values + 1);
  b.state = arena_array(&s->arena, int, n_ops + 1), b.step_of = arena_array(&s->arena, int, n_ops + 1);
  s->steps = arena_array(&s->arena, dist_step, 2 * n_ops + 2);
  s->slots = arena_array(&s->arena, dist_slot, n_values + 1);
  bool ok = b.ops && b.open && b.waiting.ops && b.state && b.step_of && b.read_by && s->steps && s->slots;
  for (ir_op *op = body->first; ok && op != body->last; op = op->next) {
    b.ops[b.n_ops++] = op;
    b.n_left += graph_is_kind(op, GRAPH_COLLECTIVE) && graph_collective_moves(op) && !is_chunk(op);
  }
  ok = ok && order(&b) && list_streams(s) && make_slots(&b, body) && dist_order_make(s) && dist_memory_make(s);
  if (ok) return NULL;
  dist_schedule_clear(s);
  return st_oom();
}

void dist_schedule_clear(dist_schedule *s) {
  arena_clear(&s->arena);
  *s = (dist_schedule){0};
}

void dist_schedule_print(strb *b, const dist_schedule *s) {
  static const char *const streams[] = {"compute", "comm"};
  for (int i = 0; i < s->n_steps; i++) {
    const dist_step *x = &s->steps[i];
    strb_printf(b, "%3d %-7s ", i, streams[x->stream]);
    if (x->kind == DIST_COMPUTE) strb_printf(b, "%d ops", x->n_ops);
    else
      strb_printf(b, "%s[%s]%s", strrchr(x->ops[0]->def->name, '.') + 1, graph_collective_get(x->ops[0]).axes,
                  x->n_ops > 1 ? " (several as one)" : "");
    for (int k = 0; k < x->n_waits; k++) strb_printf(b, "%s%d", k ? ", " : "  waits for ", x->waits[k]);
    strb_putc(b, '\n');
  }
}
