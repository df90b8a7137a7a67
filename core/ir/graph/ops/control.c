/* core/ir/graph/ops/control.c - if, while, and control, what they are once their regions are functions: rows, rules,
 * what they stand for where they are written out, the oracle. */
#include "core/ir/graph/control.h"

#include <math.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/ir/graph/ops/compose.h"

/* ---- shape rules ------------------------------------------------------------------------------------------------- */

/* May an argument of type `have` become one of type `want`, with dimensions that were unknown? */
static bool refines(const ir_type *have, const ir_type *want) {
  if (!have || have->kind != IR_T_TENSOR || have->dtype != want->dtype || have->rank != want->rank) return false;
  for (int i = 0; i < have->rank; i++)
    if (have->dims[i] != want->dims[i] && have->dims[i] != IR_DYNAMIC) return false;
  return true;
}

static tsr_status infer_again(ir_block *r) {
  for (ir_op *o = r->first; o; o = o->next) {
    const ir_type *few[GRAPH_CONTROL_RESULTS] = {NULL}, **types = few;
    if (!o->def->infer) continue;
    if (o->n_results > GRAPH_CONTROL_RESULTS &&
        !(types = arena_array(&o->module->arena, const ir_type *, o->n_results)))
      return st_oom();
    TSR_TRY(o->def->infer(o, types));
    for (int i = 0; i < o->n_results; i++)
      if (types[i]) o->results[i]->type = types[i];
  }
  return NULL;
}

/* The region takes the operands from `first` on, and returns typed tensors. */
static tsr_status check_region(ir_op *op, int which, const char *name, int first) {
  ir_block *r = op->regions[which];
  char a[128], b[128];
  bool refined = false;
  if (!graph_is(r->last, G_RETURN)) return ir_error(op, NULL, "the %s must end with tessera.graph.return", name);
  if (r->n_args != op->n_operands - first)
    return ir_error(op, "its arguments are the op's operands", "the %s has %d arguments for %d operands", name,
                    r->n_args, op->n_operands - first);
  for (int i = 0; i < r->n_args; i++) {
    const ir_type *want = op->operands[first + i]->type;
    if (r->args[i]->type == want) continue;
    if (!refines(r->args[i]->type, want))
      return ir_error(op, NULL, "argument %d of the %s is %s, the operand %s", i, name,
                      shape_text(r->args[i]->type, a, sizeof a), shape_text(want, b, sizeof b));
    r->args[i]->type = want;
    refined = true;
  }
  if (refined) TSR_TRY(infer_again(r));
  for (ir_op *o = r->first; o; o = o->next)
    if (o->def->level != IR_GRAPH) return ir_error(o, NULL, "is no operation of Graph IR");
  for (int i = 0; i < r->last->n_operands; i++)
    if (!r->last->operands[i]->type || r->last->operands[i]->type->kind != IR_T_TENSOR)
      return ir_error(op, NULL, "result %d of the %s is no tensor", i, name);
  return NULL;
}

/* Of all of them: what programs can be called with. */
static tsr_status check_control(ir_op *op, int first) {
  TSR_TRY(shape_tensors(op));
  if (op->n_operands > GRAPH_CONTROL_OPERANDS || op->n_results > GRAPH_CONTROL_RESULTS)
    return ir_error(op, "join tensors", "%d operands and %d results; at most %d and %d", op->n_operands, op->n_results,
                    GRAPH_CONTROL_OPERANDS, GRAPH_CONTROL_RESULTS);
  if (!first) return NULL;
  const ir_type *c = op->operands[0]->type;
  char a[128];
  return c->dtype == TSR_BOOL && (ir_type_count(c) == 1 || ir_type_count(c) == IR_DYNAMIC)
             ? NULL
             : ir_error(op, "compare gives one", "the condition is %s, not one bool", shape_text(c, a, sizeof a));
}

static tsr_status infer_if(ir_op *op, const ir_type **results) {
  TSR_TRY(check_control(op, 1));
  TSR_TRY(check_region(op, REGION_THEN, "then region", 1));
  TSR_TRY(check_region(op, REGION_ELSE, "else region", 1));
  const ir_op *a = op->regions[REGION_THEN]->last, *b = op->regions[REGION_ELSE]->last;
  char x[128], y[128];
  if (a->n_operands != op->n_results || b->n_operands != op->n_results)
    return ir_error(op, NULL, "the regions return %d and %d values for %d results", a->n_operands, b->n_operands,
                    op->n_results);
  for (int i = 0; i < op->n_results; i++) {
    if (a->operands[i]->type != b->operands[i]->type)
      return ir_error(op, "both regions give the same types", "result %d is %s or %s", i,
                      shape_text(a->operands[i]->type, x, sizeof x), shape_text(b->operands[i]->type, y, sizeof y));
    results[i] = a->operands[i]->type;
  }
  return NULL;
}

static tsr_status infer_while(ir_op *op, const ir_type **results) {
  const int64_t carried = ir_get_int(op, "carried", op->n_operands), most = ir_get_int(op, "max_trips", 0);
  char x[128], y[128];
  TSR_TRY(check_control(op, 0));
  if (carried < 0 || carried > op->n_operands || carried != op->n_results)
    return ir_error(op, "a result for each", "%lld operands are carried, of %d, with %d results", (long long)carried,
                    op->n_operands, op->n_results);
  if (most < 0 || most > INT32_MAX) return ir_error(op, "0 to 2^31 - 1", "max_trips = %lld", (long long)most);
  TSR_TRY(check_region(op, REGION_COND, "condition", 0));
  TSR_TRY(check_region(op, REGION_BODY, "body", 0));
  const ir_op *cond = op->regions[REGION_COND]->last, *body = op->regions[REGION_BODY]->last;
  if (cond->n_operands != 1 || cond->operands[0]->type->dtype != TSR_BOOL ||
      ir_type_count(cond->operands[0]->type) != 1)
    return ir_error(op, "compare gives one", "the condition must return one bool");
  if (body->n_operands != carried)
    return ir_error(op, NULL, "the body returns %d values, %lld are carried", body->n_operands, (long long)carried);
  for (int i = 0; i < carried; i++) {
    results[i] = op->operands[i]->type;
    if (body->operands[i]->type != results[i])
      return ir_error(op, "what is carried keeps its type and shape", "the body gives value %d as %s, it is %s", i,
                      shape_text(body->operands[i]->type, x, sizeof x), shape_text(results[i], y, sizeof y));
  }
  return NULL;
}

static tsr_status verify_control(const ir_op *op) {
  const char *kind = ir_get_str(op, "kind", "");
  const int64_t carried = ir_get_int(op, "carried", 0), most = ir_get_int(op, "max_trips", 0);
  const bool loops = !strcmp(kind, "while");
  for (int i = 0; i < op->n_operands + op->n_results; i++) {
    const ir_type *t = i < op->n_operands ? op->operands[i]->type : op->results[i - op->n_operands]->type;
    if (!t || t->kind != IR_T_TENSOR) return ir_error(op, NULL, "takes and gives tensors");
  }
  if (!loops && strcmp(kind, "if")) return ir_error(op, "if or while", "unknown kind \"%s\"", kind);
  if (loops ? carried != op->n_results || carried > op->n_operands : op->n_operands < 1)
    return ir_error(op, NULL, "%lld values carried of %d operands, with %d results", (long long)carried, op->n_operands,
                    op->n_results);
  if (most < 0 || most > INT32_MAX) return ir_error(op, "0 to 2^31 - 1", "max_trips = %lld", (long long)most);
  for (int i = 0; i < (loops ? op->n_results : 0); i++)
    if (op->results[i]->type != op->operands[i]->type)
      return ir_error(op, "what is carried keeps its type and shape", "result %d has another type than its operand", i);
  return NULL;
}

/* ---- written out ------------------------------------------------------------------------------------------------- */

/* Both regions, of whose results a select takes one, so that what is not finite in the other goes nowhere. */
EXPAND(expand_if) {
  const int only = graph_branch(op);
  ir_value *v[2][GRAPH_CONTROL_RESULTS], *c = IN(0);
  if (only >= 0) return graph_inline(b, op->regions[only], op->operands + 1, out);
  for (int r = 0; r < 2; r++)
    if (!graph_inline(b, op->regions[r], op->operands + 1, v[r])) return false;
  if (c->type->rank) c = graph_reshape(b, c, 0, NULL);
  for (int i = 0; i < op->n_results && c; i++) out[i] = v[0][i] == v[1][i] ? v[0][i] : SELECT(c, v[0][i], v[1][i]);
  DONE;
}

static bool unrolls(const ir_op *op) {
  const int64_t trips = graph_trips(op);
  return trips >= 0 && trips <= GRAPH_MOST_UNROLLED;
}

EXPAND(expand_while) {
  const int n = graph_carried(op);
  ir_value *v[GRAPH_CONTROL_OPERANDS], *next[GRAPH_CONTROL_RESULTS];
  memcpy(v, op->operands, sizeof *v * (size_t)op->n_operands);
  for (int64_t trips = graph_trips(op); trips > 0; trips--) {
    if (!graph_inline(b, op->regions[REGION_BODY], v, next)) return false;
    memcpy(v, next, sizeof *v * (size_t)n);
  }
  memcpy(out, v, sizeof *v * (size_t)n);
  DONE;
}

/* ---- the oracle -------------------------------------------------------------------------------------------------- */

/* A region as a function of its own; the state of a loop: the numbers of all operands, one behind the other. */
typedef struct loop_eval {
  graph_evaluator *e;
  ir_module *m[2];
  ir_op *func[2];
  graph_num *state;
  int64_t n; /* of the state */
} loop_eval;

static int64_t numbers(int n, ir_value *const *v) {
  int64_t sum = 0;
  for (int i = 0; i < n; i++) sum += graph_numbers(v[i]->type);
  return sum;
}

/* What region r returns for the state. */
static tsr_status run_region(const loop_eval *l, int r, graph_num *out) {
  const void **none = arena_array(&l->m[r]->arena, const void *, l->func[r]->regions[0]->n_args + 1);
  graph_evaluator *sub = NULL;
  tsr_status st = NULL;
  if (!none) return st_oom();
  TSR_TRY(graph_evaluator_create(l->func[r], none, &sub));
  graph_evaluator_set_custom(sub, l->e->custom, l->e->custom_user);
  sub->rounded = l->e->rounded;
  const ir_block *body = sub->func->regions[0];
  const graph_num *from = l->state;
  for (int i = 0; i < body->n_args; i++)
    for (int64_t k = 0, n = graph_numbers(body->args[i]->type); k < n; k++) graph_write(sub, body->args[i], k, *from++);
  TSR_GOTO(graph_evaluate_all(sub));
  for (int i = 0; i < body->last->n_operands; i++)
    for (int64_t k = 0, n = graph_numbers(body->last->operands[i]->type); k < n; k++)
      TSR_GOTO(graph_element(sub, body->last->operands[i], k, out++));
done:
  graph_evaluator_destroy(&sub);
  return st;
}

static tsr_status begin_loop(loop_eval *l, const ir_op *op) {
  l->n = numbers(op->n_operands, op->operands);
  if (!(l->state = al_alloc(l->e->al, sizeof *l->state * (size_t)(l->n + 1), 16))) return st_oom();
  graph_num *to = l->state;
  for (int i = 0; i < op->n_operands; i++)
    for (int64_t k = 0, n = graph_numbers(op->operands[i]->type); k < n; k++)
      *to++ = graph_read(l->e, op->operands[i], k);
  for (int r = 0; r < 2; r++) {
    TSR_TRY(ir_module_create(l->e->al, &l->m[r]));
    ir_builder b = ir_at_end(l->m[r], l->m[r]->root->regions[0]);
    if (!(l->func[r] = graph_outline(&b, op->regions[r], "region"))) return st_oom();
  }
  return NULL;
}

/* Trip by trip. Where rounding decides whether there is another one, nothing is known of the results. */
static tsr_status eval_while(graph_evaluator *e, ir_op *op, int64_t at) {
  loop_eval l = {.e = e};
  const int carried = graph_carried(op);
  const int64_t n = numbers(carried, op->operands), most = ir_get_int(op, "max_trips", 0);
  graph_num go = {0}, *next = al_alloc(e->al, sizeof *next * (size_t)(n + 1), 16);
  bool lost = false;
  tsr_status st = next ? begin_loop(&l, op) : st_oom();
  for (int64_t trip = 0; !st && !e->st && trip < most && !lost; trip++) {
    st = run_region(&l, REGION_COND, &go);
    lost = go.e > 0;
    if (st || lost || go.v == 0) break;
    st = run_region(&l, REGION_BODY, next);
    if (!st && n) memcpy(l.state, next, sizeof *next * (size_t)n);
  }
  const graph_num *from = l.state;
  for (int i = 0; i < carried && !st && !e->st; i++)
    for (int64_t k = 0, many = graph_numbers(op->results[i]->type); k < many; k++) {
      graph_num x = *from++;
      if (lost) x.e = INFINITY;
      graph_write(e, op->results[i], k, x);
    }
  al_free(e->al, next, sizeof *next * (size_t)(n + 1), 16);
  if (l.state) al_free(e->al, l.state, sizeof *l.state * (size_t)(l.n + 1), 16);
  for (int r = 0; r < 2; r++) ir_module_destroy(&l.m[r]);
  return st;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define CONTROL_ROW(CODE, s, low)                                                                                      \
  NAME(CODE, s), .flags = IR_PURE | IR_ISOLATED, .min_operands = low, .max_operands = IR_VARIADIC,                     \
                 .n_results = IR_VARIADIC, .types_doc = ANY AND_COMPLEX

static const ir_opdef rows[] = {
    {CONTROL_ROW(IF, "if", 1), .n_regions = 2, .operands_doc = "condition, operands...", .infer = infer_if,
     .ext = ROW(GRAPH_CONTROL, .expand = expand_if),
     .help =
         "The results of the first region where the condition, one bool, is true, else of the second: both are "
         "functions "
         "of the operands, end with return and give the same types. Where the regions are short, or derivatives are "
         "asked for, both are computed and a select takes one; else the host reads the condition and runs the program "
         "of "
         "one of them."},
    {CONTROL_ROW(WHILE, "while", 0), .n_regions = 2, .operands_doc = "operands...", .infer = infer_while,
     .ext = ROW(GRAPH_CONTROL, eval_while, .expand = expand_while, .may_expand = unrolls),
     .attrs = ATTRS(
         {"carried", IR_A_INT, false, NULL,
          "so many of the first operands are replaced by what the body returns, and are the results; all if absent"},
         {"max_trips", IR_A_INT, true, NULL, "the loop ends after so many trips, whatever the condition is"}),
     .help =
         "A loop: as long as the first region, the condition, returns true, the second, the body, gives the carried "
         "values "
         "anew. Both are functions of all operands and end with return; types and shapes stay. A loop whose trips are "
         "known when it is compiled (a constant condition, or a count in i32 or i64 from a constant by constant steps) "
         "is "
         "differentiable, and is written out where it is short; others run on the device's buffers, and the host reads "
         "the "
         "condition at each trip."},
    {CONTROL_ROW(CONTROL, "control", 0), .operands_doc = "operands...", .verify = verify_control,
     .ext = ROW(GRAPH_CONTROL),
     .attrs = ATTRS(
         {"kind", IR_A_STR, true, NULL, "if or while"},
         {"first", IR_A_STR, true, NULL, "the function that is the condition, or the first region; \"\": always true"},
         {"second", IR_A_STR, true, NULL, "the function that is the body, or the second region"},
         {"carried", IR_A_INT, false, "0", "of while"}, {"max_trips", IR_A_INT, false, "0", "of while"}),
     .help = "What if and while become when their regions are functions of the module. The results' types are written "
             "out."},
};

const ir_rows graph_control_ops = {rows, sizeof rows / sizeof *rows};
_Static_assert(sizeof rows / sizeof *rows == G_CONTROL - G_IF + 1, "one row per code, in the enum's order");
