/* core/passes/tile/fuse_maps.h - joins the maps of Tile IR kernels. */
#ifndef CORE_PASSES_TILE_FUSE_MAPS_H
#define CORE_PASSES_TILE_FUSE_MAPS_H
#include "core/ir/ir.h"

/* Inlines producers of maps into their only consumer. */
tsr_status tile_fuse_maps(ir_module *m);
#endif
