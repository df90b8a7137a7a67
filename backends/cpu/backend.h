/* backends/cpu/backend.h - the CPU backend's table; named only by the registry. */
#ifndef BACKENDS_CPU_BACKEND_H
#define BACKENDS_CPU_BACKEND_H
#include "core/device/backend.h"

extern const be_vtable cpu_backend;
#endif
