/* core/import/onnx/convert.h - ONNX models as Graph IR. Each ONNX op is a row of a table (onnx/rows.h): a function that
 * builds it from ops of Graph IR, whose rules give the shapes. All dimensions are numbers by then: those that the model
 * leaves open are given by the caller. What is computed from shapes and constants alone becomes constants on the way.
 * Conditions and trip counts must be known; Loop and Scan are written out. Functions of the model are put in place.
 *
 * What can't be converted is collected, not stopped at: the report has all of it, and the status is one line with the
 * same. */
#ifndef CORE_IMPORT_ONNX_CONVERT_H
#define CORE_IMPORT_ONNX_CONVERT_H
#include "core/import/onnx/options.h"

void onnx_report_clear(onnx_report *r);

/* A module with one function: the model's inputs in their order (onnx_model.inputs), named as they are, with _ for
 * characters that IR text can't hold in a name, and its outputs. TSR_UNSUPPORTED with every op that can't be converted,
 * TSR_INVALID_ARGUMENT where a shape is missing. report may be NULL; else it is filled, and cleared by the caller,
 * whatever comes of it. The module borrows the model's memory. */
TSR_MUST_USE tsr_status onnx_convert(onnx_model *m, const onnx_options *o, const tsr_allocator *al, ir_module **out,
                                     onnx_report *report);
#endif
