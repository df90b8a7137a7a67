/* core/passes/schedule/key.h - what a schedule.kernel is, without its name and its place: two kernels of one program
 * with the same key become the same code, so that it is lowered, emitted, compiled and loaded once. */
#ifndef CORE_PASSES_SCHEDULE_KEY_H
#define CORE_PASSES_SCHEDULE_KEY_H
#include "core/ir/schedule/schedule.h"

/* Replaces out's text by the key: attributes but for the name, operand types and which of them are constants, and the
 * body with its schedule. It holds addresses of the module's types and of op tables, so it says nothing about other
 * modules. Uses the scratch fields of the body's values. False for a kernel that has no key (a region inside its body);
 * a full memory shows in the text builder. */
bool sched_key(const ir_op *kernel, strb *out);
#endif
