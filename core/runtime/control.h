/* core/runtime/control.h - if and while as steps of a program (tessera.target.control): other programs of the same
 * module, which share its code and run on its buffers. The host decides which runs, or how often. */
#ifndef CORE_RUNTIME_CONTROL_H
#define CORE_RUNTIME_CONTROL_H
#include "core/runtime/internal.h"

typedef struct rt_control rt_control;

/* The step that op says, whose programs are planned; they belong to p. */
tsr_status rt_control_bind(tsr_program *p, const ir_op *op, rt_control **out);
/* Once p's code is on the device: what the step needs to run. */
tsr_status rt_control_build(tsr_program *p, rt_control *c);
int rt_control_outputs(const rt_control *c);
tsr_status rt_control_run(tsr_program *p, be_stream *s, const rt_launch *l, rt_control *c);
/* The memory of its own, which rt_control_build made. */
void rt_control_clear(rt_control *c);
#endif
