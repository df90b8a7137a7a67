/* core/emit/spirv/spirv.c - one SPIR-V module per Target IR kernel; see emit/spirv/spirv.h. */
#include "core/emit/spirv/spirv.h"

#include <string.h>

#include "core/device/dialect.h"
#include "core/emit/spirv/internal.h"
#include "core/emit/spirv/reach.h"

/* ---- what a kernel uses ---- */

typedef struct usage { bool thread[3], block[3], lane, warp, barrier, subgroup, f64_16[2]; } usage;

static int axis_of(const ir_op *op) {
  const int64_t axis = ir_get_int(op, "axis", 0);
  return axis < 0 || axis > 2 ? 0 : (int)axis;
}

static tsr_status scan(ir_op *op, void *user) {
  usage *u = user;
  for (int i = 0; i < op->n_results; i++) op->results[i]->data = NULL; /* left over from other passes */
  for (int r = 0; r < op->n_regions; r++)
    for (int i = 0; i < op->regions[r]->n_args; i++) op->regions[r]->args[i]->data = NULL;
  if (op->def->level != IR_TARGET) return NULL;
  switch (op->def->code) {
  case TG_THREAD_ID: u->thread[axis_of(op)] = true; break;
  case TG_BLOCK_ID: u->block[axis_of(op)] = true; break;
  case TG_LANE_ID: u->lane = true; break;
  case TG_WARP_ID: u->warp = true; break;
  case TG_SHUFFLE:
  case TG_WARP_REDUCE: u->subgroup = true; break;
  case TG_BARRIER:
  case TG_WARP_BARRIER: u->barrier = true; break;
  default: break;
  }
  if (op->def->flags & IR_COOPMAT) u->subgroup = true;
  return NULL;
}

/* ---- entry ---- */

static uint32_t builtin(emitter *e, int which, uint32_t type) {
  uint32_t var = spv_id(&e->s), pt = e_ptr(e, StorageInput, type);
  SPV(&e->s, SEC_TYPES, OpVariable, pt, var, StorageInput);
  SPV(&e->s, SEC_DECORATIONS, OpDecorate, var, DecBuiltIn, (uint32_t)which);
  e_interface(e, StorageInput, var);
  return VAL(&e->s, OpLoad, type, var);
}

/* Where no lane asks another, lanes and warps are a way of counting threads, which needs no subgroups. */
static void count_lanes(emitter *e, usage *u, int64_t subgroup) {
  uint32_t u32 = e_int(e, 32), shift = 0, index;
  if (e->in_subgroups || !(u->lane || u->warp) || subgroup <= 0) return;
  while (subgroup >> (shift + 1)) shift++;
  index = builtin(e, BuiltInLocalInvocationIndex, u32);
  e->lane = VAL(&e->s, OpBitwiseAnd, u32, index, e_u32(e, (uint32_t)subgroup - 1));
  e->warp = VAL(&e->s, OpShiftRightLogical, u32, index, e_u32(e, shift));
  u->lane = u->warp = false;
}

static void load_ids(emitter *e, usage *u) {
  uint32_t u32 = e_int(e, 32), v3 = e_vec(e, u32, 3), id;
  int64_t subgroup = ir_get_int(e->kernel, "subgroup", 0);
  bool flat = e->block[1] == 1 && e->block[2] == 1;
  count_lanes(e, u, subgroup);
  /* Where lanes matter, thread_id is counted by subgroups, so that thread = warp * subgroup + lane holds on every
   * driver. */
  bool by_lane = flat && u->thread[0] && (u->lane || u->warp || u->subgroup) && subgroup > 0 &&
                 e->block[0] % subgroup == 0 && e->caps->full_subgroups;
  if (u->lane || u->subgroup || by_lane) {
    spv_capability(&e->s, CapGroupNonUniform);
    e->lane = builtin(e, BuiltInSubgroupLocalInvocationId, u32);
  }
  bool one_warp = subgroup > 0 && e->block[0] * e->block[1] * e->block[2] == subgroup;
  if (u->warp || by_lane) {
    spv_capability(&e->s, CapGroupNonUniform);
    e->warp = one_warp ? e_u32(e, 0) : builtin(e, BuiltInSubgroupId, u32);
  }
  if (by_lane) {
    e->thread_id[0] =
        one_warp ? e->lane
                 : VAL(&e->s, OpIAdd, u32, VAL(&e->s, OpIMul, u32, e->warp, e_u32(e, (uint32_t)subgroup)), e->lane);
  } else if (u->thread[0] || u->thread[1] || u->thread[2]) {
    id = builtin(e, BuiltInLocalInvocationId, v3);
    for (int i = 0; i < 3; i++) e->thread_id[i] = VAL(&e->s, OpCompositeExtract, u32, id, (uint32_t)i);
  }
  if (u->block[0] || u->block[1] || u->block[2]) {
    id = builtin(e, BuiltInWorkgroupId, v3);
    for (int i = 0; i < 3; i++) e->block_id[i] = VAL(&e->s, OpCompositeExtract, u32, id, (uint32_t)i);
  }
}

/* The push constants: addresses or offsets, then the first block of a rebased kernel. */
static uint32_t push_block(emitter *e, int n_push, bool rebased) {
  uint32_t address = e_address_type(e), u32 = e_int(e, 32), block = spv_id(&e->s), size = e->caps->descriptors ? 4 : 8,
           w[1 + EMIT_SPIRV_MAX_BINDINGS + 3] = {block};
  int n = 1;
  for (int i = 0; i < n_push; i++) w[n++] = address;
  for (int i = 0; i < 3 && rebased; i++) w[n++] = u32;
  spv_put(&e->s, SEC_TYPES, OpTypeStruct, w, n);
  SPV(&e->s, SEC_DECORATIONS, OpDecorate, block, DecBlock);
  for (int i = 0; i < n - 1; i++)
    SPV(&e->s, SEC_DECORATIONS, OpMemberDecorate, block, (uint32_t)i, DecOffset,
        i < n_push ? size * (uint32_t)i : EMIT_SPIRV_BASE + 4 * (uint32_t)(i - n_push));
  uint32_t pt = e_ptr(e, StoragePushConstant, block), var = spv_id(&e->s);
  SPV(&e->s, SEC_TYPES, OpVariable, pt, var, StoragePushConstant);
  e_interface(e, StoragePushConstant, var);
  return var;
}

static uint32_t push_member(emitter *e, uint32_t var, int i, uint32_t type) {
  return VAL(&e->s, OpLoad, type,
             VAL(&e->s, OpAccessChain, e_ptr(e, StoragePushConstant, type), var, e_u32(e, (uint32_t)i)));
}

/* A pointer's highest bits, or that a (a + 1) is even, which compilers don't see: LLVM does of an address, as it is
 * aligned. */
static uint32_t hidden_zero(emitter *e, uint32_t a) {
  if (e->pairs || !(e->caps->no_pack64 || (caps_simd_like(e->caps) && !e->caps->descriptors))) return 0;
  uint32_t u64 = e_int(e, 64);
  if (e->caps->host_addresses && !e->caps->descriptors)
    return VAL(&e->s, OpShiftRightLogical, u64, a, e_const_int(e, 64, CAPS_HOST_ADDRESS_BITS, 1));
  uint32_t x = e->caps->descriptors ? VAL(&e->s, OpUConvert, u64, a) : a;
  uint32_t even = VAL(&e->s, OpIMul, u64, x, VAL(&e->s, OpIAdd, u64, x, e_const_int(e, 64, 1, 1)));
  return VAL(&e->s, OpShiftLeftLogical, u64, even, e_const_int(e, 64, 63, 1));
}

/* Buffer addresses from push constants (or the table they point to) to the kernel's arguments. */
static tsr_status load_args(emitter *e) {
  const ir_block *b = e->kernel->regions[0];
  int64_t grid[3] = {1, 1, 1};
  ir_get_ints(e->kernel, "grid", grid, 3);
  int n = b->n_args, most = e->caps->descriptors ? EMIT_SPIRV_MAX_BINDINGS : EMIT_SPIRV_MAX_PUSH,
      n_push = n > most ? 1 : n;
  bool rebased = emit_spirv_rebased(grid);
  uint32_t table = 0;
  if (!n && !rebased) return NULL;
  if (n > most && e->caps->descriptors)
    return e_fail(e, e->kernel, TSR_UNSUPPORTED, "fuse less", "%d buffers; without bufferDeviceAddress at most %d", n,
                  most);
  uint32_t var = push_block(e, n_push, rebased);
  for (int i = 0; i < 3 && rebased; i++)
    if (e->block_id[i])
      e->block_id[i] = VAL(&e->s, OpIAdd, e_int(e, 32), e->block_id[i], push_member(e, var, n_push + i, e_int(e, 32)));
  if (n > most) table = push_member(e, var, 0, e_address_type(e));
  for (int i = 0; i < n; i++) {
    const ir_value *a = b->args[i];
    if (a->type->kind != IR_T_PTR)
      return e_fail(e, e->kernel, TSR_VERIFY_ERROR, NULL, "argument %d is not a pointer", i);
    uint32_t x;
    if (table) {
      uint32_t type = e_address_type(e), at = e_address_add_const(e, table, 8 * i);
      x = VAL(&e->s, OpLoad, type, e_physical(e, type, at), AccessAligned, 8);
    } else {
      x = push_member(e, var, i, e_address_type(e));
    }
    e_define(e, a, (sv){.part = {x}, .buffer = i});
    if (i == 0) e->hidden_zero = hidden_zero(e, x);
  }
  return NULL;
}

/* How floats behave, asked for where the device lets us: else a driver may flush subnormals and round toward zero. */
static void float_controls(emitter *e, uint32_t main_id) {
  const tsr_caps *c = e->caps;
  const struct { uint32_t capability, mode; bool have[3]; } rows[] = {
      {CapSignedZeroInfNanPreserve, ModeSignedZeroInfNanPreserve, {c->nan_f16, c->nan_preserve, c->nan_f64}},
      {CapDenormPreserve, ModeDenormPreserve, {c->denorm_f16, c->denorm_f32, c->denorm_f64}},
      {CapRoundingModeRTE, ModeRoundingModeRTE, {c->rte_f16, c->rte_f32, c->rte_f64}}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    for (int w = 0; w < 3; w++) {
      if (!rows[i].have[w]) continue;
      spv_capability(&e->s, rows[i].capability);
      if (e_before(e, 4)) spv_extension(&e->s, "SPV_KHR_float_controls");
      SPV(&e->s, SEC_MODES, OpExecutionMode, main_id, rows[i].mode, 16u << w);
    }
}

static void preamble(emitter *e, uint32_t main_id) {
  spv *s = &e->s;
  spv_capability(s, CapShader);
  if (!e->caps->glsl_memory_model) spv_capability(s, CapVulkanMemoryModel);
  if (!e->caps->descriptors) spv_capability(s, CapPhysicalStorageBufferAddresses);
  e->glsl = spv_id(s);
  spv_string(s, SEC_IMPORTS, OpExtInstImport, &e->glsl, 1, "GLSL.std.450", NULL, 0);
  SPV(s, SEC_MODEL, OpMemoryModel, e->caps->descriptors ? AddressingLogical : AddressingPhysical64,
      e->caps->glsl_memory_model ? ModelGLSL450 : ModelVulkan);
  SPV(s, SEC_MODES, OpExecutionMode, main_id, ModeLocalSize, (uint32_t)e->block[0], (uint32_t)e->block[1],
      (uint32_t)e->block[2]);
  float_controls(e, main_id);
}

static tsr_status kernel_body(emitter *e) {
  spv *s = &e->s;
  usage u = {0};
  uint32_t main_id = spv_id(s), first = spv_id(s);
  TSR_TRY(ir_walk((ir_op *)e->kernel, scan, &u));
  e->has_barrier = u.barrier;
  e->in_subgroups = e->caps->subgroup_shuffle || u.subgroup;
  preamble(e, main_id);
  uint32_t v = e_void(e), ft = TYPE(s, OpTypeFunction, v);
  SPV(s, SEC_HEAD, OpFunction, v, main_id, 0, ft);
  SPV(s, SEC_HEAD, OpLabel, first);
  e->label = first;
  load_ids(e, &u);
  TSR_TRY(load_args(e));
  const ir_op *end = NULL;
  TSR_TRY(e_ops(e, e->kernel->regions[0], &end));
  spv_put(s, SEC_BODY, OpReturn, NULL, 0);
  spv_put(s, SEC_BODY, OpFunctionEnd, NULL, 0);
  uint32_t entry[2] = {5 /* GLCompute */, main_id};
  spv_string(s, SEC_ENTRY, OpEntryPoint, entry, 2, "main", e->interface, e->n_interface);
  return spv_ok(s) ? NULL : e_stopped(e, NULL);
}

/* What the code came to need against what the device, or its application, has enabled. */
static tsr_status check_capabilities(emitter *e) {
  const tsr_caps *c = e->caps;
  const struct { uint32_t capability; bool have; const char *feature; } needs[] = {
      {CapFloat64, c->f64, "shaderFloat64"}, {CapFloat16, c->f16, "shaderFloat16"}, {CapInt16, c->i16, "shaderInt16"},
      {CapInt8, c->i8, "shaderInt8"}, {CapInt64, c->i64, "shaderInt64"},
      {CapStorageBuffer16BitAccess, c->storage16, "storageBuffer16BitAccess"},
      {CapStorageBuffer8BitAccess, c->storage8, "storageBuffer8BitAccess"},
      {CapGroupNonUniformShuffle, c->subgroup_shuffle, "subgroup shuffle"},
      {CapBFloat16Type, c->bf16, "shaderBFloat16Type"}, {CapFloat8, c->f8, "shaderFloat8"}};
  const spv_words *b = &e->s.sec[SEC_CAPS];
  for (size_t i = 1; i < b->n; i += 2)
    for (size_t k = 0; k < sizeof needs / sizeof *needs; k++)
      if (b->w[i] == needs[k].capability && !needs[k].have)
        return e_fail(e, e->kernel, TSR_UNSUPPORTED, "use another data type", "the device has no %s", needs[k].feature);
  return NULL;
}

static double work(const ir_op *k, const char *name) {
  const ir_attr *a = ir_get_attr(k, name);
  return !a ? 0 : a->kind == IR_A_INT ? (double)a->u.i : a->kind == IR_A_FLOAT ? a->u.f : 0;
}

static tsr_status check_kernel(emitter *e) {
  int64_t threads = e->block[0] * e->block[1] * e->block[2];
  if (e->block[0] < 1 || e->block[1] < 1 || e->block[2] < 1 ||
      threads > (e->caps->max_threads ? e->caps->max_threads : 1024))
    return e_fail(e, e->kernel, TSR_UNSUPPORTED, "use smaller tiles", "%lld threads in a block; the device allows %d",
                  (long long)threads, e->caps->max_threads);
  if (e->wide && e->pairs)
    return e_fail(e, e->kernel, TSR_UNSUPPORTED, "split the tensor",
                  "indices of more than 32 bits; the device has no shaderInt64");
  if (e->shared_bytes > e->caps->shared_bytes)
    return e_fail(e, e->kernel, TSR_UNSUPPORTED, "use smaller tiles",
                  "%lld bytes of shared memory; the device has %lld", (long long)e->shared_bytes,
                  (long long)e->caps->shared_bytes);
  return NULL;
}

static tsr_status emit_kernel(const ir_op *k, const tsr_caps *caps, arena *a, be_kernel_desc *d, uint32_t **words,
                              size_t *n_words) {
  emitter e = {.caps = caps, .kernel = k, .a = a, .pairs = !caps->i64, .put_ops = e_ops};
  spv_init(&e.s, &a->al);
  e.s.minor = caps->spirv_minor;
  e.wide = ir_get_bool(k, "wide_index", false);
  e.exact = ir_policy(k) != TSR_POLICY_FAST;
  e.rounds = ir_get_bool(k, "rounds", false);
  e.block[0] = e.block[1] = e.block[2] = 1;
  ir_get_ints(k, "block", e.block, 3);
  e.shared_bytes = ir_get_int(k, "shared_bytes", 0);
  tsr_status st = check_kernel(&e);
  if (!st) st = kernel_body(&e);
  if (!st) st = check_capabilities(&e);
  if (!st && !(*words = spv_finish(&e.s, a, n_words))) st = st_oom();
  spv_clear(&e.s);
  if (st) return st;
  *d = (be_kernel_desc){.name = arena_str(a, ir_get_str(k, "sym_name", "")),
                        .cluster = {1, 1, 1},
                        .subgroup = (int)ir_get_int(k, "subgroup", 0),
                        .shared_bytes = e.shared_bytes,
                        .n_args = k->regions[0]->n_args,
                        .n_outputs = (int)ir_get_int(k, "outputs", 1),
                        .flops = work(k, "flops"),
                        .bytes = work(k, "bytes")};
  ir_get_ints(k, "grid", d->grid, 3);
  for (int i = 0; i < 3; i++) d->block[i] = (int)e.block[i];
  return d->name ? NULL : st_oom();
}

tsr_status emit_spirv(const ir_module *target, const tsr_caps *caps, arena *a, be_module_desc *out) {
  int n = 0, i = 0;
  size_t total = 0;
  *out = (be_module_desc){0};
  for (const ir_op *o = target->root->regions[0]->first; o; o = o->next)
    n += o->def->level == IR_TARGET && o->def->code == TG_KERNEL;
  be_kernel_desc *k = arena_array(a, be_kernel_desc, n + 1);
  uint32_t **words = arena_array(a, uint32_t *, n + 1);
  size_t *n_words = arena_array(a, size_t, n + 1), *offsets = arena_array(a, size_t, n + 1);
  if (!k || !words || !n_words || !offsets) return st_oom();
  for (const ir_op *o = target->root->regions[0]->first; o; o = o->next) {
    if (o->def->level != IR_TARGET || o->def->code != TG_KERNEL) continue;
    TSR_TRY(emit_kernel(o, caps, a, &k[i], &words[i], &n_words[i]));
    total += n_words[i++];
  }
  if (caps->descriptors) TSR_TRY(emit_spirv_slabs(target, caps, a, k));
  uint32_t *code = n == 1 ? words[0] : arena_array(a, uint32_t, total + 1), at = 0;
  if (!code) return st_oom();
  for (i = 0; i < n; i++) {
    offsets[i] = 4 * (size_t)at;
    if (n > 1) memcpy(code + at, words[i], 4 * n_words[i]);
    at += (uint32_t)n_words[i];
  }
  offsets[n] = 4 * (size_t)at;
  *out = (be_module_desc){.format = BE_SPIRV,
                          .code = code,
                          .code_bytes = 4 * total,
                          .offsets = offsets,
                          .kernels = k,
                          .n_kernels = n,
                          .arch = caps->arch};
  return NULL;
}

tsr_status emit_spirv_source(const ir_module *target, const tsr_caps *caps, strb *out) {
  arena a;
  be_module_desc d;
  arena_init(&a, out->al);
  tsr_status st = emit_spirv(target, caps, &a, &d);
  for (int i = 0; !st && i < d.n_kernels; i++) {
    strb_printf(out, "; kernel %s\n", d.kernels[i].name);
    emit_spirv_disassemble((const uint32_t *)(const void *)((const char *)d.code + d.offsets[i]),
                           (d.offsets[i + 1] - d.offsets[i]) / 4, out);
  }
  arena_clear(&a);
  return st;
}
