/* backends/cpu/device.h - the CPU as a device, between its files: backend.c opens it, program.c runs on it. */
#ifndef BACKENDS_CPU_DEVICE_H
#define BACKENDS_CPU_DEVICE_H
#include <pthread.h>

#include "backends/cpu/counter.h"
#include "backends/cpu/panel_cache.h"
#include "backends/cpu/pool.h"
#include "backends/cpu/vm.h"
#include "backends/host/host.h"

enum { CPU_MAX_THREADS = 256 };

struct be_device {
  host_device host;
  const cpuk_table *k;
  pool *pool;
  pthread_mutex_t lock;
  vm_thread *threads;
  int n_threads, n_allocated;
  int64_t stream_bytes;
  uint64_t n_launched; /* under the lock */
  panel_cache *panels;
  counter *counter;  /* of the workers and of the thread that profiles */
  bool no_counter;   /* the kernel had none */
};

/* Functions of the backend's table. */
tsr_status cpu_module_create(be_device *d, const be_module_desc *desc, be_module **out);
void cpu_module_destroy(be_module *m);
tsr_status cpu_program_create(be_device *d, const be_program_desc *desc, be_program **out);
void cpu_program_destroy(be_program *p);
tsr_status cpu_program_run(be_stream *s, be_program *p, const be_range *bindings, double *times_ns);
void cpu_parallel(be_device *d, void (*fn)(void *arg, int64_t item, int worker), void *arg, int64_t n_items);
void cpu_time_blocks(be_program *p, be_block_times *out);
#endif
