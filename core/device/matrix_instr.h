/* core/device/matrix_instr.h - matrix instructions, one row each: shape, element types, the architectures that have it
 * and that are offered it, where its elements lie in the lanes, how a compiler spells it, how fast it is. The tables of
 * architectures (device/arch.c) list what the rows offer, the lowerings take layouts and operand sizes from the lane
 * maps, the printer the spelling, estimates the rate, and the emulator of the tests deals out elements by the maps,
 * which tests/simt/test_simt_lanes.c holds against the vendors' own figures. Cooperative matrices are no rows: their
 * drivers list shapes and hide the maps. */
#ifndef CORE_DEVICE_MATRIX_INSTR_H
#define CORE_DEVICE_MATRIX_INSTR_H
#include "core/device/caps.h"

/* X(KIND, its name: of the op of Target IR, in paths and of the printed wrappers; who runs it; are its columns any
 * multiple of 8?, are the operands that a lane has 32-bit registers, or their elements?) */
#define MATRIX_KINDS(X)                         \
  X(WGMMA, "wgmma", SCOPE_WARPGROUP, true, true) \
  X(MMA, "mma", SCOPE_SUBGROUP, false, true)     \
  X(MFMA, "mfma", SCOPE_SUBGROUP, false, false)  \
  X(WMMA, "wmma", SCOPE_SUBGROUP, false, false)
#define MATRIX_KIND(KIND, ...) MATRIX_##KIND,
typedef enum matrix_kind { MATRIX_KINDS(MATRIX_KIND) N_MATRIX_KINDS } matrix_kind;
#undef MATRIX_KIND
typedef struct matrix_kind_row {
  const char *name;
  matrix_scope scope;
  bool any_columns, words;
} matrix_kind_row;
const matrix_kind_row *matrix_kind_get(matrix_kind kind);
/* N_MATRIX_KINDS: none has this name. */
matrix_kind matrix_kind_named(const char *name);
typedef enum matrix_operand { MATRIX_A, MATRIX_B, MATRIX_C } matrix_operand;

/* Where an operand's elements lie. Its dimensions are (m, k) of a, (n, k) of b, (m, n) of c, and along each
 *     element = (((warp * inner + i) * lanes + lane) * vec + v
 * with inner = extent / (warps * lanes * vec). Lanes count through the lanes of dimension 1 first (lane_0_first: of
 * dimension 0). A lane's values count through v of dimension 1, v of dimension 0, i of dimension 0, i of dimension 1.
 */
typedef struct lane_map {
  int vec[2];   /* LANE_REST: all that the lanes leave; LANE_WORD: elements of a 32-bit register */
  int lanes[2]; /* 0, 0: the operand comes from shared memory */
  int warps;    /* along dimension 0; 0: one */
  bool lane_0_first;
} lane_map;
enum { LANE_REST = 0, LANE_WORD = -1 };

enum { MATRIX_MAX_COLUMNS = 3, MATRIX_MAX_ARCHS = 6 };
typedef struct matrix_instr {
  matrix_kind kind;
  int m, n[MATRIX_MAX_COLUMNS], k; /* n: wgmma's are those offered, the widest first, of all multiples of 8 */
  tsr_dtype a, b, c;
  int wave;            /* lanes of a subgroup */
  const char *archs;   /* that have it: prefixes of names, each followed by a blank */
  const char *offered; /* to plans; NULL: to all of them, "": to none, it is for texts and operands of two types */
  const lane_map *map; /* of a, b and c */
  const char *builtin; /* clang's, without __builtin_amdgcn_mfma_ or _wmma_; NULL: PTX says it by types */
  const char *operand, *acc; /* clang's types of the builtin's operands */
  short rates[MATRIX_MAX_ARCHS]; /* operations per core and clock, two of each multiply-add, in the order of `archs` */
  const char *more;    /* what the builtin takes behind its operands; NULL: nothing */
  bool asks_sign;      /* it asks of each operand whether it is signed, and whether to clamp */
} matrix_instr;

const matrix_instr *matrix_instr_rows(int *n);
/* The lane maps of the kind's instructions of m rows on elements of this type: those of one size have the same, at all
 * depths. arch NULL: any. NULL: there are none. */
const lane_map *matrix_instr_maps(matrix_kind kind, int m, tsr_dtype in, const char *arch);
/* Has the architecture any of the kind? */
bool matrix_instr_has(matrix_kind kind, const char *arch);
/* The row of this shape and these types on an architecture (NULL: on any), or NULL. n of wgmma: any. */
const matrix_instr *matrix_instr_find(matrix_kind kind, int m, int n, int k, tsr_dtype a, tsr_dtype b,
                                      const char *arch);
/* The instruction of the kind for a product: one that the device lists and has enabled, the deepest that divides k (of
 * AMD's; NVIDIA's have one depth a type). m, n: its shape. Operands of the two fp8 types may differ. NULL: none. */
const matrix_instr *matrix_instr_for(const tsr_caps *c, matrix_kind kind, int m, int n, int64_t k, tsr_dtype a,
                                     tsr_dtype b, tsr_dtype acc);
/* Values of an operand in one lane, and where value e of a lane is: the coordinates along the operand's dimensions. */
int matrix_instr_values(const matrix_instr *x, matrix_operand of);
void matrix_instr_place(const matrix_instr *x, matrix_operand of, int lane, int e, int at[2]);
/* Lists in caps what the rows offer an architecture. */
void matrix_instr_list(tsr_caps *c);
/* Do all rows hold together: does a map cover each element, each as often as every other, do sizes add up? NULL, or
 * what is wrong. Asserted in debug builds wherever an architecture's capabilities are made. */
const char *matrix_instr_check(const matrix_instr *rows, int n);

/* The rate of a type against that of 16-bit floats where no instruction's is known: a driver's list, a CPU. */
double matrix_rate_by_width(tsr_dtype in);

/* fp8 on a device whose tensor cores keep few bits of their sums (caps.f8_sum_bits): the sums are added to others in
 * f32 each F8_PROMOTE of k, as CUTLASS and DeepGEMM do, which takes twice the registers. */
enum { F8_PROMOTE = 128 };
bool f8_is_promoted(const tsr_caps *caps, tsr_dtype in);
/* wgmma (sm_90a): the warpgroups that own a tile of m rows, and whether their registers hold an m x n
 * tile's sums. */
int wgmma_groups(int64_t m);
bool wgmma_holds(const tsr_caps *caps, tsr_dtype in, int64_t m, int64_t n);
#endif
