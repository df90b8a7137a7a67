/* backends/null/backend.h - a device that accepts everything and computes nothing: the whole pipeline for any dialect
 * without hardware, and the recipe for a new backend. */
#ifndef BACKENDS_NULL_BACKEND_H
#define BACKENDS_NULL_BACKEND_H
#include "core/device/backend.h"

extern const be_vtable null_backend;
#endif
