/* core/emit/spirv/views.c - pointers into memory: shared memory is one range of bytes seen through aliased arrays of
 * each type (VK_KHR_workgroup_memory_explicit_layout) or, where that is missing, as an array of 32-bit words; global
 * memory is reached by 64-bit addresses or, where there are none, through arrays of each type too, over the storage
 * buffer that is bound for an argument. */
#include "core/emit/spirv/internal.h"

static int log2_size(int bytes) { return bytes == 16 ? 4 : bytes == 8 ? 3 : bytes == 4 ? 2 : bytes == 2 ? 1 : 0; }

/* The Workgroup variable that shows the block's memory as an array of `type` (bytes wide). */
static uint32_t shared_var(emitter *e, uint32_t type, int bytes) {
  for (int i = 0; i < e->n_shared_vars; i++)
    if (e->shared_vars[i].type == type) return e->shared_vars[i].var;
  if (e->n_shared_vars == (int)(sizeof e->shared_vars / sizeof *e->shared_vars)) {
    e->full = "views of shared memory";
    e->s.failed = true;
    return 1;
  }
  int64_t n = (e->shared_bytes + bytes - 1) / bytes;
  uint32_t count = e_u32(e, (uint32_t)(n > 0 ? n : 1)), array = spv_id(&e->s), holder = array, var;
  SPV(&e->s, SEC_TYPES, OpTypeArray, array, type, count);
  if (e->caps->shared_layout) {
    /* Not deduplicated: a Workgroup block has its own decorated types. */
    SPV(&e->s, SEC_DECORATIONS, OpDecorate, array, DecArrayStride, (uint32_t)bytes);
    holder = spv_id(&e->s);
    SPV(&e->s, SEC_TYPES, OpTypeStruct, holder, array);
    SPV(&e->s, SEC_DECORATIONS, OpDecorate, holder, DecBlock);
    SPV(&e->s, SEC_DECORATIONS, OpMemberDecorate, holder, 0, DecOffset, 0);
    spv_capability(&e->s, CapWorkgroupMemoryExplicitLayout);
    spv_extension(&e->s, "SPV_KHR_workgroup_memory_explicit_layout");
  }
  uint32_t pointer = e_ptr(e, StorageWorkgroup, holder);
  var = spv_id(&e->s);
  SPV(&e->s, SEC_TYPES, OpVariable, pointer, var, StorageWorkgroup);
  if (e->caps->shared_layout) SPV(&e->s, SEC_DECORATIONS, OpDecorate, var, DecAliased);
  e_interface(e, StorageWorkgroup, var);
  e->shared_vars[e->n_shared_vars].type = type;
  e->shared_vars[e->n_shared_vars++].var = var;
  return var;
}

/* Pointer to the array element of `type` at byte offset `at`. */
static uint32_t shared_pointer(emitter *e, uint32_t type, int bytes, uint32_t at) {
  uint32_t var = shared_var(e, type, bytes), u32 = e_int(e, 32), pt = e_ptr(e, StorageWorkgroup, type);
  int lg = log2_size(bytes);
  uint32_t i = lg ? VAL(&e->s, OpShiftRightLogical, u32, at, e_u32(e, (uint32_t)lg)) : at;
  if (e->caps->shared_layout) return VAL(&e->s, OpAccessChain, pt, var, e_u32(e, 0), i);
  return VAL(&e->s, OpAccessChain, pt, var, i);
}

/* A Block with a runtime array of `type`. */
static uint32_t array_block(emitter *e, uint32_t type, int bytes) {
  uint32_t before = e->s.next_id, array = TYPE(&e->s, OpTypeRuntimeArray, type);
  if (array >= before) SPV(&e->s, SEC_DECORATIONS, OpDecorate, array, DecArrayStride, (uint32_t)bytes);
  before = e->s.next_id;
  uint32_t holder = TYPE(&e->s, OpTypeStruct, array);
  if (holder < before) return holder;
  SPV(&e->s, SEC_DECORATIONS, OpDecorate, holder, DecBlock);
  SPV(&e->s, SEC_DECORATIONS, OpMemberDecorate, holder, 0, DecOffset, 0);
  return holder;
}

/* The variable that shows argument `buffer` as an array of `type`. */
static uint32_t buffer_view(emitter *e, int buffer, uint32_t type, int bytes) {
  for (int i = 0; i < e->n_views; i++)
    if (e->views[i].type == type && e->views[i].buffer == buffer) return e->views[i].var;
  if (!e->views) e->views = arena_alloc(e->a, sizeof *e->views * EMIT_SPIRV_MAX_VIEWS);
  if (!e->views || e->n_views == EMIT_SPIRV_MAX_VIEWS) {
    e->full = e->views ? "views of buffers" : NULL;
    e->s.failed = true;
    return 1;
  }
  uint32_t pointer = e_ptr(e, StorageBuffer, array_block(e, type, bytes)), var = spv_id(&e->s);
  SPV(&e->s, SEC_TYPES, OpVariable, pointer, var, StorageBuffer);
  SPV(&e->s, SEC_DECORATIONS, OpDecorate, var, DecDescriptorSet, 0);
  SPV(&e->s, SEC_DECORATIONS, OpDecorate, var, DecBinding, (uint32_t)buffer);
  SPV(&e->s, SEC_DECORATIONS, OpDecorate, var, DecAliased);
  if (e->caps->glsl_memory_model && e->has_barrier) SPV(&e->s, SEC_DECORATIONS, OpDecorate, var, DecCoherent);
  e_interface(e, StorageBuffer, var);
  e->views[e->n_views].type = type, e->views[e->n_views].var = var;
  e->views[e->n_views++].buffer = buffer;
  return var;
}

/* The pointer to an array element of `type` at byte offset `at` of an argument. */
static uint32_t buffer_pointer(emitter *e, int buffer, uint32_t type, int bytes, uint32_t at) {
  uint32_t var = buffer_view(e, buffer, type, bytes);
  int lg = log2_size(bytes);
  uint32_t i = lg ? VAL(&e->s, OpShiftRightLogical, e_int(e, 32), at, e_u32(e, (uint32_t)lg)) : at;
  return VAL(&e->s, OpAccessChain, e_ptr(e, StorageBuffer, type), var, e_u32(e, 0), i);
}

uint32_t e_pointer(emitter *e, e_place in, uint32_t type, int bytes, uint32_t at) {
  if (in.shared) return shared_pointer(e, type, bytes, at);
  return e->caps->descriptors ? buffer_pointer(e, in.buffer, type, bytes, at) : e_physical(e, type, at);
}

uint32_t e_word_pointer(emitter *e, e_place in, uint32_t at) {
  return e_pointer(e, in, e_int(e, 32), 4, in.shared ? at : e_address_word(e, at));
}

/* SPIR-V wants matrix loads to point into an array. */
uint32_t e_array_pointer(emitter *e, e_place in, uint32_t type, int bytes, uint32_t at) {
  if (in.shared || e->caps->descriptors) return e_pointer(e, in, type, bytes, at);
  uint32_t whole = e_physical(e, array_block(e, type, bytes), at);
  return VAL(&e->s, OpAccessChain, e_ptr(e, StoragePhysical, type), whole, e_u32(e, 0), e_u32(e, 0));
}
