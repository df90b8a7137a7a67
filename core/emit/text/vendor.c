/* core/emit/text/vendor.c - NVIDIA and AMD ops of Target IR as calls of the primitives in core/emit/text/prelude.h. */
#include <string.h>

#include "core/emit/text/vendor.h"
#include "core/base/dtype.h"
#include "core/device/dialect.h"
#include "core/emit/text/mma.h"

static const char *const yes_no[] = {"false", "true"};

static tsr_dtype attr_type(const ir_op *op, const char *name) { return dtype_parse_real(ir_get_str(op, name, "")); }
static int attr(const ir_op *op, const char *name) { return (int)ir_get_int(op, name, 0); }

/* wgmma says no rows, being 64 of them; only it says the rest. */
static text_mma mma_of(const ir_op *op) {
  return (text_mma){.kind = text_matrix_op(op)->kind,
                    .a_regs = ir_get_bool(op, "a_regs", false),
                    .m = (int)ir_get_int(op, "m", 64),
                    .n = attr(op, "n"),
                    .k = attr(op, "k"),
                    .a = attr_type(op, "a"),
                    .b = attr_type(op, "b"),
                    .c = attr_type(op, "c"),
                    .swizzle = attr(op, "swizzle"),
                    .ta = ir_get_bool(op, "transpose_a", false),
                    .tb = ir_get_bool(op, "transpose_b", false)};
}

static void use_mma(const ir_op *op, text_use *u) {
  text_mma m = mma_of(op);
  for (int i = 0; i < u->n_mma; i++) {
    const text_mma *x = &u->mma[i];
    if (x->kind == m.kind && x->a_regs == m.a_regs && x->m == m.m && x->n == m.n && x->k == m.k && x->a == m.a &&
        x->b == m.b && x->c == m.c && x->swizzle == m.swizzle && x->ta == m.ta && x->tb == m.tb)
      return;
  }
  if (u->n_mma < (int)(sizeof u->mma / sizeof *u->mma)) u->mma[u->n_mma++] = m;
}

void text_vendor_use(const ir_op *op, text_use *u) {
  const text_matrix *matrix = text_matrix_op(op);
  if (matrix) {
    u->features |= matrix->feature;
    use_mma(op, u);
    return;
  }
  switch (op->def->code) {
  case TG_CP_ASYNC: case TG_CP_COMMIT: case TG_CP_WAIT: u->features |= TEXT_CP_ASYNC; break;
  case TG_LDMATRIX: u->features |= TEXT_LDMATRIX; break;
  case TG_STMATRIX: u->features |= TEXT_STMATRIX; break;
  case TG_TENSOR_MAP: u->features |= TEXT_TMA; u->tma_ranks |= 1u << ir_get_ints(op, "dims", NULL, 0); break;
  case TG_TMA_LOAD: case TG_TMA_STORE: case TG_TMA_COMMIT: case TG_TMA_WAIT: u->features |= TEXT_TMA; break;
  case TG_MBAR_ARRIVE: if (op->n_operands == 3) u->features |= TEXT_CLUSTER; /* fall through */
  case TG_MBAR_INIT: case TG_MBAR_EXPECT: case TG_MBAR_WAIT: case TG_ELECT: u->features |= TEXT_MBAR; break;
  case TG_FENCE: u->features |= strcmp(ir_get_str(op, "kind", ""), "cluster") ? TEXT_MBAR : TEXT_CLUSTER; break;
  case TG_CLUSTER_SYNC: case TG_CLUSTER_RANK: case TG_CLUSTER_STORE: u->features |= TEXT_CLUSTER; break;
  case TG_NAMED_BARRIER: u->features |= TEXT_NAMED; break;
  case TG_WGMMA_FENCE: case TG_WGMMA_COMMIT: case TG_WGMMA_WAIT: case TG_SETMAXNREG: u->features |= TEXT_WGMMA; break;
  case TG_LDS_LOAD: u->features |= TEXT_LDS; break;
  case TG_WAITCNT: case TG_SETPRIO: case TG_SCHED_BARRIER: u->features |= TEXT_WAITS; break;
  default: break;
  }
}

static const char *rest(text_printer *p, const ir_op *op, int from) {
  const char *s = "";
  for (int i = from; i < op->n_operands; i++) s = text_fmt(p, "%s, %s", s, text_expr(op->operands[i]));
  return s;
}

static void put_tma(text_printer *p, ir_op *op) {
  const char *map = text_expr(op->operands[0]), *at = text_address(p, op, 1);
  if (op->def->code == TG_TMA_STORE) {
    text_line(p, "tma_store(&%s, %s%s);", map, at, rest(p, op, 3));
    return;
  }
  const char *bar =
      text_fmt(p, attr(op, "barrier") ? "%s + %d" : "%s", text_expr(op->operands[3]), attr(op, "barrier"));
  int mask = attr(op, "multicast");
  if (mask) text_line(p, "tma_load_multicast(&%s, %s, %s, %d%s);", map, at, bar, mask, rest(p, op, 4));
  else text_line(p, "tma_load(&%s, %s, %s%s);", map, at, bar, rest(p, op, 4));
}

static void put_wgmma(text_printer *p, ir_op *op) {
  text_mma m = mma_of(op);
  const char *types = text_fmt(p, "%d, %d, %s, %s, %d", m.n, m.k, text_type(m.a), text_type(m.b), m.swizzle);
  const char *acc = text_fmt(p, attr(op, "acc_at") ? "%s + %d" : "%s", text_expr(op->operands[0]), attr(op, "acc_at"));
  if (m.a_regs)
    text_line(p, "wgmma_rs<%s, %s>(%s, %s, %s, %d, %d);", types, yes_no[m.tb], acc, text_address(p, op, 1),
              text_address(p, op, 3), attr(op, "lbo_b"), attr(op, "sbo_b"));
  else
    text_line(p, "wgmma<%s, %s, %s>(%s, %s, %s, %d, %d, %d, %d);", types, yes_no[m.ta], yes_no[m.tb], acc,
              text_address(p, op, 1), text_address(p, op, 3), attr(op, "lbo_a"), attr(op, "sbo_a"), attr(op, "lbo_b"),
              attr(op, "sbo_b"));
}

/* The wrappers take vectors; a lane's single element is a scalar in the IR. */
static const char *as_vector(text_printer *p, const ir_value *v) {
  return v->type->kind == IR_T_VECTOR ? text_expr(v)
                                      : text_fmt(p, "vec<%s, 1>{{%s}}", text_storage(v->type->dtype), text_expr(v));
}

static void put_mma(text_printer *p, ir_op *op) {
  text_mma m = mma_of(op);
  text_define(p, op->results[0],
              text_fmt(p, "%s<%d, %d, %d, %s, %s>(%s, %s, %s)", matrix_kind_get(m.kind)->name, m.m, m.n, m.k,
                       text_mma_type(m.a, p->caps->fnuz), text_mma_type(m.b, p->caps->fnuz),
                       as_vector(p, op->operands[0]), as_vector(p, op->operands[1]), as_vector(p, op->operands[2])));
}

/* The ops that are matrix instructions. */
#define OP(KIND) TG_##KIND, MATRIX_##KIND
#define OF_ELEMENTS(name)                                                                                      \
  "template <int M, int N, int K, class A, class B, class EA, class EB, int NA, int NB, class V> FN V " name \
  "(vec<EA, NA> a, vec<EB, NB> b, V c);\n"
static const text_matrix matrix_ops[] = {
    {OP(MMA), 0, OPS_NVIDIA, put_mma,
     "template <int M, int N, int K, class A, class B, int NA, int NB, class V> FN V mma(vec<int, NA> a, "
     "vec<int, NB> b, V c);\n",
     text_cuda_mma},
    {OP(WGMMA), TEXT_WGMMA, OPS_NVIDIA, put_wgmma,
     "template <int N, int K, class A, class B, int SWIZZLE, bool TA, bool TB, class C> FN void wgmma(C "
     "*d, const void *a, const void *b, int lbo_a, int sbo_a, int lbo_b, int sbo_b);\n"
     "template <int N, int K, class A, class B, int SWIZZLE, bool TB, class C> FN void wgmma_rs(C *d, "
     "const int *a, const void *b, int lbo_b, int sbo_b);\n",
     text_cuda_wgmma},
    {OP(MFMA), 0, OPS_AMD, put_mma, OF_ELEMENTS("mfma"), text_hip_mma},
    {OP(WMMA), 0, OPS_AMD, put_mma, OF_ELEMENTS("wmma"), text_hip_mma},
};
enum { N_MATRIX_OPS = sizeof matrix_ops / sizeof *matrix_ops };

const text_matrix *text_matrix_op(const ir_op *op) {
  for (int i = 0; i < N_MATRIX_OPS; i++)
    if (matrix_ops[i].code == op->def->code) return &matrix_ops[i];
  return NULL;
}

void text_matrix_wrappers(strb *b, const text_use *u) {
  const text_matrix *of[N_MATRIX_KINDS] = {NULL};
  for (int k = 0; k < N_MATRIX_OPS; k++)
    for (int i = 0; i < u->n_mma && !of[matrix_ops[k].kind]; i++)
      if (u->mma[i].kind == matrix_ops[k].kind) {
        of[matrix_ops[k].kind] = &matrix_ops[k];
        strb_puts(b, matrix_ops[k].declaration);
      }
  for (int i = 0; i < u->n_mma; i++) of[u->mma[i].kind]->wrapper(b, &u->mma[i], u);
}

static void pin(text_printer *p, const ir_op *op) {
  for (int i = 0; i < op->n_operands; i++) text_line(p, "wgmma_pin(%s);", text_expr(op->operands[i]));
}

static bool hopper_op(text_printer *p, ir_op *op) {
  switch (op->def->code) {
  case TG_TMA_LOAD:
  case TG_TMA_STORE: put_tma(p, op); return true;
  case TG_TMA_COMMIT: text_line(p, "tma_commit();"); return true;
  case TG_TMA_WAIT:
    text_line(p, "tma_wait%s<%d>();", ir_get_bool(op, "read", true) ? "_read" : "", attr(op, "pending"));
    return true;
  case TG_MBAR_INIT:
    text_line(p, "mbar_init(%s, %s);", text_address(p, op, 0),
              op->n_operands > 2 ? text_expr(op->operands[2]) : text_fmt(p, "%d", attr(op, "count")));
    return true;
  case TG_MBAR_EXPECT: text_line(p, "mbar_expect(%s, %d);", text_address(p, op, 0), attr(op, "bytes")); return true;
  case TG_MBAR_ARRIVE:
    text_line(p, "mbar_arrive%s(%s%s);", op->n_operands > 2 ? "_cluster" : "", text_address(p, op, 0), rest(p, op, 2));
    return true;
  case TG_MBAR_WAIT:
    text_line(p, "mbar_wait(%s, %s);", text_address(p, op, 0), text_expr(op->operands[2]));
    return true;
  case TG_FENCE: text_line(p, "fence_%s();", ir_get_str(op, "kind", "")); return true;
  case TG_WGMMA_FENCE: pin(p, op); text_line(p, "wgmma_fence();"); return true;
  case TG_WGMMA_COMMIT: text_line(p, "wgmma_commit();"); return true;
  case TG_WGMMA_WAIT: text_line(p, "wgmma_wait<%d>();", attr(op, "pending")); pin(p, op); return true;
  case TG_SETMAXNREG:
    text_line(p, "setmaxnreg_%s<%d>();", ir_get_bool(op, "increase", false) ? "inc" : "dec", attr(op, "registers"));
    return true;
  case TG_ELECT: text_define(p, op->results[0], "elect()"); return true;
  case TG_CLUSTER_SYNC:
    text_line(p, "cluster_%s();", *ir_get_str(op, "half", "") ? ir_get_str(op, "half", "") : "sync");
    return true;
  case TG_CLUSTER_STORE:
    text_line(p, "cluster_store(%s, %s, %s);", text_address(p, op, 1), text_expr(op->operands[3]),
              text_expr(op->operands[0]));
    return true;
  case TG_CLUSTER_RANK: text_define(p, op->results[0], "cluster_rank()"); return true;
  default: return false;
  }
}

static bool amd_op(text_printer *p, ir_op *op) {
  switch (op->def->code) {
  case TG_LDS_LOAD:
    text_line(p, "lds_load<%d>(%s, %s);", attr(op, "bytes"), text_address(p, op, 0), text_address(p, op, 2));
    return true;
  case TG_WAITCNT:
    text_line(p, "waitcnt<%d, %d>();", (int)ir_get_int(op, "vmcnt", -1), (int)ir_get_int(op, "lgkmcnt", -1));
    return true;
  case TG_SETPRIO: text_line(p, "setprio<%d>();", attr(op, "level")); return true;
  case TG_SCHED_BARRIER:
    for (int i = 0; i < op->n_operands; i++) text_line(p, "settle(%s);", text_expr(op->operands[i]));
    text_line(p, "sched_barrier<%d>();", attr(op, "mask"));
    return true;
  default: return false;
  }
}

bool text_vendor_op(text_printer *p, ir_op *op) {
  const text_matrix *matrix = text_matrix_op(op);
  if (matrix) {
    if (dialect_of(p->caps)->ops & matrix->ops) matrix->put(p, op);
    return dialect_of(p->caps)->ops & matrix->ops;
  }
  switch (op->def->code) {
    case TG_CP_ASYNC:
      text_line(p, "cp_async<%d>(%s, %s%s);", attr(op, "bytes"), text_address(p, op, 0), text_address(p, op, 2),
                rest(p, op, 4));
      return true;
    case TG_CP_COMMIT: text_line(p, "cp_commit();"); return true;
    case TG_CP_WAIT: text_line(p, "cp_wait<%d>();", attr(op, "pending")); return true;
    case TG_LDMATRIX:
      text_define(p, op->results[0],
                  text_fmt(p, "ldmatrix<%d, %s>(%s)", attr(op, "count"), yes_no[ir_get_bool(op, "transpose", false)],
                           text_address(p, op, 0)));
      return true;
    case TG_STMATRIX:
      text_line(p, "stmatrix<%s>(%s, %s);", yes_no[ir_get_bool(op, "transpose", false)], text_address(p, op, 1),
                text_expr(op->operands[0]));
      return true;
    case TG_NAMED_BARRIER:
      text_line(p, "named_barrier_%s<%d, %d>();", ir_get_bool(op, "arrive", false) ? "arrive" : "sync", attr(op, "id"),
                attr(op, "threads"));
      return true;
    default:
      return ((dialect_of(p->caps)->ops & OPS_NVIDIA) && hopper_op(p, op)) ||
             ((dialect_of(p->caps)->ops & OPS_AMD) && amd_op(p, op));
  }
}
