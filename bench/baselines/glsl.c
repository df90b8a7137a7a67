/* bench/baselines/glsl.c - the matmul of shaders/, written by hand in GLSL and compiled by shaderc, on the first Vulkan
 * device: what the emitted kernels are compared with. */
#include <stdio.h>
#include <string.h>

#include "backends/vulkan/backend.h"
#include "bench/baselines/peer_impl.h"
#include "core/base/knob.h"
#include "shaders/shaders.h"

typedef struct glsl_set { be_buffer *b[4]; be_range r[4]; } glsl_set; /* a, b, sizes, c */
typedef struct glsl_job {
  peer_job base;
  be_stream *stream;
  be_module *module;
  be_program *program;
  glsl_set *sets;
} glsl_job;

static void quiet(void *user, int level, const char *text) { (void)user, (void)level, (void)text; }

static be_env env = {.al = &al_default, .log = quiet};
static be_instance *instance;
static be_device *device;
static tsr_caps caps;

static tsr_status glsl_open(void) {
  if (device) return NULL;
  if (!shader_find("matmul_f16"))
    return st_make(&al_default, TSR_UNAVAILABLE, ST_WHERE("bench", "glsl", "install glslc and build again"),
                   "built without glslc");
  env.cache_dir = knob_str("TSR_CACHE_DIR");
  if (!instance) TSR_TRY(vulkan_backend.instance_create(&env, &instance));
  return vulkan_backend.device_open(instance, 0, NULL, &device, &caps);
}

static const char *glsl_describe(void) { return "glsl (shaders/matmul_f16.comp)"; }

static tsr_status make_module(glsl_job *j) {
  const peer_desc *d = &j->base.desc;
  const shader *s = shader_find("matmul_f16");
  const size_t offsets[2] = {0, 4 * s->n_words};
  be_kernel_desc k = {.name = "matmul_f16",
                      .grid = {d->n / 16, d->m / 8, 1},
                      .block = {8, 1, 1},
                      .n_args = 4,
                      .n_outputs = 1,
                      .flops = 2.0 * (double)d->m * (double)d->n * (double)d->k};
  be_module_desc m = {.format = BE_SPIRV,
                      .code = s->words,
                      .code_bytes = 4 * s->n_words,
                      .offsets = offsets,
                      .kernels = &k,
                      .n_kernels = 1};
  static const int bindings[4] = {0, 1, 2, 3};
  TSR_TRY(vulkan_backend.module_create(device, &m, &j->module));
  return vulkan_backend.program_create(device, &(be_program_desc){&(be_launch){j->module, 0, bindings, NULL, 0}, 1, 4},
                                       &j->program);
}

static tsr_status glsl_create(peer_job *job) {
  glsl_job *j = (glsl_job *)job;
  peer_desc *d = &job->desc;
  if (d->op != PEER_MATMUL || d->dtype != TSR_F16 || d->batch != 1 || d->m % 8 || d->n % 16 || d->k % 4)
    return peer_unsupported(job->peer, "only f16 matmul with m, n, k multiples of 8, 16, 4");
  if (strcmp(d->device, "vulkan")) return peer_unsupported(job->peer, "runs on vulkan only");
  d->out_dtype = TSR_F16;
  const uint32_t sizes[3] = {(uint32_t)d->m, (uint32_t)d->n, (uint32_t)d->k};
  const size_t bytes[4] = {peer_count(d, 0) * 2, peer_count(d, 1) * 2, sizeof sizes, peer_count(d, 2) * 2};
  TSR_TRY(vulkan_backend.stream_create(device, 0, &j->stream));
  TSR_TRY(make_module(j));
  if (!(j->sets = al_zalloc(&al_default, sizeof *j->sets * (size_t)d->n_sets))) return st_oom();
  for (int s = 0; s < d->n_sets; s++)
    for (int i = 0; i < 4; i++) {
      TSR_TRY(vulkan_backend.buffer_create(device, bytes[i], BE_DEVICE_LOCAL, &j->sets[s].b[i]));
      j->sets[s].r[i] = (be_range){j->sets[s].b[i], 0, bytes[i]};
      if (i == 2) TSR_TRY(vulkan_backend.write(j->stream, j->sets[s].r[i], sizes));
    }
  return vulkan_backend.stream_sync(j->stream, -1);
}

static tsr_status glsl_write(peer_job *job, int set, int operand, const void *data) {
  glsl_job *j = (glsl_job *)job;
  TSR_TRY(vulkan_backend.write(j->stream, j->sets[set].r[operand], data));
  return vulkan_backend.stream_sync(j->stream, -1);
}

static tsr_status glsl_run(peer_job *job, int set) {
  glsl_job *j = (glsl_job *)job;
  return vulkan_backend.program_run(j->stream, j->program, j->sets[set].r, NULL);
}

static tsr_status glsl_wait(peer_job *job) { return vulkan_backend.stream_sync(((glsl_job *)job)->stream, -1); }

static void glsl_read(peer_job *job, int set, void *out) {
  glsl_job *j = (glsl_job *)job;
  tsr_status st = vulkan_backend.read(j->stream, j->sets[set].r[3], out);
  tsr_status_free(st ? st : vulkan_backend.stream_sync(j->stream, -1));
}

static void glsl_destroy(peer_job *job) {
  glsl_job *j = (glsl_job *)job;
  for (int s = 0; j->sets && s < job->desc.n_sets; s++)
    for (int i = 0; i < 4; i++) vulkan_backend.buffer_destroy(j->sets[s].b[i]);
  if (j->sets) al_free(&al_default, j->sets, sizeof *j->sets * (size_t)job->desc.n_sets, 16);
  vulkan_backend.program_destroy(j->program);
  vulkan_backend.module_destroy(j->module);
  vulkan_backend.stream_destroy(j->stream);
}

const peer peer_glsl = {.name = "glsl",
                        .open = glsl_open,
                        .describe = glsl_describe,
                        .create = glsl_create,
                        .write = glsl_write,
                        .run = glsl_run,
                        .wait = glsl_wait,
                        .read = glsl_read,
                        .destroy = glsl_destroy,
                        .job_size = sizeof(glsl_job)};
