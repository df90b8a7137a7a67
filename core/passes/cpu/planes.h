/* core/passes/cpu/planes.h - blocks that do little each, a plane of an image at a time, become fewer of several. */
#ifndef CORE_PASSES_CPU_PLANES_H
#define CORE_PASSES_CPU_PLANES_H
#include "core/device/caps.h"
#include "core/ir/ir.h"

/* In place, of a finished kernel of the CPU dialect; one that isn't of that kind stays as it is. */
tsr_status cpu_join_planes(ir_op *kernel, const tsr_caps *caps);
#endif
