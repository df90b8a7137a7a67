/* tessera/tessera.h - the library: contexts, devices, buffers, streams, graphs, programs.
 *
 * Life of a program: tsr_context -> tsr_device -> tsr_graph (built by calls or parsed from IR text) -> tsr_program
 * (compiled for a device) -> tsr_program_run on buffers. Everything a call creates is destroyed by the caller with the
 * matching destroy call, which accepts NULL and sets the handle to NULL; a parent must outlive its children (context >
 * device > buffer, program, ...). Arguments: a pointer that may be NULL says so where it is declared, as do counts and
 * enums their values; anything else is TSR_INVALID_ARGUMENT, and the functions that return no status then return NULL,
 * zero or "". An array of no elements may be NULL. Threads: different contexts never share state. Within one context,
 * calls on different objects may run on different threads; one object is used by one thread at a time. Nothing is kept
 * in global variables. Guides: docs/programming-guide.md, docs/runtime-abi.md. */
#ifndef TESSERA_TESSERA_H
#define TESSERA_TESSERA_H

#include "tessera/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- documentation --------------------------------------------------------------------------------------------- */

/* The op tables of all levels as JSON or markdown; free with tsr_text_free. */
TSR_API TSR_MUST_USE tsr_status tsr_ops_json(tsr_context *ctx, char **text);
TSR_API TSR_MUST_USE tsr_status tsr_ops_markdown(tsr_context *ctx, char **text);

#ifdef __cplusplus
}
#endif
#endif
