/* backends/simt/simt_device.c - instances, devices, buffers, and the one place where a driver's code becomes a status.
 */
#include <stdio.h>
#include <string.h>

#include "backends/simt/simt.h"

/* ---- statuses ---------------------------------------------------------------------------------------------------- */

static bool is_lost_code(const simt_dialect *d, int code) {
  for (int i = 0; d->lost_codes[i]; i++)
    if (d->lost_codes[i] == code) return true;
  return false;
}

static tsr_status lost(const be_device *dev, const char *call) {
  const simt_dialect *d = dev->in->d;
  return st_make(
      dev->in->env.al, TSR_DEVICE_LOST,
      ST_WHERE(d->name, call,
               dev->foreign
                   ? "make a new context and import it: buffers, programs, streams and events of this one are gone"
                   : "close the device and open it again: buffers, programs, streams and events must be made anew"),
      "%s (%d): the device's context is unusable", d->error_name(dev->in->api.lib, dev->lost_code), dev->lost_code);
}

tsr_status simt_check(be_device *dev, int code, const char *call) {
  const simt_dialect *d = dev->in->d;
  if (code == SIMT_OK) return NULL;
  if (is_lost_code(d, code)) {
    dev->lost = true;
    dev->lost_code = code;
    return lost(dev, call);
  }
  tsr_code c = code == SIMT_OUT_OF_MEMORY   ? TSR_OUT_OF_MEMORY
               : code == 209 || code == 218 ? TSR_ARCH_MISMATCH
                                            : TSR_LAUNCH_FAILED;
  return st_make(dev->in->env.al, c, ST_WHERE(d->name, call, NULL), "%s (%d)", d->error_name(dev->in->api.lib, code),
                 code);
}

tsr_status simt_enter(be_device *dev) {
  if (dev->lost) return lost(dev, NULL);
  return simt_check(dev, dev->in->api.context_current(dev->context), "set the current context");
}

/* ---- instance ---------------------------------------------------------------------------------------------------- */

tsr_status simt_instance_create(const be_env *env, const simt_dialect *d, be_instance **out) {
  be_instance *in = al_new(env->al, be_instance);
  tsr_status st = NULL;
  int code;
  *out = NULL;
  if (!in) return st_oom();
  in->env = *env;
  in->d = d;
  pthread_mutex_init(&in->lock, NULL);
  TSR_GOTO(simt_load_api(env, d, &in->api));
  if ((code = in->api.init(0)) || (code = in->api.driver_version(&in->driver)) ||
      (code = in->api.device_count(&in->n_devices))) {
    st = st_make(env->al, TSR_UNAVAILABLE, ST_WHERE(d->name, NULL, NULL), "the %s driver does not start: %s (%d)",
                 d->label, d->error_name(in->api.lib, code), code);
    goto done;
  }
  if (in->driver < d->min_driver) {
    st = st_make(env->al, TSR_UNAVAILABLE, ST_WHERE(d->name, NULL, "update the driver"),
                 "driver version %d is older than the %d that is needed", in->driver, d->min_driver);
    goto done;
  }
  if (in->n_devices < 1)
    st = st_make(env->al, TSR_UNAVAILABLE, ST_WHERE(d->name, NULL, NULL), "the driver knows no device");
done:
  if (st) simt_instance_destroy(in);
  else *out = in;
  return st;
}

void simt_instance_destroy(be_instance *in) {
  if (!in) return;
  simt_close_lib(&in->api.lib);
  pthread_mutex_destroy(&in->lock);
  al_delete(in->env.al, in);
}

int simt_n_devices(be_instance *in) { return in->n_devices; }

static tsr_status driver_error(const be_instance *in, int code, const char *call) {
  return st_make(in->env.al, TSR_UNAVAILABLE, ST_WHERE(in->d->name, call, NULL), "%s (%d)",
                 in->d->error_name(in->api.lib, code), code);
}

tsr_status simt_device_info(be_instance *in, int index, be_device_info *out) {
  int handle, code;
  unsigned char uuid[16] = {0};
  size_t bytes = 0;
  memset(out, 0, sizeof *out);
  if ((code = in->api.device_get(&handle, index))) return driver_error(in, code, "device");
  if ((code = in->api.device_name(out->name, sizeof out->name, handle))) return driver_error(in, code, "device name");
  TSR_TRY(in->d->device_caps(&in->api, handle, &out->caps));
  if ((code = in->api.device_memory(&bytes, handle))) return driver_error(in, code, "device memory");
  out->caps.memory_bytes = out->caps.max_buffer_bytes = (int64_t)bytes;
  in->d->driver_text(in->driver, out->driver, sizeof out->driver);
  snprintf(out->vendor, sizeof out->vendor, "%s", in->d->vendor);
  if (in->api.device_uuid && !in->api.device_uuid(uuid, handle))
    for (int i = 0; i < 16; i++) snprintf(out->id + 2 * i, 3, "%02x", uuid[i]);
  return NULL;
}

/* ---- device ------------------------------------------------------------------------------------------------------ */

static void reach(const be_device *from, const be_device *to) {
  const simt_api *api = &from->in->api;
  int can = 0;
  if (from->handle == to->handle || from->lost || to->lost || api->peer_can(&can, from->handle, to->handle) || !can ||
      api->context_current(from->context))
    return;
  from->in->d->peer_enable(api->lib, to->context,
                           to->handle); /* "already enabled" is fine; without it copies go through the host */
}

/* Both ways between a new device and those that are open: the others get no context before somebody wants one. */
static void join_peers(be_device *dev) {
  be_instance *in = dev->in;
  pthread_mutex_lock(&in->lock);
  for (be_device *o = in->open; o && in->api.peer_can; o = o->next_open) {
    reach(dev, o);
    reach(o, dev);
  }
  dev->next_open = in->open;
  in->open = dev;
  pthread_mutex_unlock(&in->lock);
}

static void leave_peers(be_device *dev) {
  pthread_mutex_lock(&dev->in->lock);
  for (be_device **p = &dev->in->open; *p; p = &(*p)->next_open)
    if (*p == dev) {
      *p = dev->next_open;
      break;
    }
  pthread_mutex_unlock(&dev->in->lock);
}

tsr_status simt_device_open(be_instance *in, int index, const be_import *import, be_device **out, tsr_caps *caps) {
  be_device *dev = al_new(in->env.al, be_device);
  be_device_info info;
  tsr_status st = NULL;
  *out = NULL;
  if (!dev) return st_oom();
  dev->in = in;
  dev->index = index;
  if (import) {
    TSR_GOTO(in->d->import(import->desc, &dev->index, &dev->context, &dev->foreign_stream));
    dev->foreign = true;
  }
  if (dev->index < 0 || dev->index >= in->n_devices) {
    st = st_make(in->env.al, TSR_NOT_FOUND, ST_WHERE(in->d->name, NULL, NULL), "device %d of %d", dev->index,
                 in->n_devices);
    goto done;
  }
  TSR_GOTO(simt_device_info(in, dev->index, &info));
  dev->caps = info.caps;
  TSR_GOTO(simt_check(dev, in->api.device_get(&dev->handle, dev->index), "device"));
  if (!dev->foreign)
    TSR_GOTO(simt_check(dev, in->api.context_retain(&dev->context, dev->handle), "retain the primary context"));
  TSR_GOTO(simt_enter(dev));
  if (!dev->foreign) join_peers(dev);
done:
  if (st) {
    simt_device_close(dev);
  } else {
    *out = dev;
    if (caps) *caps = dev->caps;
  }
  return st;
}

void simt_device_close(be_device *dev) {
  if (!dev) return;
  const simt_api *api = &dev->in->api;
  leave_peers(dev);
  if (dev->context && !dev->foreign) {
    if (dev->lost && api->context_reset) api->context_reset(dev->handle);
    api->context_release(dev->handle);
  }
  al_delete(dev->in->env.al, dev);
}

/* ---- buffers ----------------------------------------------------------------------------------------------------- */

tsr_status simt_buffer_create(be_device *dev, size_t bytes, be_memory kind, be_buffer **out) {
  be_buffer *b;
  tsr_status st = NULL;
  *out = NULL;
  TSR_TRY(simt_enter(dev));
  if (!(b = al_new(dev->in->env.al, be_buffer))) return st_oom();
  *b = (be_buffer){.dev = dev, .bytes = bytes};
  if (kind == BE_HOST_VISIBLE) { /* page-locked, device-mapped: one address for both sides */
    st = simt_check(dev,
                    dev->in->api.host_alloc(&b->host, bytes ? bytes : 1, dev->in->d->host_flags),
                    "allocate host memory");
    b->address = (uint64_t)(uintptr_t)b->host;
  } else {
    st = simt_check(dev, dev->in->api.memory_alloc(&b->address, bytes ? bytes : 1), "allocate device memory");
  }
  if (st) al_delete(dev->in->env.al, b);
  else *out = b;
  return st;
}

tsr_status simt_buffer_import(be_device *dev, const void *desc, size_t bytes, be_buffer **out) {
  uint64_t address = dev->in->d->import_pointer(desc);
  *out = NULL;
  if (address % 16)
    return st_make(dev->in->env.al, TSR_INVALID_ARGUMENT,
                   ST_WHERE(dev->in->d->name, "buffer_import", "import what it lies in, and bind with an offset"),
                   "the pointer is not a multiple of 16 bytes");
  be_buffer *b = al_new(dev->in->env.al, be_buffer);
  if (!b) return st_oom();
  *b = (be_buffer){.dev = dev, .bytes = bytes, .address = address, .imported = true};
  *out = b;
  return NULL;
}

void simt_buffer_destroy(be_buffer *b) {
  if (!b) return;
  be_device *dev = b->dev;
  if (!b->imported && !dev->lost && !dev->in->api.context_current(dev->context)) {
    if (b->host) dev->in->api.host_free(b->host);
    else dev->in->api.memory_free(b->address);
  }
  al_delete(dev->in->env.al, b);
}

void *simt_buffer_map(be_buffer *b) { return b->host; }
