/* core/dist/memory.h - where the slots of a schedule lie in its workspace. */
#ifndef CORE_DIST_MEMORY_H
#define CORE_DIST_MEMORY_H
#include "core/dist/steps.h"

/* Offsets of all slots that are no inputs or outputs, and the workspace's size: a slot takes the lowest place whose
 * users are all over, by the schedule's order, before its writer begins. False when out of memory. */
bool dist_memory_make(dist_schedule *s);
#endif
