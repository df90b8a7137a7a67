/* tools/tessera/onnx_file.h - ONNX models in commands that take programs. */
#ifndef TOOLS_TESSERA_ONNX_FILE_H
#define TOOLS_TESSERA_ONNX_FILE_H
#include "core/import/npy.h"
#include "tools/tessera/shapes.h"

/* Where the commands' inputs come from; the array, or false. */
typedef bool (*onnx_file_input)(void *user, const char *name, npy_array *out);

/* The model as a graph: dimensions that it leaves open are the list's, which asks --shape and the inputs' files; a name
 * there is an input's, or that of dimensions ("N=2"); NAME[0] and on are the tensors of one that is a sequence, NAME[]
 * says that it has none, or that an optional one is left out. What the program depends on is read from the files. input
 * may be NULL. 0, else one line was printed. */
int onnx_file_graph(const shape_list *l, tsr_context *ctx, const char *file, onnx_file_input input, void *user,
                    tsr_graph **out);
/* The number of an output, of a program's n_out, by the model's name for it; of a sequence NAME[0] and on, where the
 * model's only one. -1: none. */
int onnx_file_output(const char *file, int n_out, const char *name, size_t n);
#endif
