/* core/import/onnx/region.h - parts of a model that become regions of `if` and `while`. A region is built as a function
 * of its own; what it uses of the values around it becomes operands of the op, as a region sees nothing else. */
#ifndef CORE_IMPORT_ONNX_REGION_H
#define CORE_IMPORT_ONNX_REGION_H
#include "core/import/onnx/cv.h"
#include "core/ir/graph/control.h"

typedef struct cv_region {
  ir_op *func; /* NULL: there is none */
  ir_builder outside;
  bool open;
} cv_region;

/* What is built from here on is the region's, whose arguments have the types of `like`; args gets them. */
bool cv_region_begin(cv *c, cv_region *r, int n, ir_value *const *like, ir_value **args);
/* It returns these; what is built from here on is outside again, also where building failed. */
bool cv_region_end(cv *c, cv_region *r, int n, ir_value *const *results);
/* The op; its results in out. Both regions are gone afterwards, whatever happened. `operands` are the regions'
 * arguments; `if` has a condition besides. */
bool cv_if(cv *c, ir_value *cond, cv_region r[2], ir_value **out);
bool cv_while(cv *c, cv_region r[2], int n, ir_value *const *operands, int64_t max_trips, ir_value **out);
#endif
