/* tests/simt/build.c - emitted text to a shared object: the host's C++ compiler with the emulator's prelude, one entry
 * per kernel, -fsanitize=thread for the access hooks; then a plain link without that sanitizer's runtime, its calls
 * renamed to ours. */
#define _GNU_SOURCE /* posix_spawn_file_actions_addchdir_np before glibc 2.37 */
#include <dlfcn.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/simt/sim.h"

extern char **environ;

struct emu_module {
  void *handle;
  char dir[64];
};

/* The lines are the text's. No #line with a name: ccache takes it for a file that is included, doesn't find it, and
 * then preprocesses every text, hit or not, which takes longer than most launches here. */
static bool write_source(const emu_compile_desc *d, const char *path) {
  char *whole = d->path ? realpath(d->path, NULL) : NULL;
  FILE *f = fopen(path, "w");
  if (!f) return free(whole), false;
  if (d->source) fprintf(f, "%s\n", d->source);
  else fprintf(f, "#include \"%s\"\n", whole ? whole : d->path);
  free(whole);
  for (int i = 0; i < d->n_kernels; i++) fprintf(f, "EMU_ENTRY(%s)\n", d->kernels[i]);
  return !fclose(f);
}

/* Runs a program in folder dir with its output appended to a file; its exit status, -1 if it could not be started. */
static int run(char *const argv[], const char *dir, const char *log) {
  posix_spawn_file_actions_t fa;
  posix_spawn_file_actions_init(&fa);
  posix_spawn_file_actions_addchdir_np(&fa, dir);
  posix_spawn_file_actions_addopen(&fa, 1, log, 01 | 0100 | 02000, 0600); /* write, create, append */
  posix_spawn_file_actions_adddup2(&fa, 1, 2);
  pid_t pid;
  int status = posix_spawnp(&pid, argv[0], &fa, NULL, argv, environ) ? -1 : 0;
  posix_spawn_file_actions_destroy(&fa);
  if (status) return -1;
  while (waitpid(pid, &status, 0) < 0) continue;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* By names within the folder, so that a compiler cache, where the build uses one, finds the object of an equal text. */
static int compile(const emu_compile_desc *d, const char *dir) {
  const char *cxx = d->compiler ? d->compiler : getenv("TSR_SIMT_CXX");
  char prelude[512], include[512], flags[256], *argv[32];
  int n = 0;
  if (*TSR_SIMT_LAUNCHER) argv[n++] = (char *)(uintptr_t)TSR_SIMT_LAUNCHER;
  snprintf(prelude, sizeof prelude, "-DTSR_EMULATOR=\"%s/tests/simt/prelude.h\"", TSR_SOURCE_DIR);
  snprintf(include, sizeof include, "-I%s/tests/simt", TSR_SOURCE_DIR);
  /* Without the C++ library, whose <cmath> takes longer to read than a small kernel (math.h is the C library's), and
   * without optimisation, which takes longer than it saves. */
  const char *fixed[] = {cxx && *cxx ? cxx : "g++",
                         "-std=c++17",
                         "-nostdinc++",
                         "-O0",
                         "-w",
                         "-fPIC",
                         "-fsanitize=thread",
                         "-fno-exceptions",
                         "-fno-rtti",
                         "-ffp-contract=off",
                         "-fno-strict-aliasing",
                         "-fno-stack-protector",
                         prelude,
                         include,
                         "-c",
                         "k.cpp",
                         "-o",
                         "k.o"};
  for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) argv[n++] = (char *)(uintptr_t)fixed[i];
  snprintf(flags, sizeof flags, "%s", d->flags ? d->flags : "");
  for (char *f = strtok(flags, " "); f && n < 31; f = strtok(NULL, " ")) argv[n++] = f;
  argv[n] = NULL;
  return run(argv, dir, "log");
}

static int link_object(const char *dir) {
  static const char *const hooks[] = {"read1",
                                      "read2",
                                      "read4",
                                      "read8",
                                      "read16",
                                      "write1",
                                      "write2",
                                      "write4",
                                      "write8",
                                      "write16",
                                      "unaligned_read2",
                                      "unaligned_read4",
                                      "unaligned_read8",
                                      "unaligned_read16",
                                      "unaligned_write2",
                                      "unaligned_write4",
                                      "unaligned_write8",
                                      "unaligned_write16",
                                      "read_write1",
                                      "read_write2",
                                      "read_write4",
                                      "read_write8",
                                      "read_write16",
                                      "read_range",
                                      "write_range",
                                      "memcpy",
                                      "memset",
                                      "func_entry",
                                      "func_exit",
                                      "init"};
  enum { N = sizeof hooks / sizeof *hooks };
  char wrap[N][48];
  char *argv[N + 8];
  int n = 0;
  const char *fixed[] = {"ld", "-shared", "-o", "k.so", "k.o"};
  for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) argv[n++] = (char *)(uintptr_t)fixed[i];
  for (int i = 0; i < N; i++) {
    snprintf(wrap[i], sizeof wrap[i], "--wrap=__tsan_%s", hooks[i]);
    argv[n++] = wrap[i];
  }
  argv[n] = NULL;
  return run(argv, dir, "log");
}

static char *read_all(const char *path) {
  FILE *f = fopen(path, "r");
  char *text = malloc(65537);
  if (!text) abort();
  size_t n = f ? fread(text, 1, 65536, f) : 0;
  if (f) fclose(f);
  text[n] = 0;
  return text;
}

static void remove_dir(const char *dir) {
  static const char *const files[] = {"k.cpp", "k.o", "k.so", "log"};
  char path[96];
  for (int i = 0; i < 4; i++) {
    snprintf(path, sizeof path, "%s/%s", dir, files[i]);
    unlink(path);
  }
  rmdir(dir);
}

emu_module *emu_compile(const emu_compile_desc *d, char **log) {
  emu_module *m = calloc(1, sizeof *m);
  char path[3][96];
  *log = NULL;
  if (!m) abort();
  const char *tmp = getenv("TMPDIR");
  snprintf(m->dir, sizeof m->dir, "%s/simtXXXXXX", tmp && strlen(tmp) < 40 ? tmp : "/tmp");
  if (!mkdtemp(m->dir)) goto fail;
  snprintf(path[0], sizeof path[0], "%s/k.cpp", m->dir);
  snprintf(path[1], sizeof path[1], "%s/k.so", m->dir);
  snprintf(path[2], sizeof path[2], "%s/log", m->dir);
  if (!write_source(d, path[0]) || compile(d, m->dir) || link_object(m->dir) ||
      !(m->handle = dlopen(path[1], RTLD_NOW | RTLD_LOCAL))) {
    *log = read_all(path[2]);
    if (!**log) snprintf(*log, 65536, "%s", dlerror());
    remove_dir(m->dir);
    goto fail;
  }
  remove_dir(m->dir);
  return m;
fail:
  free(m);
  return NULL;
}

void emu_module_destroy(emu_module *m) {
  if (!m) return;
  dlclose(m->handle);
  free(m);
}

void *emu_module_entry(emu_module *m, const char *kernel);
void *emu_module_entry(emu_module *m, const char *kernel) {
  char name[256];
  snprintf(name, sizeof name, "emu_entry_%s", kernel);
  return dlsym(m->handle, name);
}
