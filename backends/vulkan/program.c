/* backends/vulkan/program.c - programs: recorded once into command buffers, replayed while the buffers' addresses stay
 * the same.
 *
 * A recording is cut into command buffers so that the estimated time of each submission stays under TSR_SUBMIT_MS
 * (driver watchdogs); a single dispatch that is longer than that is cut along its grid with vkCmdDispatchBase; one with
 * more blocks than every device allows gets its first block in push constants. Barriers stand only where a launch waits
 * for one that no barrier separates it from yet. */
#include <string.h>

#include "backends/vulkan/program.h"
#include "core/emit/spirv/spirv.h"

static bool has_table(const be_device *d, int n_args) { return d->features.bda && n_args > EMIT_SPIRV_MAX_PUSH; }

tsr_status vk_program_create(be_device *d, const be_program_desc *desc, be_program **out) {
  *out = NULL;
  be_program *p = al_new(d->env->al, be_program);
  if (!p) return st_oom();
  p->d = d;
  arena_init(&p->a, d->env->al);
  pthread_mutex_init(&p->mutex, NULL);
  p->n_launches = desc->n_launches;
  p->n_bindings = desc->n_bindings;
  vk_need *needs = arena_array(&p->a, vk_need, desc->n_launches + 1);
  p->launches = arena_dup(&p->a, desc->launches, sizeof *p->launches * (size_t)desc->n_launches);
  p->now = arena_array(&p->a, VkDeviceAddress, desc->n_bindings + 1);
  bool ok = needs && p->launches && p->now;
  int n_needs = 0;
  for (int i = 0; ok && i < VK_ALL_RECORDINGS; i++)
    ok = (p->recordings[i].key = arena_array(&p->a, VkDeviceAddress, desc->n_bindings + 1)) != NULL;
  for (int i = 0; ok && i < desc->n_launches; i++) {
    be_launch *l = &p->launches[i];
    int n_args = l->module->kernels[l->kernel].desc.n_args;
    vk_need need = {l->module, l->module->kernels[l->kernel].twin};
    int known = 0;
    while (known < n_needs && (needs[known].m != need.m || needs[known].kernel != need.kernel)) known++;
    if (known == n_needs) needs[n_needs++] = need;
    l->bindings = arena_dup(&p->a, l->bindings, sizeof(int) * (size_t)n_args);
    l->waits = arena_dup(&p->a, l->waits ? l->waits : &i, sizeof(int) * (size_t)l->n_waits);
    ok = l->bindings && l->waits;
    if (has_table(d, n_args)) p->table_bytes += 8 * (size_t)n_args;
  }
  tsr_status st = ok ? vk_pipelines(d, needs, n_needs) : st_oom();
  if (st) vk_program_destroy(p);
  else *out = p;
  return st;
}

void vk_program_destroy(be_program *p) {
  if (!p) return;
  be_device *d = p->d;
  for (int i = 0; i < VK_ALL_RECORDINGS; i++) {
    vk_recording *r = &p->recordings[i];
    vk_drain(d, r->used, r->value);
    if (r->pool) d->fn.vkDestroyCommandPool(d->vk, r->pool, NULL);
    if (r->sets.pool) d->fn.vkDestroyDescriptorPool(d->vk, r->sets.pool, NULL);
    vk_buffer_destroy(r->tables);
    al_free_array(d->env->al, r->cmds, (size_t)r->cap_cmds);
  }
  if (p->queries) d->fn.vkDestroyQueryPool(d->vk, p->queries, NULL);
  vk_buffer_destroy(p->clocks);
  pthread_mutex_destroy(&p->mutex);
  arena_clear(&p->a);
  al_delete(d->env->al, p);
}

/* ---- recording ---- */

typedef struct recorder {
  be_program *p;
  vk_recording *r;
  be_stream *s;
  VkCommandBuffer cmd;
  double budget_ns, used_ns;
  VkDeviceSize table_at;
  const be_launch *bound_for; /* that `bound` is of, and of which blocks */
  const be_slab *slab_for;
  vk_bound bound;
  bool timed; /* all in one command buffer, a barrier between any two launches */
} recorder;

/* Modelled time of a kernel; rates that nobody measured are guessed low. */
static double estimate_ns(const be_device *d, const be_kernel_desc *k) {
  double flops = d->caps.peak_flops_f32 > 0 ? d->caps.peak_flops_f32 : d->limits.software ? 2e10 : 1e12;
  double bytes = d->caps.bytes_per_s > 0 ? d->caps.bytes_per_s : d->limits.software ? 4e9 : 5e10;
  double a = k->flops / flops, b = k->bytes / bytes;
  return (a > b ? a : b) * 1e9;
}

static tsr_status open_buffer(recorder *c) {
  be_device *d = c->p->d;
  vk_recording *r = c->r;
  if (r->n_cmds == r->cap_cmds) {
    int cap = r->cap_cmds ? 2 * r->cap_cmds : 4;
    VkCommandBuffer *grown = al_zalloc(d->env->al, sizeof *grown * (size_t)cap);
    if (!grown) return st_oom();
    if (r->cmds) memcpy(grown, r->cmds, sizeof *grown * (size_t)r->cap_cmds);
    al_free_array(d->env->al, r->cmds, (size_t)r->cap_cmds);
    r->cmds = grown;
    r->cap_cmds = cap;
  }
  if (!r->cmds[r->n_cmds]) {
    VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                        .commandPool = r->pool,
                                        .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                        .commandBufferCount = 1};
    VK_TRY(d, d->fn.vkAllocateCommandBuffers(d->vk, &info, &r->cmds[r->n_cmds]));
  }
  c->cmd = r->cmds[r->n_cmds++];
  c->used_ns = 0;
  VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                    .flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT};
  VK_TRY(d, d->fn.vkBeginCommandBuffer(c->cmd, &begin));
  vk_memory_barrier(d, c->cmd, VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT,
                    VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT);
  return NULL;
}

static tsr_status next_buffer(recorder *c) {
  TSR_TRY(vk_end(c->s, c->cmd));
  return open_buffer(c);
}

static tsr_status bind_descriptors(recorder *c, const be_launch *l, const be_slab *slab, int n_args) {
  be_device *d = c->p->d;
  if (c->bound_for != l || c->slab_for != slab)
    TSR_TRY(vk_bind_buffers(d, &c->r->sets, l, slab, c->p->ranges, &c->bound));
  c->bound_for = l, c->slab_for = slab;
  vk_record_bound(d, c->cmd, &c->bound);
  d->fn.vkCmdPushConstants(c->cmd, d->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, 4 * (uint32_t)n_args, c->bound.start);
  return NULL;
}

/* slab: the blocks that are launched next, NULL: all. */
static tsr_status bind(recorder *c, const be_launch *l, const vk_kernel *k, const be_slab *slab) {
  be_device *d = c->p->d;
  VkDeviceAddress args[EMIT_SPIRV_MAX_PUSH];
  int n = k->desc.n_args;
  if (!d->features.bda && n) return bind_descriptors(c, l, slab, n);
  d->fn.vkCmdBindPipeline(c->cmd, VK_PIPELINE_BIND_POINT_COMPUTE, l->module->kernels[k->twin].pipeline);
  if (has_table(d, n)) {
    args[0] = c->r->tables->address + c->table_at;
    n = 1;
  } else {
    for (int i = 0; i < n; i++) args[i] = c->p->now[l->bindings[i]];
  }
  if (n) d->fn.vkCmdPushConstants(c->cmd, d->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, 8 * (uint32_t)n, args);
  return NULL;
}

/* Dispatches the grid, or a slab of it, in pieces along its outermost long axis: as many blocks as the limits and the
 * budget allow at once. */
static tsr_status dispatch(recorder *c, const be_launch *l, const vk_kernel *k, const be_slab *slab) {
  be_device *d = c->p->d;
  static const int64_t none[3];
  const int64_t *g = slab ? slab->n : k->desc.grid, *first = slab ? slab->first : none;
  double ns = estimate_ns(d, &k->desc);
  for (int i = 0; i < 3; i++) ns *= (double)g[i] / (double)k->desc.grid[i];
  int axis = g[2] > 1 ? 2 : g[1] > 1 ? 1 : 0;
  int64_t cut[3] = {g[0], g[1], g[2]};
  for (int i = 0; i < 3; i++)
    if (cut[i] > EMIT_SPIRV_MAX_GROUPS) cut[i] = EMIT_SPIRV_MAX_GROUPS;
  if (ns > c->budget_ns && c->budget_ns > 0) {
    int64_t pieces = (int64_t)(ns / c->budget_ns) + 1, slab = (g[axis] + pieces - 1) / pieces;
    if (slab < cut[axis]) cut[axis] = slab > 0 ? slab : 1;
  }
  bool rebased = emit_spirv_rebased(k->desc.grid);
  double slab_ns =
      ns * ((double)cut[0] / (double)g[0]) * ((double)cut[1] / (double)g[1]) * ((double)cut[2] / (double)g[2]);
  for (int64_t z = 0; z < g[2]; z += cut[2])
    for (int64_t y = 0; y < g[1]; y += cut[1])
      for (int64_t x = 0; x < g[0]; x += cut[0]) {
        if (c->used_ns > 0 && c->used_ns + slab_ns > c->budget_ns && !c->timed) {
          TSR_TRY(next_buffer(c));
          TSR_TRY(bind(c, l, k, slab));
        }
        c->used_ns += slab_ns;
        uint32_t base[3] = {(uint32_t)(first[0] + x), (uint32_t)(first[1] + y), (uint32_t)(first[2] + z)};
        uint32_t zero[3] = {0}, *from = rebased ? zero : base;
        uint32_t n[3] = {(uint32_t)(g[0] - x < cut[0] ? g[0] - x : cut[0]),
                         (uint32_t)(g[1] - y < cut[1] ? g[1] - y : cut[1]),
                         (uint32_t)(g[2] - z < cut[2] ? g[2] - z : cut[2])};
        if (rebased)
          d->fn.vkCmdPushConstants(c->cmd, d->layout, VK_SHADER_STAGE_COMPUTE_BIT, EMIT_SPIRV_BASE, sizeof base, base);
        d->fn.vkCmdDispatchBase(c->cmd, from[0], from[1], from[2], n[0], n[1], n[2]);
      }
  return NULL;
}

static void compute_barrier(recorder *c) {
  vk_memory_barrier(c->p->d, c->cmd, VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT);
}

/* Before the first launch (i 0) and after each (i + 1). */
static void read_clock(recorder *c, int i) {
  if (i) compute_barrier(c);
  vk_clock_record(c->p->d, c->cmd, c->p->clocks->address + 8 * (VkDeviceAddress)i);
  if (!i) compute_barrier(c); /* after the others stands the next launch's */
}

static void stamp(recorder *c, int i) {
  if (!c->p->by_clock) vk_timestamp(c->p->d, c->cmd, c->p->queries, (uint32_t)i);
}

static tsr_status record_launches(recorder *c) {
  be_program *p = c->p;
  int fenced = 0; /* launches before this one are complete for later ones */
  if (c->timed && p->by_clock) read_clock(c, 0);
  for (int i = 0; i < p->n_launches; i++) {
    const be_launch *l = &p->launches[i];
    const vk_kernel *k = &l->module->kernels[l->kernel];
    int before = c->r->n_cmds;
    bool barrier = c->timed && i > 0;
    for (int w = 0; w < l->n_waits; w++) barrier |= l->waits[w] >= fenced;
    if (barrier) {
      compute_barrier(c);
      fenced = i;
    }
    if (vk_is_empty(l)) continue;
    if (c->timed) stamp(c, 2 * i);
    for (int j = 0; j < k->desc.n_slabs + !k->desc.n_slabs; j++) {
      const be_slab *slab = k->desc.n_slabs ? &k->desc.slabs[j] : NULL;
      TSR_TRY(bind(c, l, k, slab));
      TSR_TRY(dispatch(c, l, k, slab));
    }
    if (c->timed) stamp(c, 2 * i + 1);
    if (c->timed && p->by_clock) read_clock(c, i + 1);
    if (c->r->n_cmds != before)
      fenced = i; /* a new command buffer began with a barrier: only this launch may still run */
    if (has_table(p->d, k->desc.n_args)) c->table_at += 8 * (VkDeviceSize)k->desc.n_args;
  }
  return NULL;
}

/* Address tables for kernels with more arguments than push constants hold, in the order of record_launches. */
static tsr_status fill_tables(be_program *p, vk_recording *r) {
  if (!p->table_bytes) return NULL;
  if (!r->tables) TSR_TRY(vk_buffer_create(p->d, p->table_bytes, BE_HOST_VISIBLE, &r->tables));
  VkDeviceAddress *t = r->tables->host;
  for (int i = 0; i < p->n_launches; i++) {
    const be_launch *l = &p->launches[i];
    int n = l->module->kernels[l->kernel].desc.n_args;
    for (int a = 0; has_table(p->d, n) && !vk_is_empty(l) && a < n; a++) *t++ = p->now[l->bindings[a]];
  }
  return NULL;
}

static tsr_status wait_unused(be_device *d, vk_recording *r) {
  if (r->used) TSR_TRY(vk_timeline_wait(d, r->used, r->value, -1));
  r->used = NULL;
  return NULL;
}

static int n_sets(const be_program *p) {
  int n = 0;
  for (int i = 0; i < p->n_launches; i++) {
    const be_launch *l = &p->launches[i];
    int slabs = l->module->kernels[l->kernel].desc.n_slabs;
    n += slabs ? slabs : 1;
  }
  return n;
}

tsr_status vk_recording_make(be_program *p, be_stream *s, vk_recording *r, bool timed) {
  be_device *d = p->d;
  r->valid = false;
  TSR_TRY(wait_unused(d, r));
  if (!r->pool) {
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                    .queueFamilyIndex = d->family[VK_COMPUTE]};
    VK_TRY(d, d->fn.vkCreateCommandPool(d->vk, &pool, NULL, &r->pool));
  } else {
    VK_TRY(d, d->fn.vkResetCommandPool(d->vk, r->pool, 0));
  }
  r->n_cmds = 0;
  TSR_TRY(fill_tables(p, r));
  TSR_TRY(vk_sets_reset(d, &r->sets, n_sets(p)));
  recorder c = {.p = p, .r = r, .s = s, .budget_ns = 1e6 * (double)knob_int("TSR_SUBMIT_MS"), .timed = timed};
  TSR_TRY(open_buffer(&c));
  if (timed && !p->by_clock) d->fn.vkCmdResetQueryPool(c.cmd, p->queries, 0, 2 * (uint32_t)p->n_launches);
  TSR_TRY(record_launches(&c));
  TSR_TRY(vk_end(s, c.cmd));
  memcpy(r->key, p->now, sizeof *r->key * (size_t)p->n_bindings);
  r->valid = true;
  return NULL;
}

bool vk_recording_fits(const be_program *p, const vk_recording *r) {
  return r->valid && !memcmp(r->key, p->now, sizeof *r->key * (size_t)p->n_bindings);
}

/* The recording for these addresses: an old one, or the least recently used one made anew. */
static tsr_status find_recording(be_program *p, be_stream *s, vk_recording **out) {
  vk_recording *oldest = &p->recordings[0];
  for (int i = 0; i < VK_RECORDINGS; i++) {
    vk_recording *r = &p->recordings[i];
    if (vk_recording_fits(p, r)) {
      *out = r;
      return NULL;
    }
    if (r->age < oldest->age) oldest = r;
  }
  *out = oldest;
  return vk_recording_make(p, s, oldest, false);
}

tsr_status vk_recording_submit(be_program *p, be_stream *s, vk_recording *r) {
  for (int i = 0; i < r->n_cmds; i++) {
    TSR_TRY(vk_stream_submit(s, &r->cmds[i], 1));
    r->used = s->timeline;
    r->value = s->submitted;
  }
  r->age = ++p->uses;
  return NULL;
}

tsr_status vk_program_run(be_stream *s, be_program *p, const be_range *bindings, double *times_ns) {
  be_device *d = p->d;
  if (atomic_load(&d->lost)) return vk_lost_status(d);
  if (!p->n_launches) return NULL;
  pthread_mutex_lock(&p->mutex);
  p->ranges = bindings;
  for (int i = 0; i < p->n_bindings; i++)
    p->now[i] = bindings[i].buffer ? bindings[i].buffer->address + bindings[i].offset : 0;
  vk_recording *r = NULL;
  tsr_status st = NULL;
  if (times_ns) st = vk_program_run_timed(p, s, times_ns);
  else if (!(st = find_recording(p, s, &r))) st = vk_recording_submit(p, s, r);
  pthread_mutex_unlock(&p->mutex);
  return st;
}

/* ---- one block ---- */

/* A driver that compiles at the first dispatch has compiled then. */
static tsr_status warm(be_program *p, be_stream *s, int launch, vk_recording *scratch) {
  be_device *d = p->d;
  const be_launch *l = &p->launches[launch];
  const vk_kernel *k = &l->module->kernels[l->kernel];
  recorder c = {.p = p, .r = scratch, .s = s};
  TSR_TRY(fill_tables(p, scratch));
  for (int i = 0; i < launch; i++) { /* where its table is */
    const be_launch *before = &p->launches[i];
    int n = before->module->kernels[before->kernel].desc.n_args;
    if (has_table(d, n) && !vk_is_empty(before)) c.table_at += 8 * (VkDeviceSize)n;
  }
  TSR_TRY(vk_sets_reset(d, &scratch->sets, 1));
  TSR_TRY(vk_stream_begin(s, &c.cmd));
  TSR_TRY(bind(&c, l, k, k->desc.n_slabs ? k->desc.slabs : NULL)); /* the first has block 0 */
  const uint32_t zero[3] = {0};
  if (emit_spirv_rebased(k->desc.grid))
    d->fn.vkCmdPushConstants(c.cmd, d->layout, VK_SHADER_STAGE_COMPUTE_BIT, EMIT_SPIRV_BASE, sizeof zero, zero);
  d->fn.vkCmdDispatch(c.cmd, 1, 1, 1);
  TSR_TRY(vk_end(s, c.cmd));
  TSR_TRY(vk_stream_submit(s, &c.cmd, 1));
  return vk_stream_sync(s, -1);
}

tsr_status vk_program_warm(be_stream *s, be_program *p, int launch, const be_range *bindings) {
  vk_recording scratch = {0};
  if (atomic_load(&p->d->lost)) return vk_lost_status(p->d);
  if (vk_is_empty(&p->launches[launch])) return NULL;
  pthread_mutex_lock(&p->mutex);
  p->ranges = bindings;
  for (int i = 0; i < p->n_bindings; i++)
    p->now[i] = bindings[i].buffer ? bindings[i].buffer->address + bindings[i].offset : 0;
  tsr_status st = warm(p, s, launch, &scratch);
  pthread_mutex_unlock(&p->mutex);
  if (scratch.sets.pool) p->d->fn.vkDestroyDescriptorPool(p->d->vk, scratch.sets.pool, NULL);
  vk_buffer_destroy(scratch.tables);
  return st;
}
