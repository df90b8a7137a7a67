/* core/runtime/context.c - contexts, the listing of devices, opening them; see tessera/device.h. */
#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/knob.h"
#include "core/passes/pipeline.h"
#include "core/passes/switches.h"
#include "core/runtime/internal.h"
#include "core/runtime/rule.h"

static void default_log(void *user, tsr_log_level level, const char *text) {
  static const char *const names[] = {"error", "warning", "info", "debug"};
  fprintf(stderr, "tessera: %s: %s\n", names[level & 3], text);
}

static void env_log(void *user, int level, const char *text) { rt_log(user, (tsr_log_level)(level & 3), "%s", text); }

static tsr_log_level log_level(void) {
  static const char *const names[] = {"error", "warn", "info", "debug"};
  for (int i = 0; i < 4; i++)
    if (!strcmp(knob_str("TSR_LOG"), names[i])) return (tsr_log_level)i;
  return TSR_LOG_WARN;
}

/* ---- context --------------------------------------------------------------------------------------------------- */

static tsr_status add_backend(tsr_context *c, const be_vtable *vt) {
  if (vt->abi != BE_ABI)
    return st_make(&c->al, TSR_ABI_MISMATCH, RT_WHERE("context", "rebuild the backend"),
                   "backend \"%s\" has table version %u, not %d", vt->name, vt->abi, BE_ABI);
  if (c->n_backends == RT_MAX_BACKENDS) return RT_BAD(c, "context", NULL, "more than %d backends", RT_MAX_BACKENDS);
  c->backends[c->n_backends++].vt = vt;
  return NULL;
}

static tsr_fallback fallback_of(const char *name) {
  return !strcmp(name, "error") ? TSR_FALLBACK_ERROR : !strcmp(name, "allow") ? TSR_FALLBACK_ALLOW : TSR_FALLBACK_WARN;
}

static tsr_status check_environment(tsr_context *c) {
  char name[64];
  const char *near;
  TSR_TRY(knob_check(&c->al));
  TSR_TRY(pass_check_disable(&c->al, "TSR_DISABLE", knob_str("TSR_DISABLE")));
  TSR_TRY(pipeline_check_dump(&c->al, knob_str("TSR_DUMP")));
  TSR_TRY(rt_check_backend_knob(c));
  for (size_t at = 0; knob_unknown(&at, name, sizeof name, &near);)
    rt_log(c, TSR_LOG_WARN, "the environment has %s, which is no knob%s%s%s; `tessera knobs` lists them", name,
           *near ? " (" : "", *near ? near : "", *near ? "?)" : "");
  return NULL;
}

tsr_status tsr_context_create(const tsr_context_desc *desc, tsr_context **out) {
  RT_OUT("context_create", out);
  static const tsr_context_desc none = {0};
  if (!desc) desc = &none;
  TSR_TRY(rt_check_context_desc(desc));
  if (desc->abi_version && desc->abi_version >> 16 != TSR_ABI_MAJOR)
    return st_make(desc->allocator, TSR_ABI_MISMATCH, RT_WHERE("context", "rebuild against the installed headers"),
                   "the caller was built for ABI %u, the library has %d", desc->abi_version >> 16, TSR_ABI_MAJOR);
  const tsr_allocator *al = desc->allocator ? desc->allocator : &al_default;
  tsr_context *c = al_new(al, tsr_context);
  if (!c) return st_oom();
  c->al = *al;
  c->log = desc->log ? desc->log : default_log;
  c->log_user = desc->log_user;
  c->log_level = log_level();
  c->policy = desc->policy;
  c->fallback = desc->fallback;
  c->last_number = (uint64_t)clock_ns() << 20;
  pthread_mutex_init(&c->lock, NULL);
  rt_tune_init(c);
  arena_init(&c->devices_arena, al);
  tsr_status st = NULL;
  for (const be_vtable *const *b = rt_backends; *b; b++) TSR_GOTO(add_backend(c, *b));
  for (const void *const *b = desc->extra_backends; b && *b; b++) TSR_GOTO(add_backend(c, *b));
  TSR_GOTO(check_environment(c));
  if (!c->policy) TSR_GOTO(tsr_policy_parse(knob_str("TSR_POLICY"), &c->policy));
  if (!c->fallback) c->fallback = fallback_of(knob_str("TSR_FALLBACK"));
  const char *dir = desc->cache_dir ? desc->cache_dir : knob_str("TSR_CACHE_DIR");
  c->cache_dir_bytes = strlen(dir) + 1;
  c->cache_dir = al_alloc(al, c->cache_dir_bytes, 16);
  if (!c->cache_dir) TSR_GOTO(st_oom());
  memcpy(c->cache_dir, dir, c->cache_dir_bytes);
  c->env = (be_env){.al = &c->al, .log = env_log, .log_user = c, .cache_dir = *dir ? c->cache_dir : NULL};
  TSR_GOTO(rt_probe_init(c, desc));
  *out = c;
done:
  if (st) tsr_context_destroy(&c);
  return st;
}

void tsr_context_destroy(tsr_context **cp) {
  tsr_context *c = cp ? *cp : NULL;
  if (!c) return;
  for (int i = 0; i < c->n_backends; i++)
    if (c->backends[i].instance) c->backends[i].vt->instance_destroy(c->backends[i].instance);
  rt_tune_close(c);
  pthread_mutex_destroy(&c->tune.lock);
  rt_custom_clear(c);
  rt_rule_clear(c);
  arena_clear(&c->devices_arena);
  rt_probe_clear(c);
  pthread_mutex_destroy(&c->lock);
  tsr_allocator al = c->al;
  al_free(&al, c->cache_dir, c->cache_dir_bytes, 16);
  al_free(&al, c, sizeof *c, 16);
  *cp = NULL;
}

/* ---- devices --------------------------------------------------------------------------------------------------- */

/* Loads the driver of a backend once; its reason for absence is in ->why. Under the context's lock. */
static tsr_status load_locked(tsr_context *c, rt_backend *b) {
  if (b->tried) return NULL;
  tsr_status st = b->vt->instance_create(&c->env, &b->instance);
  if (tsr_status_code(st) == TSR_OUT_OF_MEMORY) return st;
  b->tried = true;
  snprintf(b->why, sizeof b->why, "%s",
           st                              ? tsr_status_cause(st)
           : b->vt->n_devices(b->instance) ? ""
                                           : "the driver lists no device");
  tsr_status_free(st);
  return NULL;
}

static tsr_status rt_backend_load(tsr_context *c, rt_backend *b) {
  pthread_mutex_lock(&c->lock);
  tsr_status st = load_locked(c, b);
  pthread_mutex_unlock(&c->lock);
  return st;
}

static const char *scope_name(matrix_scope s) {
  static const char *const names[] = {"subgroup", "workgroup", "warpgroup", "core"};
  return names[s];
}

static const char *cores_name(const tsr_caps *c) {
  static const char *const names[] = {"unknown", "driver", "host", "measured", "listed"};
  return names[c->n_cores > 0 ? c->cores_from : CORES_UNKNOWN];
}

static tsr_status public_lists(arena *a, const be_device_info *d, tsr_device_info *out) {
  tsr_queue_info *q = arena_array(a, tsr_queue_info, d->n_queues + 1);
  tsr_demotion_info *m = arena_array(a, tsr_demotion_info, d->n_demotions + 1);
  if (!q || !m) return st_oom();
  for (int i = 0; i < d->n_queues; i++) {
    const be_queue_family *f = &d->queues[i];
    q[i] = (tsr_queue_info){f->count, f->timestamp_bits, f->compute, f->transfer, f->graphics, f->used_for};
  }
  for (int i = 0; i < d->n_demotions; i++) {
    m[i] = (tsr_demotion_info){d->demotions[i].step, arena_str(a, d->demotions[i].reason), d->demotions[i].instead};
    if (!m[i].reason) return st_oom();
  }
  out->queues = q, out->n_queues = d->n_queues;
  out->demotions = m, out->n_demotions = d->n_demotions;
  return NULL;
}

/* The public view of a device; strings and lists in the arena. */
static tsr_status public_info(arena *a, const be_vtable *vt, const char *id, const be_device_info *d,
                              const tsr_caps *caps, tsr_device_info *out) {
  tsr_matrix_info *m = arena_array(a, tsr_matrix_info, caps->n_matrix + 1);
  *out = (tsr_device_info){.id = arena_str(a, id),
                           .backend = vt->name,
                           .name = arena_str(a, d->name),
                           .driver = arena_str(a, d->driver),
                           .arch = arena_str(a, caps->arch),
                           .software = d->software,
                           .n_matrix = caps->n_matrix,
                           .matrix = m,
                           .n_cores = caps->n_cores,
                           .subgroup = caps->subgroup,
                           .max_threads = caps->max_threads,
                           .vector_bytes = caps->vector_bytes,
                           .shared_bytes = caps->shared_bytes,
                           .max_buffer_bytes = caps->max_buffer_bytes,
                           .memory_bytes = caps->memory_bytes,
                           .max_range_bytes = caps->max_range_bytes,
                           .stream_priorities = vt->stream_priorities,
                           .subnormals_f16 = caps->denorm_f16,
                           .subnormals_f32 = caps->denorm_f32,
                           .subnormals_f64 = caps->denorm_f64,
                           .fallbacks = arena_str(a, d->fallbacks),
                           .cores_from = cores_name(caps)};
  if (!m || !out->id || !out->name || !out->driver || !out->arch || !out->fallbacks) return st_oom();
  for (int i = 0; i < caps->n_matrix; i++) {
    const tsr_matrix_shape *s = &caps->matrix[i];
    m[i] = (tsr_matrix_info){
        s->m, s->n, s->k, s->a, s->b, s->c, scope_name(s->scope), s->enabled, arena_str(a, s->reason)};
    if (!m[i].reason) return st_oom();
  }
  return public_lists(a, d, out);
}

/* Under the context's lock: who asks second gets the list that the first one made. */
static tsr_status list_devices(tsr_context *c) {
  int n = 0;
  if (c->listed) return NULL;
  for (int i = 0; i < c->n_backends; i++) {
    TSR_TRY(load_locked(c, &c->backends[i]));
    if (c->backends[i].instance) n += c->backends[i].vt->n_devices(c->backends[i].instance);
  }
  c->devices = arena_array(&c->devices_arena, tsr_device_info, n + 1);
  be_device_info *info = al_new(&c->al, be_device_info);
  if (!c->devices || !info) {
    al_free(&c->al, info, sizeof *info, 16);
    return st_oom();
  }
  tsr_status st = NULL;
  c->n_devices = 0;
  for (int i = 0; i < c->n_backends; i++) {
    rt_backend *b = &c->backends[i];
    for (int k = 0; b->instance && k < b->vt->n_devices(b->instance); k++) {
      char id[64];
      snprintf(id, sizeof id, "%s:%d", b->vt->name, k);
      st = b->vt->device_info(b->instance, k, info);
      if (tsr_status_code(st) == TSR_OUT_OF_MEMORY) goto done;
      if (st) {
        rt_log(c, TSR_LOG_WARN, "%s: %s", id, tsr_status_message(st));
        tsr_status_free(st);
        st = NULL;
        continue;
      }
      TSR_GOTO(public_info(&c->devices_arena, b->vt, id, info, &info->caps, &c->devices[c->n_devices]));
      c->n_devices++;
    }
  }
  c->listed = true;
done:
  al_delete(&c->al, info);
  return st;
}

tsr_status tsr_devices(tsr_context *c, const tsr_device_info **out, int *n) {
  RT_OUT("devices", out);
  RT_OUT("devices", n);
  RT_NEED("devices", "ctx", c);
  pthread_mutex_lock(&c->lock);
  tsr_status st = list_devices(c);
  pthread_mutex_unlock(&c->lock);
  if (st) return st;
  *out = c->devices;
  *n = c->n_devices;
  return NULL;
}

/* Under the context's lock. Another thread may read the rows that were handed out before: they are written once. */
static tsr_status list_backends(tsr_context *c) {
  int n = 0;
  if (c->n_infos) return NULL;
  for (; n < c->n_backends; n++) {
    TSR_TRY(load_locked(c, &c->backends[n]));
    c->infos[n] = (tsr_backend_info){c->backends[n].vt->name, !*c->backends[n].why, c->backends[n].why, true};
  }
  for (const rt_not_built *b = rt_backends_not_built; b->name; b++)
    c->infos[n++] = (tsr_backend_info){b->name, false, b->why, false};
  c->n_infos = n;
  return NULL;
}

tsr_status tsr_backends(tsr_context *c, const tsr_backend_info **out, int *n) {
  RT_OUT("backends", out);
  RT_OUT("backends", n);
  RT_NEED("backends", "ctx", c);
  pthread_mutex_lock(&c->lock);
  tsr_status st = list_backends(c);
  pthread_mutex_unlock(&c->lock);
  if (st) return st;
  *out = c->infos;
  *n = c->n_infos;
  return NULL;
}

static tsr_status finish_open(tsr_device *d, const char *id, const be_device_info *info) {
  TSR_TRY(public_info(&d->arena, d->vt, id, info, &d->caps, &d->info));
  return d->be ? tsr_stream_create(d, 0, &d->stream) : NULL;
}

/* "cuda:sm_90a": capabilities from a table, no hardware. */
static tsr_status open_arch(tsr_context *c, rt_backend *b, const char *arch, const char *id, tsr_device *d,
                            be_device_info *info) {
  tsr_status st = b->vt->arch_caps
                      ? b->vt->arch_caps(arch, &d->caps)
                      : st_make(&c->al, TSR_NOT_FOUND, RT_WHERE("device", NULL), "no architecture \"%s\"", arch);
  if (st && tsr_status_code(st) != TSR_NOT_FOUND) return st;
  if (st) {
    const char *hint = *tsr_status_hint(st) ? tsr_status_hint(st) : "`tessera devices` lists what is there";
    tsr_status none = st_make(&c->al, TSR_UNAVAILABLE, RT_WHERE("device", hint), "no device \"%s\"", id);
    tsr_status_free(st);
    return none;
  }
  snprintf(info->name, sizeof info->name, "%s (no hardware)", arch);
  return NULL;
}

static tsr_status open_one(tsr_context *c, const char *id, tsr_device **out) {
  size_t n = strcspn(id, ":");
  const char *which = id[n] ? id + n + 1 : "0";
  rt_backend *b = rt_find_backend(c, id, n);
  const char *why = b ? NULL : rt_why_not_built(id, n);
  if (why) return st_make(&c->al, TSR_UNAVAILABLE, RT_WHERE("device", NULL), "%.*s: %s", (int)n, id, why);
  if (!b)
    return st_make(&c->al, TSR_UNAVAILABLE, RT_WHERE("device", "`tessera devices` lists what is there"),
                   "no backend \"%.*s\" in this build", (int)n, id);
  tsr_device *d = al_new(&c->al, tsr_device);
  be_device_info *info = al_new(&c->al, be_device_info);
  tsr_status st = NULL;
  char canonical[96];
  if (d) {
    d->ctx = c;
    d->vt = b->vt;
    d->number = rt_number(c);
    arena_init(&d->arena, &c->al);
  }
  if (!d || !info) TSR_GOTO(st_oom());
  snprintf(canonical, sizeof canonical, "%s:%s", b->vt->name, which);
  if (!rt_is_device_number(which)) {
    TSR_GOTO(open_arch(c, b, which, id, d, info));
  } else {
    int index = 0;
    sscanf(which, "%d", &index);
    TSR_GOTO(rt_backend_load(c, b));
    if (!b->instance) TSR_GOTO(st_make(&c->al, TSR_UNAVAILABLE, RT_WHERE("device", NULL), "%s: %s", id, b->why));
    if (index >= b->vt->n_devices(b->instance))
      TSR_GOTO(st_make(&c->al, TSR_UNAVAILABLE, RT_WHERE("device", "`tessera devices` lists what is there"),
                       "%s: the driver lists %d device(s)", id, b->vt->n_devices(b->instance)));
    TSR_GOTO(b->vt->device_info(b->instance, index, info));
    TSR_GOTO(b->vt->device_open(b->instance, index, NULL, &d->be, &d->caps));
  }
  TSR_GOTO(finish_open(d, canonical, info));
  *out = d;
done:
  al_free(&c->al, info, sizeof *info, 16);
  if (st) tsr_device_close(&d);
  return st;
}

tsr_status tsr_device_open(tsr_context *c, const char *id, tsr_device **out) {
  RT_OUT("device_open", out);
  RT_NEED("device_open", "ctx", c);
  char one[256];
  tsr_status st = NULL;
  if (!id || !*id) id = knob_str("TSR_BACKEND");
  if (!*id) id = "cpu:0";
  if (!strchr(id, ',')) return open_one(c, id, out);
  while (*id && !*out) { /* the first of the list that is there */
    size_t n = strcspn(id, ",");
    snprintf(one, sizeof one, "%.*s", (int)n, id);
    id += n + (id[n] == ',');
    tsr_status_free(st);
    st = open_one(c, *one ? one : "cpu:0", out);
    if (st && tsr_status_code(st) != TSR_UNAVAILABLE) break;
  }
  return st;
}

tsr_status tsr_device_import(tsr_context *c, const char *backend, const void *import, tsr_device **out) {
  RT_OUT("device_import", out);
  RT_NEED("device_import", "ctx", c);
  rt_backend *b = backend ? rt_find_backend(c, backend, strlen(backend)) : NULL;
  if (!b || !import) return RT_BAD(c, "device_import", NULL, "needs a backend's name and its import struct");
  be_instance *shell = NULL; /* so that nothing is made in the driver beside the application's own objects */
  if (b->vt->instance_import) TSR_TRY(b->vt->instance_import(&c->env, &shell));
  else TSR_TRY(rt_backend_load(c, b));
  if (!shell && !b->instance)
    return st_make(&c->al, TSR_UNAVAILABLE, RT_WHERE("device_import", NULL), "%s: %s", backend, b->why);
  tsr_device *d = al_new(&c->al, tsr_device);
  be_device_info *info = al_new(&c->al, be_device_info);
  tsr_status st = NULL;
  if (d) {
    d->ctx = c;
    d->vt = b->vt;
    d->number = rt_number(c);
    d->shell = shell;
    arena_init(&d->arena, &c->al);
  } else if (shell) {
    b->vt->instance_destroy(shell);
  }
  if (!d || !info) TSR_GOTO(st_oom());
  TSR_GOTO(b->vt->device_open(shell ? shell : b->instance, -1, &(be_import){import}, &d->be, &d->caps));
  snprintf(info->name, sizeof info->name, "imported device");
  char id[64];
  snprintf(id, sizeof id, "%s:imported", backend);
  TSR_GOTO(finish_open(d, id, info));
  *out = d;
done:
  al_free(&c->al, info, sizeof *info, 16);
  if (st) tsr_device_close(&d);
  return st;
}

void tsr_device_close(tsr_device **dp) {
  tsr_device *d = dp ? *dp : NULL;
  if (!d) return;
  if (d->ctx) {
    tsr_stream_destroy(&d->stream);
    if (d->be) d->vt->device_close(d->be);
    if (d->shell) d->vt->instance_destroy(d->shell);
    arena_clear(&d->arena);
    rt_drop_profile(d);
    al_delete(&d->ctx->al, d);
  }
  *dp = NULL;
}

const tsr_device_info *tsr_device_get_info(const tsr_device *d) { return d ? &d->info : NULL; }
