/* examples/ocr/ocr.h - the text of a page, by three ONNX models on the public C interface: what its files share.
 *   main.c   the command: detector, classifier and recognizer, one after the other
 *   image.c  the page's file; a part of it as a model's input
 *   boxes.c  boxes of text out of the detector's map, in reading order
 *   model.c  a model compiled for each shape that is asked for
 *   text.c   the recognizer's alphabet and its result as text */
#ifndef EXAMPLES_OCR_H
#define EXAMPLES_OCR_H
#include <stdbool.h>
#include <stdio.h>
#include <tessera/tessera.h>

/* Exit statuses, as those of the command tessera. */
enum { EXIT_FAILED = 1, EXIT_INPUT = 2, EXIT_NO_DEVICE = 3 };
/* One line on standard error, and the end. */
_Noreturn void fail(int rc, const char *fmt, ...);
/* A failed call ends the program with its message. */
void check(tsr_status s);
/* Never NULL; n may be 0. */
void *get_memory(void *old, size_t n, size_t size);

/* ---- image.c ----------------------------------------------------------------------------------------------------- */

typedef struct image {
  int width, height;
  unsigned char *bgr; /* blue, green, red: the order that the models were trained with */
} image;

/* A rectangle at any angle. Coordinates are pixels; the first pixel covers 0 to 1. The text runs along (ux, uy), of
 * length 1; a quarter turn clockwise from there is downwards. */
typedef struct box {
  double cx, cy, ux, uy;
  double width, height; /* along the text, across it */
} box;

/* PGM or PPM, binary, of 8 bits. A file that isn't ends the program. */
void image_read(const char *path, image *out);
/* The box as a tensor [3, height, row] of -1..1: `columns` columns of each row, then zeros. Outside the page its border
 * goes on. */
void image_sample(const image *page, const box *b, int height, int columns, int row, float *out);

/* ---- boxes.c ----------------------------------------------------------------------------------------------------- */

/* map: how likely each pixel is text, [height, width]. Boxes in the map's pixels; the caller frees them. */
int boxes_find(const float *map, int height, int width, box **out);
/* Lines from top to bottom, the boxes of a line from left to right, as seen in the direction of most text: of a page on
 * its side or upside down too. */
void boxes_sort(box *b, int n);

/* ---- model.c ----------------------------------------------------------------------------------------------------- */

typedef struct model model;
/* The file is read when a shape is first asked for; context, device and path must outlive the model. */
model *model_create(tsr_context *ctx, tsr_device *dev, const char *path);
void model_destroy(model **m);
/* Input x, f32 [1, 3, height, width]. The result is of the shape `want`, in which TSR_ANY_DIM is any number and which
 * then has the numbers; it is valid until the next call. A model with another result ends the program. */
const float *model_run(model *m, int height, int width, const float *x, tsr_shape *want);

/* ---- text.c ------------------------------------------------------------------------------------------------------ */

typedef struct alphabet alphabet;
/* Of the recognizer's file: the entry `character` of its metadata, a symbol a line. */
alphabet *alphabet_read(const char *path);
void alphabet_destroy(alphabet **a);
/* Classes of a recognizer: the blank, the symbols, the space. */
int alphabet_classes(const alphabet *a);
/* likely: [steps, classes]. The text, valid until the next call, by the best class of each step: equal ones in a row
 * are one, blanks none (greedy CTC). confidence: the mean over what is left. */
const char *alphabet_decode(alphabet *a, const float *likely, int steps, double *confidence);
#endif
