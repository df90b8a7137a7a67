/* tools/tessera/cmd_prewarm.c - `tessera cache prewarm FILE`: compiles a program for a device and launches one block of
 * each of its kernels, so that the caches on disk, the driver's among them, have all that its first run would make. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "tools/tessera/cache_args.h"
#include "tools/tessera/cli.h"

typedef struct progress { bool shown; int n; } progress;

static bool on_kernel(void *user, int done, int total, const char *kernel) {
  progress *p = user;
  p->n = done;
  if (!p->shown) return true;
  fprintf(stderr, "\r%d of %d kernels%s%.40s\033[K", done, total, *kernel ? ": " : "", kernel);
  if (done == total) fprintf(stderr, "\r\033[K");
  return true;
}

static int warm(tsr_context *ctx, const cache_args *a, const char *text, size_t bytes) {
  tsr_device *dev = NULL;
  tsr_program *p = NULL;
  progress shown = {.shown = isatty(2) && !a->json};
  int64_t start = clock_ns(), made = 0;
  tsr_status st = tsr_device_open(ctx, a->device, &dev);
  if (!st) st = tsr_program_parse(dev, text, bytes, a->operand, NULL, &p);
  if (!st) made = clock_ns(), st = tsr_program_prewarm(p, on_kernel, &shown);
  double compile = (double)(made - start) * 1e-9, first = (double)(clock_ns() - made) * 1e-9;
  if (!st && a->json) {
    printf("{\"file\": ");
    cli_json_string(stdout, a->operand);
    printf(", \"device\": \"%s\", \"kernels\": %d, \"compile_s\": %.4g, \"prewarm_s\": %.4g}\n",
           tsr_device_get_info(dev)->id, shown.n, compile, first);
  } else if (!st) {
    printf("%s on %s: %d kernels, compiled in %.3g s, prewarmed in %.3g s\n", a->operand, tsr_device_get_info(dev)->id,
           shown.n, compile, first);
  }
  int rc = st ? cli_fail(st) : EXIT_OK;
  tsr_program_destroy(&p);
  tsr_device_close(&dev);
  return rc;
}

int cache_prewarm(const cache_args *a) {
  size_t bytes;
  tsr_context *ctx = NULL;
  if (!a->operand) return cli_usage("cache", "prewarm needs a FILE of IR text");
  char *text = cli_read_file(a->operand, &bytes);
  if (!text) return EXIT_USAGE;
  if (a->dir) setenv("TSR_CACHE_DIR", a->dir, 1);
  tsr_status st = cli_context(&ctx);
  int rc = st ? cli_fail(st) : warm(ctx, a, text, bytes);
  tsr_context_destroy(&ctx);
  free(text);
  return rc;
}
