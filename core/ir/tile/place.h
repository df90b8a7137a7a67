/* core/ir/tile/place.h - the part of a row of Tile and Target IR that says where the op may stand, what its region
 * holds and which of its operands it writes; read by ir/tile/place.c. A row without one is an op of kernels that writes
 * nothing, and its regions hold a kernel's ops. */
#ifndef CORE_IR_TILE_PLACE_H
#define CORE_IR_TILE_PLACE_H
#include "core/ir/ir.h"

/* What an op is to the region that it stands in; a region takes a set of these. */
enum {
  TILE_OF_MODULE = 1,
  TILE_OF_PROGRAM = 2,
  TILE_OF_KERNEL = 4,
  TILE_OF_ELEMENT = 8,
  TILE_ENDS_WITH_RETURN = 16,
  TILE_ENDS_WITH_YIELD = 32,
  TILE_OF_LOOKUP = 64,   /* reads an element of a view at indices that an elementwise region computes */
  TILE_ANYTHING = 127 /* a module, a fragment */
};
enum {
  TILE_WRITES_OUTPUTS = -1, /* as many operands as the attribute `outputs` says */
  TILE_WRITES_REST = -2     /* all operands from first_written on but so many as the regions have arguments */
};

typedef struct tile_place {
  unsigned is, takes;
  bool maps; /* the region runs over the elements of the operands; others of TILE_OF_ELEMENT over its arguments */
  int first_written, n_written;
  int rank; /* of what the regions' elements are of, where the two rules of `maps` don't tell; else 0 */
} tile_place;

#define PLACE(...) .ext = &(const tile_place){__VA_ARGS__}
#define PLACE_PROGRAM PLACE(TILE_OF_MODULE, TILE_OF_PROGRAM | TILE_ENDS_WITH_RETURN)
#define PLACE_KERNEL PLACE(TILE_OF_MODULE, TILE_OF_KERNEL | TILE_ENDS_WITH_RETURN)
#define PLACE_IN_PROGRAM PLACE(TILE_OF_PROGRAM, TILE_OF_KERNEL | TILE_ENDS_WITH_YIELD)
#define PLACE_RETURN PLACE(TILE_ENDS_WITH_RETURN, TILE_OF_KERNEL | TILE_ENDS_WITH_YIELD)
#define PLACE_YIELD PLACE(TILE_ENDS_WITH_YIELD, TILE_OF_KERNEL | TILE_ENDS_WITH_YIELD)
#define PLACE_SCALAR PLACE(TILE_OF_KERNEL | TILE_OF_ELEMENT, TILE_OF_KERNEL | TILE_ENDS_WITH_YIELD)
#define PLACE_ELEMENT PLACE(TILE_OF_ELEMENT, TILE_OF_KERNEL | TILE_ENDS_WITH_YIELD)
#define PLACE_WRITES(first, n) PLACE(TILE_OF_KERNEL, TILE_OF_KERNEL | TILE_ENDS_WITH_YIELD, false, first, n)
#define PLACE_PER_ELEMENT(maps, first, n) PLACE(TILE_OF_KERNEL, TILE_OF_ELEMENT | TILE_ENDS_WITH_YIELD, maps, first, n)
/* As PLACE_PER_ELEMENT without maps, and the region may look elements up; written: those of the operands. */
#define PLACE_INDEXED(first, n) \
  PLACE(TILE_OF_KERNEL, TILE_OF_ELEMENT | TILE_OF_LOOKUP | TILE_ENDS_WITH_YIELD, false, first, n)
#define PLACE_LOOKUP PLACE(TILE_OF_KERNEL | TILE_OF_LOOKUP, TILE_OF_KERNEL | TILE_ENDS_WITH_YIELD)
#define PLACE_CONTRACT PLACE(TILE_OF_KERNEL, TILE_OF_ELEMENT | TILE_ENDS_WITH_YIELD, false, 1, TILE_WRITES_REST, 2)
#define PLACE_ROW PLACE(TILE_OF_KERNEL, TILE_OF_ELEMENT | TILE_ENDS_WITH_YIELD, false, 0, 0, 2)
#endif
