/* tools/tessera/bench_memory.h - how much memory of this process a model and each of its peers need until their first
 * result, one after the other: the resident peak above what was resident before. */
#ifndef TOOLS_TESSERA_BENCH_MEMORY_H
#define TOOLS_TESSERA_BENCH_MEMORY_H

/* Begins anew; what is resident now, in bytes. Negative: this system doesn't tell. */
double bench_memory_begin(void);
/* The peak since bench_memory_begin, above what it gave; negative: not known. */
double bench_memory_peak(double before);
#endif
