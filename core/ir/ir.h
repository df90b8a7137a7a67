/* core/ir/ir.h - the one data structure behind all four levels: operations with operands, results, attributes and
 * single-block regions, in SSA form, owned by one arena per module.
 *
 * A level is an op table (ir/graph/table.c, ir/schedule/ops.c, ir/tile/ops.c, ir/target/ops.c): an operation is one
 * row. Builder, verifier, printer and parser below are the same for every level; the text is MLIR's generic operation
 * form. Invariants: every op points at a row of a table; a value has exactly one definition; all memory is the
 * module's; names of ops are full ("tessera.graph.add"). Not thread-safe; different modules may be used by different
 * threads.
 */
#ifndef CORE_IR_IR_H
#define CORE_IR_IR_H
#include <string.h>

#include "core/base/arena.h"
#include "core/base/policy.h"
#include "core/base/status.h"
#include "core/base/str.h"
#include "core/ir/mapped.h"

typedef struct ir_module ir_module;
typedef struct ir_op ir_op;
typedef struct ir_block ir_block;
typedef struct ir_value ir_value;
typedef struct ir_attr ir_attr;
typedef struct ir_opdef ir_opdef;

/* ---- types ----------------------------------------------------------------------------------------------------- */

typedef enum ir_type_kind {
  IR_T_NONE,
  IR_T_INDEX,   /* index: block ids, loop counters, offsets */
  IR_T_SCALAR,  /* f32, i32, i1, ... */
  IR_T_TENSOR,  /* tensor<2x?xf32>: Graph and Schedule IR */
  IR_T_VIEW,    /* !tessera.view<...>: a window of global memory, Tile and Target IR */
  IR_T_SHARED,  /* !tessera.shared<...>: a tile in memory shared by the block */
  IR_T_FRAG,    /* !tessera.frag<...>: a tile held in registers, spread over the block */
  IR_T_VECTOR,  /* vector<4xf32>: what one thread holds, Target IR */
  IR_T_ARRAY,   /* !tessera.array<16xf32>: a register array of one thread, Target IR */
  IR_T_MATRIX,  /* !tessera.matrix<16x16xf16, "a">: a matrix operand spread over a subgroup, Target IR */
  IR_T_PTR,     /* !tessera.ptr<f32, "global">: Target IR */
  IR_T_TOKEN,   /* !tessera.token: completion of an asynchronous op */
  IR_T_FUNCTION /* (tensor<2xf32>) -> tensor<2xf32>: of attributes, never of a value; `use` is the text */
} ir_type_kind;

#define IR_DYNAMIC INT64_MIN /* an unknown dimension or offset, printed '?' */

typedef struct ir_type {
  ir_type_kind kind;
  tsr_dtype dtype; /* element type of scalars and shaped types */
  int rank;
  int64_t dims[TSR_MAX_RANK];
  /* VIEW, SHARED: distance of neighbours per dimension in elements. Row-major when has_strides is false. */
  bool has_strides;
  int64_t strides[TSR_MAX_RANK];
  int64_t offset; /* VIEW: first element */
  int64_t pad;    /* SHARED: elements added to each row */
  const char *use; /* MATRIX: "a", "b", "acc"; PTR: "global", "shared"; VIEW, SHARED: layout name or NULL */
} ir_type;

/* Types are interned: equal types of one module are the same pointer. NULL when out of memory. */
const ir_type *ir_type_get(ir_module *m, const ir_type *t);
const ir_type *ir_type_index(ir_module *m);
const ir_type *ir_type_scalar(ir_module *m, tsr_dtype t);
const ir_type *ir_type_shaped(ir_module *m, ir_type_kind kind, tsr_dtype t, int rank, const int64_t *dims);
#define ir_type_tensor(m, t, rank, dims) ir_type_shaped(m, IR_T_TENSOR, t, rank, dims)
/* The type of a function with these arguments and results. */
const ir_type *ir_type_function(ir_module *m, const ir_type *const *in, int n_in, const ir_type *const *out, int n_out);
#define ir_type_frag(m, t, rank, dims) ir_type_shaped(m, IR_T_FRAG, t, rank, dims)
/* Elements; IR_DYNAMIC if any dimension is; -1 on overflow of int64, of the non-zero dimensions' product too, so that
 * any part of a valid shape can be multiplied safely. */
int64_t ir_type_count(const ir_type *t);
/* Of as many elements one after the other; negative where their number is unknown or none. */
int64_t ir_type_bytes(const ir_type *t);
/* Every part of it, padding too, can be counted in bytes with 64 bits. True of types without a shape. */
bool ir_type_fits(const ir_type *t);
/* Strides in elements (row-major, plus pad on the next-to-last dimension, unless given). */
void ir_type_strides(const ir_type *t, int64_t *strides);
static inline bool ir_type_is_shaped(const ir_type *t) {
  const unsigned shaped = 1u << IR_T_TENSOR | 1u << IR_T_VECTOR | 1u << IR_T_VIEW | 1u << IR_T_SHARED |
                          1u << IR_T_FRAG | 1u << IR_T_ARRAY | 1u << IR_T_MATRIX;
  return shaped >> t->kind & 1;
}
void ir_type_print(strb *b, const ir_type *t);

/* ---- attributes ------------------------------------------------------------------------------------------------ */

typedef enum ir_attr_kind {
  IR_A_UNIT, IR_A_BOOL, IR_A_INT, IR_A_FLOAT, IR_A_STR, IR_A_TYPE, IR_A_ARRAY, IR_A_DENSE
} ir_attr_kind;

struct ir_attr {
  ir_attr_kind kind;
  union {
    int64_t i; /* INT, BOOL */
    double f;
    const char *s;
    const ir_type *type;
    struct { ir_attr **v; int n; } array;
    /* splat: data holds one element. file: data lies in it (ir/mapped.h), else NULL. */
    struct { const ir_type *type; void *data; size_t bytes; bool splat; ir_mapped *file; } dense;
  } u;
};

typedef struct ir_named_attr {
  const char *name;
  ir_attr *attr;
} ir_named_attr;

/* Names that differ mostly do so at once, and equal literals are mostly one: looking attributes up is much of what
 * passes do. */
static inline bool ir_same_name(const char *a, const char *b) { return a == b || (*a == *b && !strcmp(a, b)); }

/* ---- operations ------------------------------------------------------------------------------------------------ */

typedef struct ir_loc { int line, col; } ir_loc; /* of the text; 0 = not from text */

struct ir_value {
  const ir_type *type;
  ir_op *def;      /* NULL for a block argument */
  ir_block *owner; /* the block of an argument; NULL for a result */
  int index;       /* among results or arguments */
  int n_uses;      /* maintained by builder and ir_set_operand */
  const char *name; /* as written in the text, without '%'; may be NULL */
  ir_loc loc;       /* of an argument; a result is where its op is (ir_value_loc) */
  int64_t scratch; /* for the running pass */
  void *data;
  /* How a tensor lies on a mesh (ir/shard.h) and in memory (ir/layout.h); NULL: not said. No part of its type. */
  const char *shard, *layout;
  ir_value *forward; /* what stands in its place, until the ops that read it are settled (ir_forward); else NULL */
};

struct ir_block {
  ir_value **args;
  int n_args, cap_args;
  ir_op *first, *last;
  ir_op *parent;
};

struct ir_op {
  const ir_opdef *def;
  ir_value **operands, **results;
  int n_operands, n_results, cap_operands; /* cap_operands: 0 until ir_add_operand grew the array */
  ir_named_attr *attrs;
  int n_attrs;
  ir_block **regions; /* one block each */
  int n_regions;
  ir_block *parent;
  ir_op *prev, *next;
  ir_module *module;
  ir_loc loc;
  int64_t scratch;
  void *data;
};

struct ir_module {
  arena arena;
  const char *file; /* for messages; may be NULL */
  ir_op *root;      /* builtin.module */
  ir_type **types; /* open addressing */
  size_t n_types, cap_types;
  const ir_type *index_type, *scalar_types[TSR_N_DTYPES]; /* of those types that were asked for */
  const struct ir_symbols *symbols; /* while the module is verified: its kernels by name; else NULL */
  tsr_status refusal; /* what a builder was refused, if anything: see ir_cause */
  ir_mappings mapped; /* files that constants lie in */
  uint64_t failures;  /* al_failures() when the module was made or a pass over it began */
};

typedef enum ir_level { IR_BUILTIN, IR_GRAPH, IR_SCHEDULE, IR_TILE, IR_TARGET, IR_N_LEVELS } ir_level;
const char *ir_level_name(ir_level l);

/* ---- op tables ------------------------------------------------------------------------------------------------- */

typedef struct ir_attr_def {
  const char *name;
  ir_attr_kind kind;
  bool required;
  const char *dflt; /* the default as text, NULL if none */
  const char *help;
} ir_attr_def;

enum ir_op_flags {
  IR_TERMINATOR = 1 << 0,
  IR_ELEMENTWISE = 1 << 1, /* each result element depends on the same element of each operand */
  IR_PURE = 1 << 2,        /* no effect but its results: may be removed when unused */
  IR_COMMUTES = 1 << 3,
  IR_ASYNC = 1 << 4,
  IR_VIEWLIKE = 1 << 5,    /* moves or repeats elements without computing */
  IR_REDUCES = 1 << 6,
  IR_ANY_ATTRS = 1 << 7,   /* attributes beyond the table's are kept */
  IR_SCALAR = 1 << 8,      /* of Tile and Target IR: one of scalar_ops.h, whose code it has */
  IR_POSITION = 1 << 9,    /* of Target IR: a constant, or where in the launch it runs */
  IR_COOPMAT = 1 << 10,    /* of Target IR: on cooperative matrices */
  IR_ISOLATED = 1 << 11,   /* compiled or run by itself: its regions see no values from outside */
  IR_PROGRAM = 1 << 12,    /* of each level below Graph IR: what runs, kernels or launches of them in order */
  IR_KERNEL = 1 << 13,     /* the same: one kernel */
  IR_BUFFER = 1 << 14      /* of Tile and Target IR: memory that a program has */
};

#define IR_VARIADIC (-1)

/* Fills results[] with the types of op's results, or checks the regions and attributes; reports with ir_error. */
typedef tsr_status (*ir_infer_fn)(ir_op *op, const ir_type **results);
typedef tsr_status (*ir_verify_fn)(const ir_op *op);
/* The type that operand i must have by the attributes alone, for text that leaves it out (see ir_parse); NULL if
 * unknown. */
typedef const ir_type *(*ir_implied_fn)(ir_op *op, int i);

struct ir_opdef {
  const char *name; /* full name */
  ir_level level;
  int min_operands, max_operands; /* max IR_VARIADIC = any number */
  int n_results;                  /* IR_VARIADIC = any number */
  int n_regions;                  /* IR_VARIADIC = any number */
  unsigned flags;
  const ir_attr_def *attrs; /* ended by a NULL name; NULL = none */
  char gives; /* what results written out must be, a letter of ir/operands.c; 0: inferred, or the op checks */
  const char *kinds; /* a letter per operand (ir/operands.c), the last for all behind it too; NULL: the op checks */
  const char *operands_doc; /* "a, b" names the operands in messages, documents and `tessera ops` */
  const char *types_doc;
  const char *help;
  ir_infer_fn infer;   /* NULL: result types must be written out */
  ir_verify_fn verify; /* beyond operand counts, attribute kinds and infer agreeing with the results; may be NULL */
  int code;            /* the level's own enum, for switches */
  ir_implied_fn implied; /* may be NULL */
  const struct row_recipe *recipe; /* of reductions, softmax and norms: how a row is computed (ir/recipe.h) */
  const void *ext;     /* level-specific part of the row */
};

/* What an operand must be by its letter in ir_opdef.kinds. */
typedef struct ir_kind {
  char letter;
  const char *name;     /* "an index" */
  unsigned types;       /* bits of ir_type_kind */
  const char *use;      /* of a pointer; NULL = any */
  const char *elements; /* element type's name in the text form; NULL = any */
} ir_kind;
const ir_kind *ir_operand_kind(const ir_opdef *d, int i); /* NULL if the row doesn't say */
bool ir_kind_takes(const ir_kind *k, const ir_type *t);
/* Are op's operands what its row says? Part of ir_verify_op. */
tsr_status ir_check_operands(const ir_op *op);
tsr_status ir_check_results(const ir_op *op);

/* Is op, of Tile or Target IR, one of ir/scalar_ops.h? Its code is then a scalar_code. */
#define ir_is_scalar(op) (((op)->def->flags & IR_SCALAR) != 0)
/* Row i of a level, NULL behind the last. */
const ir_opdef *ir_row(ir_level l, size_t i);
/* By full name; NULL if unknown. */
const ir_opdef *ir_find_op(const char *name);
/* Without its level: "matmul". */
static inline const char *ir_short_name(const ir_opdef *d) { return strrchr(d->name, '.') + 1; }
/* The op of a level that has the short name of d, an op of another; NULL: there is none. */
const ir_opdef *ir_find_like(ir_level l, const ir_opdef *d);

/* ---- module and builder ---------------------------------------------------------------------------------------- */

tsr_status ir_module_create(const tsr_allocator *al, ir_module **out);
void ir_module_destroy(ir_module **m);
/* A deep copy with its own arena. */
tsr_status ir_module_clone(const ir_module *m, ir_module **out);

/* Where new ops go: at the end of block, or before `before` if not NULL.
 * What a pass builds is found where its source is in the text: at loc if that is set, else where `before` is, else
 * where the op around it is. So a pass sets loc for each op that it lowers, and whatever goes wrong below names the
 * user's line. */
typedef struct ir_builder {
  ir_module *m;
  ir_block *block;
  ir_op *before;
  bool failed; /* sticky: no memory, or refused (ir_refuse); builder calls then return NULL */
  ir_loc loc;
} ir_builder;

/* A builder gives NULL where there is no memory, and where what it was asked for can't be: a fault of the pass, whose
 * first one the module keeps. Callers need not tell the two apart: they give NULL on, or end with st_oom(). Who began a
 * pass with ir_begin ends it with ir_cause, which leaves "out of memory" as it is if an allocation failed since then,
 * and else makes it TSR_INTERNAL with what was refused (of m or of `other`, a second module built in; may be NULL). */
void ir_begin(ir_module *m);
void ir_refuse(ir_module *m, tsr_status why);
tsr_status ir_cause(ir_module *m, ir_module *other, tsr_status st);
/* Refuses what lacks a part (an operand, a type, an attribute) although there was memory for it; returns NULL. */
void *ir_lacks(ir_module *m, const char *op, const char *fmt, ...) TSR_PRINTF(3, 4);

static inline ir_builder ir_at_end(ir_module *m, ir_block *b) { return (ir_builder){.m = m, .block = b}; }
static inline ir_builder ir_before(ir_op *op) {
  return (ir_builder){.m = op->module, .block = op->parent, .before = op};
}
static inline ir_loc ir_value_loc(const ir_value *v) { return v->def ? v->def->loc : v->loc; }

/* A new op with n_results untyped results and as many empty regions as asked for. NULL when out of memory. */
ir_op *ir_op_new(ir_builder *b, const ir_opdef *def, int n_operands, ir_value *const *operands, int n_results,
                 const ir_type *const *result_types, int n_regions);
/* The same by name, with one result of the given type (NULL = infer). Asserts that the name is in a table. */
ir_value *ir_build1(ir_builder *b, const char *name, const ir_type *type, int n_operands, ir_value *const *operands);
ir_op *ir_build0(ir_builder *b, const char *name, int n_operands, ir_value *const *operands);
/* Copies op with its regions; operands are mapped through map(user, value) (identity where it returns NULL). */
ir_op *ir_op_copy(ir_builder *b, const ir_op *op, ir_value *(*map)(void *user, ir_value *v), void *user);
ir_value *ir_block_arg(ir_module *m, ir_block *b, const ir_type *type, const char *name);
/* One with the name and the place in the text of `like`, whatever module that belongs to. */
ir_value *ir_block_arg_like(ir_module *m, ir_block *b, const ir_type *type, const ir_value *like);
/* `to`, of module m, lies where `from` does. False when out of memory. */
bool ir_placement_copy(ir_module *m, ir_value *to, const ir_value *from);
/* `to`, of any module, gets arguments like all of from's; each of those keeps its counterpart in data. */
bool ir_block_args_copy(ir_module *m, ir_block *to, const ir_block *from);
void ir_op_remove(ir_op *op); /* unlinks; results must have no uses left */
void ir_set_operand(ir_op *op, int i, ir_value *v);
bool ir_add_operand(ir_op *op, ir_value *v);
void ir_op_move(ir_op *op, ir_block *to, ir_op *before); /* NULL: to the end of `to` */
void ir_replace_uses(ir_op *root, ir_value *from,
                     ir_value *to); /* within root's regions; walks them until no use is left */
/* The same for a pass that walks a block in order, at a cost that doesn't depend on how far away the uses are:
 * ir_forward counts from's uses as to's, and ir_settle, which the pass calls at each op it comes to, writes them. Every
 * op behind from must be settled before anything else looks at its operands. */
void ir_forward(ir_value *from, ir_value *to);
void ir_settle(ir_op *op);
/* Removes unused pure ops under root, innermost last. Returns how many went. */
int ir_dce(ir_op *root);

/* Forgets what a pass has hung on op, its results and everything inside it. */
void ir_clear_data(ir_op *op);
/* Walks op and everything inside it, outer first; stops when fn fails. */
tsr_status ir_walk(ir_op *op, tsr_status (*fn)(ir_op *op, void *user), void *user);

/* ---- attribute access ------------------------------------------------------------------------------------------ */

ir_attr *ir_attr_int(ir_module *m, int64_t v);
ir_attr *ir_attr_bool(ir_module *m, bool v);
ir_attr *ir_attr_float(ir_module *m, double v);
ir_attr *ir_attr_str(ir_module *m, const char *s);
ir_attr *ir_attr_type(ir_module *m, const ir_type *t);
ir_attr *ir_attr_ints(ir_module *m, const int64_t *v, int n);
/* As the public functions take it. */
struct tsr_attr;
ir_attr *ir_attr_given(ir_module *m, const struct tsr_attr *a);
/* A deep copy owned by m, also of another module's attribute. */
enum { IR_MOST_ATTRS = 1024 }; /* of an op that others write: each is looked for among all */
ir_attr *ir_attr_copy(ir_module *m, const ir_attr *a);
/* All attributes of `from`, in any module, set on `to`. */
bool ir_attrs_copy(ir_op *to, const ir_op *from);
ir_attr *ir_attr_dense(ir_module *m, const ir_type *t, const void *data, size_t bytes, bool splat);
/* The elements of `a`, of the same module and no splat, from a byte on, as that type: the same memory. */
ir_attr *ir_attr_part(ir_module *m, const ir_type *t, const ir_attr *a, size_t offset);
/* Sets or replaces; NULL attr (out of memory) returns false. */
bool ir_set_attr(ir_op *op, const char *name, ir_attr *a);
ir_attr *ir_get_attr(const ir_op *op, const char *name);
/* With the table's default, or `dflt` where the table has none. */
int64_t ir_get_int(const ir_op *op, const char *name, int64_t dflt);
double ir_get_float(const ir_op *op, const char *name, double dflt);
bool ir_get_bool(const ir_op *op, const char *name, bool dflt);
const char *ir_get_str(const ir_op *op, const char *name, const char *dflt);
/* Copies up to cap integers, returns how many the attribute has (0 if absent, -1 if not a list of integers). */
int ir_get_ints(const ir_op *op, const char *name, int64_t *v, int cap);
/* The same of numbers, integers among them. */
int ir_get_floats(const ir_op *op, const char *name, double *v, int cap);

/* ---- text ------------------------------------------------------------------------------------------------------ */

/* Whether a value's name survives printing and reading: a letter or _, then letters, digits and _ . $ - (letters of
 * ASCII). */
bool ir_name_is_plain(const char *name);
/* Prints the module (or one op) in generic form with explicit types. */
void ir_print(strb *b, const ir_module *m);
void ir_print_op(strb *b, const ir_op *op, int indent);
/* Parses text into a new module and verifies it. `file` is used in messages ("file:line:column: expected ..."). A text
 * without builtin.module around it is wrapped in one; bare operations whose operands are defined nowhere (the two short
 * lines) become a "tessera.fragment" whose block arguments are those operands. TSR_PARSE_ERROR or TSR_VERIFY_ERROR on
 * bad input. */
tsr_status ir_parse(const tsr_allocator *al, const char *text, size_t n, const char *file, ir_module **out);

/* ---- verification ---------------------------------------------------------------------------------------------- */

/* Operand counts, dominance, attributes against the table, result types against inference, each op's own rule. */
tsr_status ir_verify(ir_module *m);
tsr_status ir_verify_op(ir_op *op);
/* A TSR_VERIFY_ERROR that names file:line:column (if known), level and op. */
tsr_status ir_error(const ir_op *op, const char *hint, const char *fmt, ...) TSR_PRINTF(3, 4);
/* The same with another code, and at another place than the op's (an argument, say). */
tsr_status ir_error_at(const ir_op *op, ir_loc at, tsr_code code, const char *hint, const char *fmt, ...)
    TSR_PRINTF(5, 6);
/* For verifiers: the attribute `policy`, where op has one, is a numerics policy. */
tsr_status ir_check_policy(const ir_op *op);
/* The attribute `policy` of a verified op; fast where it has none. */
tsr_policy ir_policy(const ir_op *op);

/* All ops as JSON (an array) or as the markdown of docs/ir.md. */
void ir_ops_json(strb *b);
void ir_ops_markdown(strb *b);

#endif
