/* tools/tessera/program_file.h - a program from a FILE: IR text of any level or an ONNX model, told by its content. */
#ifndef TOOLS_TESSERA_PROGRAM_FILE_H
#define TOOLS_TESSERA_PROGRAM_FILE_H
#include "tools/tessera/named_files.h"

typedef struct program_file {
  const char *command, *path;
  char *text; /* the whole file; of one that is no text the beginning */
  size_t bytes;
  bool onnx;
} program_file;

/* 0, else one line was printed: also about a file of weights, which is no program. Cleared by program_file_clear. */
int program_file_read(const char *command, const char *path, program_file *out);
void program_file_clear(program_file *f);
/* The list gives numbers to dimensions that are left open; the source, which may be NULL, also what an ONNX model's
 * program depends on. 0 and *out, else one line was printed. */
int program_file_compile(const program_file *f, const shape_list *shapes, input_source *from, tsr_context *ctx,
                         tsr_device *dev, const tsr_compile_options *o, tsr_program **out);
/* As a graph, of Graph IR text and models; a text's open dimensions stay open where the list is empty. */
int program_file_graph(const program_file *f, const shape_list *shapes, tsr_context *ctx, tsr_graph **out);
#endif
