/* examples/ocr/image.c - reads a page, and resamples any rectangle of it as a model's input. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ocr.h"

enum { MOST_PIXELS = 1 << 26 };

/* A number of the header, behind blanks and comments; -1: there is none. */
static int header_number(FILE *f) {
  int c = getc(f), v = 0;
  while (isspace(c) || c == '#') {
    if (c == '#')
      while (c != '\n' && c != EOF) c = getc(f);
    else c = getc(f);
  }
  if (!isdigit(c)) return -1;
  for (; isdigit(c); c = getc(f))
    if ((v = 10 * v + c - '0') > MOST_PIXELS) return -1;
  return isspace(c) ? v : -1; /* one blank ends the header: the next byte is a pixel's */
}

void image_read(const char *path, image *out) {
  FILE *f = fopen(path, "rb");
  if (!f) fail(EXIT_INPUT, "%s: %s", path, strerror(errno));
  const int p = getc(f), kind = getc(f);
  if (p != 'P' || (kind != '5' && kind != '6')) fail(EXIT_INPUT, "%s is no binary PGM or PPM (P5, P6)", path);
  const int width = header_number(f), height = header_number(f), most = header_number(f);
  if (width < 1 || height < 1 || most < 1) fail(EXIT_INPUT, "%s has no whole header of a PGM or PPM", path);
  if (width > MOST_PIXELS / height) fail(EXIT_INPUT, "%s has more than %d pixels", path, MOST_PIXELS);
  if (most > 255) fail(EXIT_INPUT, "%s has values up to %d: 8 bits a value are read", path, most);
  const size_t values = kind == '5' ? 1 : 3, n = (size_t)width * values;
  unsigned char *row = get_memory(NULL, n, 1);
  *out = (image){width, height, NULL};
  for (int y = 0; y < height; y++) {
    if (fread(row, 1, n, f) != n) fail(EXIT_INPUT, "%s ends in row %d of %d", path, y + 1, height);
    /* The header may lie about the size: memory only for what is there. */
    if (!(y & (y - 1))) {
      const int rows = y < height / 2 ? 2 * y + 1 : height;
      out->bgr = get_memory(out->bgr, (size_t)rows * (size_t)width * 3, 1);
    }
    for (size_t i = 0; i < (size_t)width * 3; i++) {
      const size_t pixel = i / 3, channel = i % 3; /* PPM is red, green, blue */
      const int v = row[values == 1 ? pixel : 3 * pixel + 2 - channel] * 255 / most;
      out->bgr[(size_t)y * (size_t)width * 3 + i] = (unsigned char)(v < 255 ? v : 255);
    }
  }
  free(row);
  fclose(f);
}

/* Bilinear between the centres of pixels; added to sum. */
static void add_point(const image *page, double x, double y, double sum[3]) {
  x = fmin(fmax(x - 0.5, 0), page->width - 1);
  y = fmin(fmax(y - 0.5, 0), page->height - 1);
  const int x0 = (int)x, y0 = (int)y, right = x0 + 1 < page->width ? 3 : 0;
  const size_t pitch = 3 * (size_t)page->width, down = y0 + 1 < page->height ? pitch : 0;
  const unsigned char *at = page->bgr + (size_t)y0 * pitch + 3 * (size_t)x0;
  const double fx = x - x0, fy = y - y0;
  for (int c = 0; c < 3; c++, at++) {
    const double top = at[0] + fx * (at[right] - at[0]), below = at[down] + fx * (at[down + (size_t)right] - at[down]);
    sum[c] += top + fy * (below - top);
  }
}

void image_sample(const image *page, const box *b, int height, int columns, int row, float *out) {
  const double step_x = b->width / columns, step_y = b->height / height;
  /* Where many pixels become one, points between them are taken too. */
  const int nx = (int)fmin(fmax(ceil(step_x - 0.01), 1), 16), ny = (int)fmin(fmax(ceil(step_y - 0.01), 1), 16);
  const size_t plane = (size_t)height * (size_t)row;
  memset(out, 0, 3 * plane * sizeof *out);
  for (int y = 0; y < height; y++)
    for (int x = 0; x < columns; x++) {
      double sum[3] = {0};
      for (int i = 0; i < nx * ny; i++) {
        const double along = (x + (i % nx + 0.5) / nx) * step_x - b->width / 2;
        const double across = (y + (i / nx + 0.5) / ny) * step_y - b->height / 2;
        add_point(page, b->cx + along * b->ux - across * b->uy, b->cy + along * b->uy + across * b->ux, sum);
      }
      for (int c = 0; c < 3; c++)
        out[(size_t)c * plane + (size_t)y * (size_t)row + (size_t)x] = (float)(sum[c] / (nx * ny) / 127.5 - 1);
    }
}
