/* examples/ocr/main.c - prints the text of a page, a line a box. The models are PP-OCRv6's: a detector marks the pixels
 * that are text, a classifier says which boxes are upside down, a recognizer reads a box. docs/onnx.md says where they
 * come from; ocr.h says which file does what. */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "ocr.h"

void fail(int rc, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  fputs("ocr: ", stderr);
  vfprintf(stderr, fmt, ap);
  fputc('\n', stderr);
  va_end(ap);
  exit(rc);
}

void check(tsr_status s) {
  if (!s) return;
  const tsr_code c = tsr_status_code(s);
  const bool no_device = c == TSR_UNAVAILABLE || c == TSR_DEVICE_LOST;
  const bool failed = c == TSR_OUT_OF_MEMORY || c == TSR_LAUNCH_FAILED || c == TSR_INTERNAL;
  fail(no_device ? EXIT_NO_DEVICE : failed ? EXIT_FAILED : EXIT_INPUT, "%s", tsr_status_message(s));
}

void *get_memory(void *old, size_t n, size_t size) {
  void *p = n <= SIZE_MAX / size ? realloc(old, n ? n * size : 1) : NULL;
  if (!p) fail(EXIT_FAILED, "out of memory");
  return p;
}

/* ---- options ----------------------------------------------------------------------------------------------------- */

static const char usage[] =
    "usage: ocr [options] --models FOLDER PAGE.ppm\n"
    "  --models FOLDER   has PP-OCRv6_det_small.onnx, PP-OCRv6_rec_small.onnx, ch_ppocr_mobile_v2.0_cls_mobile.onnx\n"
    "  --det, --rec, --cls FILE   one of them from elsewhere\n"
    "  --device ID       cpu:0, vulkan:0, ..\n"
    "  --side N          the detector sees a page whose longer side is larger made smaller to this (2000)\n"
    "  --least P         boxes read with less confidence are left out (0.5)\n"
    "  --confidence      before each line\n";

enum { DETECTOR, RECOGNIZER, CLASSIFIER, N_MODELS };
static const char *const model_options[N_MODELS] = {"--det", "--rec", "--cls"};
static const char *const model_files[N_MODELS] = {"PP-OCRv6_det_small.onnx", "PP-OCRv6_rec_small.onnx",
                                                  "ch_ppocr_mobile_v2.0_cls_mobile.onnx"};

typedef struct options {
  const char *folder, *device, *page;
  char *models[N_MODELS];
  double side, least;
  bool confidence;
} options;

static double number(const char *name, const char *value, double low, double high) {
  char *end;
  const double v = strtod(value, &end);
  if (end == value || *end || !(v >= low && v <= high))
    fail(EXIT_INPUT, "%s %s: a number from %g to %g", name, value, low, high);
  return v;
}

static char *joined(const char *folder, const char *name) {
  const size_t n = strlen(folder) + strlen(name) + 2;
  char *path = get_memory(NULL, n, 1);
  snprintf(path, n, "%s%s%s", folder, *folder ? "/" : "", name);
  return path;
}

static void take_value(options *o, const char *name, const char *v) {
  for (int i = 0; i < N_MODELS; i++)
    if (!strcmp(name, model_options[i])) {
      free(o->models[i]);
      o->models[i] = joined("", v);
      return;
    }
  if (!strcmp(name, "--models")) o->folder = v;
  else if (!strcmp(name, "--device")) o->device = v;
  else if (!strcmp(name, "--side")) o->side = floor(number(name, v, 32, 8192));
  else if (!strcmp(name, "--least")) o->least = number(name, v, 0, 1);
  else fail(EXIT_INPUT, "no option %s; --help lists them", name);
}

static options read_options(int argc, char **argv) {
  options o = {.side = 2000, .least = 0.5};
  for (int i = 1; i < argc; i++) {
    if (!strcmp(argv[i], "--help")) {
      fputs(usage, stdout);
      exit(0);
    }
    if (!strcmp(argv[i], "--confidence")) {
      o.confidence = true;
    } else if (!strncmp(argv[i], "--", 2)) {
      if (i + 1 == argc) fail(EXIT_INPUT, "%s needs a value", argv[i]);
      take_value(&o, argv[i], argv[i + 1]);
      i++;
    } else {
      if (o.page) fail(EXIT_INPUT, "%s and %s: one page", o.page, argv[i]);
      o.page = argv[i];
    }
  }
  if (!o.page) fail(EXIT_INPUT, "no page; --help tells more");
  for (int i = 0; i < N_MODELS; i++) {
    if (!o.models[i] && !o.folder) fail(EXIT_INPUT, "neither --models nor %s", model_options[i]);
    if (!o.models[i]) o.models[i] = joined(o.folder, model_files[i]);
  }
  return o;
}

/* ---- the three steps --------------------------------------------------------------------------------------------- */

static int padded(double size, int to) { return (int)fmax(ceil(size / to), 1) * to; }

/* The boxes of text, in the page's pixels. */
static int detect(model *m, const image *page, double side, box **out) {
  const double scale = fmin(side / fmax(page->width, page->height), 1);
  const int width = padded(page->width * scale, 32), height = padded(page->height * scale, 32); /* 5 halvings */
  const box whole = {width / scale / 2, height / scale / 2, 1, 0, width / scale, height / scale};
  float *x = get_memory(NULL, 3 * (size_t)width * (size_t)height, sizeof *x);
  image_sample(page, &whole, height, width, width, x);
  const float *map = model_run(m, height, width, x, &(tsr_shape){4, {1, 1, height, width}});
  const int n = boxes_find(map, height, width, out);
  for (int i = 0; i < n; i++) {
    box *b = &(*out)[i];
    b->cx /= scale;
    b->cy /= scale;
    b->width /= scale;
    b->height /= scale;
  }
  free(x);
  return n;
}

enum { LINE_HEIGHT = 48, CLASSIFIER_WIDTH = 192, LEAST_WIDTH = 320, WIDTH_STEP = 160, MOST_WIDTH = 4800 };
#define UPSIDE_DOWN 0.9
#define SURE        0.9

/* A box as an input of LINE_HEIGHT rows, with zeros behind it; x has room for it. */
static void line_input(const image *page, const box *b, int width, float *x) {
  const double columns = ceil((double)LINE_HEIGHT * b->width / b->height);
  image_sample(page, b, LINE_HEIGHT, (int)fmin(fmax(columns, 1), width), width, x);
}

static bool upside_down(model *m, const image *page, const box *b, float *x) {
  line_input(page, b, CLASSIFIER_WIDTH, x);
  const float *p = model_run(m, LINE_HEIGHT, CLASSIFIER_WIDTH, x, &(tsr_shape){2, {1, 2}});
  return (double)p[1] > UPSIDE_DOWN; /* of 0 and 180 degrees */
}

typedef struct reader {
  model *m;
  alphabet *a;
  const image *page;
  float *x; /* room for a line */
  double confidence; /* of the last text */
} reader;

/* Widths in steps, so that few programs are made. */
static const char *read_box(reader *r, const box *b) {
  const double columns = (double)LINE_HEIGHT * b->width / b->height;
  const int width = padded(fmin(fmax(columns, LEAST_WIDTH), MOST_WIDTH), WIDTH_STEP);
  tsr_shape shape = {3, {1, TSR_ANY_DIM, alphabet_classes(r->a)}};
  line_input(r->page, b, width, r->x);
  const float *p = model_run(r->m, LINE_HEIGHT, width, r->x, &shape);
  return alphabet_decode(r->a, p, (int)shape.dims[1], &r->confidence);
}

static box turned_over(box b) { return b.ux = -b.ux, b.uy = -b.uy, b; }

/* The classifier errs on long lines, and the recognizer isn't sure of a line that is upside down: it then reads
 * the line the other way too, and the surer reading counts. */
static const char *read_surely(reader *r, const box *b) {
  const char *text = read_box(r, b);
  const double confidence = r->confidence;
  if (confidence >= SURE) return text;
  const box other = turned_over(*b);
  text = read_box(r, &other);
  return r->confidence > confidence ? text : read_box(r, b);
}

int main(int argc, char **argv) {
  options o = read_options(argc, argv);
  tsr_context *ctx;
  tsr_device *dev;
  model *models[N_MODELS];
  image page;
  box *boxes;
  image_read(o.page, &page);
  alphabet *a = alphabet_read(o.models[RECOGNIZER]);
  check(tsr_context_create(NULL, &ctx));
  check(tsr_device_open(ctx, o.device, &dev));
  for (int i = 0; i < N_MODELS; i++) models[i] = model_create(ctx, dev, o.models[i]);
  const int n = detect(models[DETECTOR], &page, o.side, &boxes);
  reader r = {models[RECOGNIZER], a, &page, get_memory(NULL, (size_t)3 * LINE_HEIGHT * MOST_WIDTH, sizeof *r.x), 0};
  for (int i = 0; i < n; i++)
    if (upside_down(models[CLASSIFIER], &page, &boxes[i], r.x)) boxes[i] = turned_over(boxes[i]);
  boxes_sort(boxes, n);
  for (int i = 0; i < n; i++) {
    const char *text = read_surely(&r, &boxes[i]);
    if (!*text || r.confidence < o.least) continue;
    if (o.confidence) printf("%.3f ", r.confidence);
    printf("%s\n", text);
    fflush(stdout);
  }
  free(r.x);
  free(boxes);
  free(page.bgr);
  alphabet_destroy(&a);
  for (int i = 0; i < N_MODELS; i++) {
    model_destroy(&models[i]);
    free(o.models[i]);
  }
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
  return 0;
}
