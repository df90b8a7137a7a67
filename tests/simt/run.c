/* tests/simt/run.c - tsr_simt_run: runs every kernel of a Tile or Target IR file in the emulator on random inputs and
 * prints what it finds. For developers of lowerings and printers.
 *   tsr_simt_run ARCH FILE.mlir [--seed N] [--source] */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/simt/target_run.h"

static ir_module *parse_file(const char *path) {
  FILE *f = fopen(path, "rb");
  char *text = malloc(1 << 20);
  if (!f || !text) {
    perror(path);
    exit(2);
  }
  size_t n = fread(text, 1, 1 << 20, f);
  fclose(f);
  ir_module *m;
  tsr_status st = ir_parse(NULL, text, n, path, &m);
  if (st) {
    fprintf(stderr, "%s\n", tsr_status_message(st));
    exit(2);
  }
  free(text);
  return m;
}

/* Bytes of each argument of a kernel by its types in the module. */
static int arg_bytes(const ir_module *m, const char *name, emu_range *out) {
  for (const ir_op *op = m->root->regions[0]->first; op; op = op->next) {
    if (!op->n_regions || strcmp(ir_get_str(op, "sym_name", ""), name)) continue;
    const ir_block *b = op->regions[0];
    for (int i = 0; i < b->n_args; i++) {
      int64_t n = b->args[i]->type->kind == IR_T_PTR ? 1 << 20 : ir_type_count(b->args[i]->type);
      out[i] = (emu_range){.bytes = (size_t)n * tsr_dtype_size(b->args[i]->type->dtype)};
    }
    return b->n_args;
  }
  return 0;
}

static int run_kernel(const ir_module *m, const emu_unit *u, int k, unsigned seed) {
  static emu_report r;
  emu_range buffers[EMU_MAX_ARGS];
  int n = arg_bytes(m, u->names[k], buffers);
  memset(&r, 0, sizeof r);
  for (int i = 0; i < n; i++) {
    size_t padded = (buffers[i].bytes + 255) / 256 * 256;
    buffers[i].data = aligned_alloc(256, padded);
    for (size_t j = 0; j < padded; j++)
      ((uint8_t *)buffers[i].data)[j] =
          j % 2 ? 0x30 : (uint8_t)(j * 37 % 251); /* small positive numbers in most types */
  }
  clock_t t = clock();
  tsr_status st = emu_launch(u, k, buffers, seed, &r);
  printf("%s (%s): %s, %.2f s\n", u->names[k], u->paths[k],
         st             ? tsr_status_message(st)
         : r.n_findings ? "findings"
                        : "clean",
         (double)(clock() - t) / CLOCKS_PER_SEC);
  emu_report_print(&r, stdout);
  for (int i = 0; i < n; i++) free(buffers[i].data);
  int bad = st || r.n_findings;
  tsr_status_free(st);
  return bad;
}

int main(int argc, char **argv) {
  static emu_unit u;
  tsr_caps caps;
  unsigned seed = 0;
  bool source = false;
  if (argc < 3) {
    fprintf(stderr, "usage: tsr_simt_run ARCH FILE.mlir [--seed N] [--source]\n");
    return 2;
  }
  for (int i = 3; i < argc; i++) {
    if (!strcmp(argv[i], "--source")) source = true;
    if (!strcmp(argv[i], "--seed") && i + 1 < argc) seed = (unsigned)strtoul(argv[i + 1], NULL, 10);
  }
  ir_module *m = parse_file(argv[2]);
  tsr_status st = emu_arch_caps(argv[1], &caps);
  if (!st) st = emu_build(m, &caps, &u);
  if (st) {
    fprintf(stderr, "%s\n", tsr_status_message(st));
    return tsr_status_code(st) == TSR_UNSUPPORTED ? 3 : 1;
  }
  if (source) puts(u.source);
  int bad = 0;
  for (int i = 0; i < u.n_kernels; i++) bad |= run_kernel(m, &u, i, seed);
  emu_unit_clear(&u);
  ir_module_destroy(&m);
  return bad;
}
