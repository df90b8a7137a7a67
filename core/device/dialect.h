/* core/device/dialect.h - what a dialect of device code is called in IR text and in traces. */
#ifndef CORE_DEVICE_DIALECT_H
#define CORE_DEVICE_DIALECT_H
#include "core/device/caps.h"

/* "cpu", "spirv", ...: the `dialect` attribute of a Target IR kernel. */
const char *target_dialect_name(tsr_dialect d);
#endif
