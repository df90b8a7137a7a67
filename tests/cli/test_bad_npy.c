/* tests/cli/test_bad_npy.c - `tessera run` on .npy files: every version, byte and element order it takes, and malformed
 * ones, each of which gets one clear line and exit status 2. */
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "tests/cli/cli_run.h"

/* A file of the version with this header text and data. */
static size_t npy(unsigned char *p, int version, const char *header, const void *data, size_t bytes) {
  size_t n = strlen(header), at = version == 1 ? 10 : 12;
  memcpy(p, "\x93NUMPY", 6);
  p[6] = (unsigned char)version, p[7] = 0;
  p[8] = (unsigned char)n, p[9] = (unsigned char)(n >> 8);
  if (version > 1) p[10] = (unsigned char)(n >> 16), p[11] = (unsigned char)(n >> 24);
  memcpy(p + at, header, n);
  if (bytes) memcpy(p + at + n, data, bytes);
  return at + n + bytes;
}

/* ---- good files: -A in C order comes out ------------------------------------------------------------------------- */

static bool six(const cli *c, const float *want) {
  unsigned char p[512];
  size_t n = cli_read(c, "y.npy", p, sizeof p);
  size_t at = n > 10 ? 10 + (size_t)p[8] + ((size_t)p[9] << 8) : 0;
  return at && n == at + 24 && !memcmp(p + at, want, 24);
}

static void taken(cli *c, const char *what, const void *file, size_t n, const float *want) {
  cli_write(c, "x.npy", file, n);
  int rc = cli_run(c, "run g.mlir --input A=x.npy --output 0=y.npy");
  cli_check(c, rc == 0 && six(c, want), what);
}

static void good_files(cli *c) {
  static const float x[6] = {1, 2, 3, 4, 5, 6}, f_order[6] = {1, 4, 2, 5, 3, 6}, want[6] = {-1, -2, -3, -4, -5, -6};
  unsigned char p[512], big[24];
  for (int i = 0; i < 24; i++) big[i] = ((const unsigned char *)x)[i / 4 * 4 + 3 - i % 4];
  const char *plain = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n";
  for (int v = 1; v <= 3; v++) taken(c, "a version", p, npy(p, v, plain, x, 24), want);
  taken(c, "Fortran order", p, npy(p, 1, "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }\n", f_order, 24),
        want);
  taken(c, "big-endian", p, npy(p, 1, "{'descr': '>f4', 'fortran_order': False, 'shape': (2, 3), }\n", big, 24), want);
  taken(c, "entries in another order, no blanks", p,
        npy(p, 1, "{\"shape\":(2,3),\"fortran_order\":False,\"descr\":\"<f4\"}", x, 24), want);
  taken(c, "bytes after the array", p, npy(p, 1, plain, x, 24) + 9, want);
  static const signed char bytes[6] = {1, 2, 3, 4, 5, 6};
  static const double wide[6] = {1, 2, 3, 4, 5, 6};
  taken(c, "i8 converted", p, npy(p, 1, "{'descr': '|i1', 'fortran_order': False, 'shape': (2, 3), }\n", bytes, 6),
        want);
  taken(c, "f64 converted", p, npy(p, 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }\n", wide, 48),
        want);
}

/* NumPy has no type of four bits: bytes go in, what lies beyond as the type's end, and come out. */
static void packed_elements(cli *c) {
  static const char text[] = "\"tessera.graph.func\"() ({\n^bb0(%A: tensor<3x3xi4>):\n"
                             "%0 = \"tessera.graph.add\"(%A, %A)\n\"tessera.graph.return\"(%0)\n"
                             "}) {sym_name = \"main\"}\n";
  static const signed char x[9] = {-8, -7, -1, 0, 1, 2, 3, 7, 100}, want[9] = {0, 2, -2, 0, 2, 4, 6, -2, -2};
  unsigned char p[512];
  cli_write(c, "packed.mlir", text, sizeof text - 1);
  cli_write(c, "x.npy", p, npy(p, 1, "{'descr': '|i1', 'fortran_order': False, 'shape': (3, 3), }\n", x, 9));
  const int rc = cli_run(c, "run packed.mlir --input A=x.npy --output 0=y.npy");
  const size_t n = cli_read(c, "y.npy", p, sizeof p);
  const size_t at = n > 10 ? 10 + (size_t)p[8] + ((size_t)p[9] << 8) : 0;
  const bool right = at && n == at + 9 && !memcmp(p + at, want, 9) && strstr((char *)p + 10, "'|i1'");
  cli_check(c, rc == 0 && right, "i4");
}

/* ---- bad files --------------------------------------------------------------------------------------------------- */

static void refused(cli *c, const void *file, size_t n, const char *says) {
  cli_write(c, "x.npy", file, n);
  cli_refused(c, says, "run g.mlir --input A=x.npy", "x.npy: ");
  cli_check(c, strstr(c->said, says) != NULL, says);
}

#define HEAD(descr, order, shape) "{'descr': " descr ", 'fortran_order': " order ", 'shape': " shape ", }\n"

static const struct { const char *header, *says; } headers[] = {
    {HEAD("'<f4'", "False", "(3, 2)"), "shape"}, /* not the input's */
    {HEAD("'<f4'", "False", "(6,)"), "shape"},
    {HEAD("'<f4'", "False", "()"), "shape"},
    {HEAD("'<c32'", "False", "(2, 3)"), "element type '<c32' is not one of"},
    {HEAD("'<c8'", "False", "(2, 3)"), "truncated: 24 bytes of data, the header says 48"},
    {HEAD("'<U4'", "False", "(2, 3)"), "element type '<U4'"},
    {HEAD("'|O'", "False", "(2, 3)"), "element type '|O'"},
    {HEAD("'<f4\\n'", "False", "(2, 3)"), "element type '<f4"},
    {HEAD("'f4'", "False", "(2, 3)"), "element type 'f4'"},
    {HEAD("'<f16'", "False", "(2, 3)"), "element type '<f16'"},
    {HEAD("[('a', '<f4')]", "False", "(2, 3)"), "structured types are not read"},
    {HEAD("'<f4'", "0", "(2, 3)"), "neither True nor False"},
    {HEAD("'<f4'", "False", "(2, -3)"), "expected a number or )"},
    {HEAD("'<f4'", "False", "(2, 3"), "expected"},
    {HEAD("'<f4'", "False", "2"), "expected a shape"},
    {HEAD("'<f4'", "False", "(2 3)"), "expected , or )"},
    {HEAD("'<f4'", "False", "(1,1,1,1,1,1,1,2,3)"), "more than 8 dimensions"},
    {HEAD("'<f4'", "False", "(99999999999999999999, 3)"), "out of range"},
    {HEAD("'<f4'", "False", "(9223372036854775807, 9223372036854775807)"), "overflows"},
    {HEAD("'<f4'", "False", "(4611686018427387904,)"), "overflows"},
    {HEAD("'<f4'", "False", "(1000000000000, 3)"), "truncated: 24 bytes of data"},
    {"{'descr': '<f4', 'fortran_order': False}\n", "lacks shape"},
    {"{'descr': '<f4', 'shape': (2, 3)}\n", "lacks fortran_order"},
    {"{'descr': '<f4', 'descr': '<f4'}\n", "unexpected key 'descr'"},
    {"{'colour': 'red'}\n", "unexpected key 'colour'"},
    {"{'descr': '<f4\n", "expected an element type"},
    {"{'descr'\n", "expected 'key': value"},
    {"", "malformed .npy header"},
    {"\n\n", "malformed .npy header"},
    {"import os\n", "malformed .npy header"},
};

static void bad_files(cli *c) {
  static const float x[6] = {1, 2, 3, 4, 5, 6};
  unsigned char p[1024];
  const char *plain = HEAD("'<f4'", "False", "(2, 3)");
  for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
    refused(c, p, npy(p, 1 + (int)i % 3, headers[i].header, x, 24), headers[i].says);
  size_t n = npy(p, 1, plain, x, 24);
  for (size_t cut = 1; cut <= 24; cut += 23) refused(c, p, n - cut, "truncated: ");
  static const struct {
    size_t bytes;
    const char *says;
  } cuts[] = {{0, "not an .npy file"},      {5, "not an .npy file"},       {6, "truncated .npy header"},
              {9, "truncated .npy header"}, {10, "truncated .npy header"}, {40, "truncated .npy header"}};
  for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) refused(c, p, cuts[i].bytes, cuts[i].says);
  n = npy(p, 2, plain, x, 24);
  refused(c, p, 11, "truncated .npy header");
  p[10] = p[11] = 0xff;
  refused(c, p, n, "an .npy header of");
  p[6] = 4;
  refused(c, p, n, "unknown .npy version 4.0");
  p[6] = 0;
  refused(c, p, n, "unknown .npy version 0.0");
  refused(c, "PK\3\4 is a zip file, .npz perhaps", 32, "not an .npy file");
}

static void not_files(cli *c) {
  char path[256];
  cli_path(c, "folder.npy", path, sizeof path);
  if (mkdir(path, 0700)) c->wrong++;
  cli_refused(c, "a folder", "run g.mlir --input A=folder.npy", "folder.npy: is a directory");
  cli_refused(c, "nothing there", "run g.mlir --input A=gone.npy", "gone.npy: can't be opened: No such file");
  cli_refused(c, "a device", "run g.mlir --input A=/dev/null", "/dev/null: not a regular file");
  cli_refused(c, "no such folder", "run g.mlir --output 0=gone/y.npy", "gone/y.npy: can't be written: No such file");
  cli_refused(c, "no such input", "run g.mlir --input B=x.npy", "B");
  cli_refused(c, "no such output", "run g.mlir --output 7=y.npy", "7");
  cli_refused(c, "a negative count", "run g.mlir --repeat -1", "--repeat -1");
  cli_refused(c, "a huge count", "run g.mlir --repeat 4000000000000000000", "--repeat");
  cli_refused(c, "no name", "run g.mlir --input x.npy", "NAME=FILE");
}

int main(void) {
  cli c;
  if (!cli_begin(&c)) return 77;
  cli_write_unary(&c, "g.mlir", "neg", "2x3");
  good_files(&c);
  packed_elements(&c);
  bad_files(&c);
  not_files(&c);
  return cli_end(&c);
}
