/* tools/tessera/bench.h - parts of `tessera bench`: cases and suites, a device's measured peaks, one interleaved
 * measurement. */
#ifndef TOOLS_TESSERA_BENCH_H
#define TOOLS_TESSERA_BENCH_H
#include "bench/baselines/peer.h"
#include "tools/tessera/op_graph.h"

/* One thing to measure. Shape: matmul [batch,] m, n, k; anything else rows (m) x columns (n). */
typedef struct bench_case {
  const char *op; /* a graph op, or "matmul_bias_gelu" */
  int64_t batch, m, n, k;
  tsr_dtype dtype;
  bool packed_b; /* B is a constant */
  double flops, bytes; /* by bench_check */
} bench_case;

bool bench_is_matmul(const bench_case *c);
/* flops and bytes of the case: what the row of its op says (graph_space_of), each operand and the result counted once.
 * The operands must be such as the op takes. */
tsr_status bench_count(bench_case *c) TSR_MUST_USE;
const char *bench_shape(const bench_case *c, char *buf, size_t n);
/* "BxMxNxK", "MxNxK" or "ROWSxCOLS"; false if malformed for the op. */
bool bench_parse_shape(const char *text, bench_case *c);
/* The i-th case of a suite; false past the end. */
bool bench_suite(const char *name, int i, bench_case *out);
/* The i-th suite's name; NULL past the last. */
const char *bench_suite_name(int i);

/* The best that this machine's loops reach, measured once per run of the command, and again beside a case that came out
 * above it. 0 = not measurable here. */
typedef struct bench_peaks {
  double gflops; /* multiply-adds in the type: a loop in registers; on GPUs, for types of their matrix units, a large
                    product too */
  double gbytes_per_s; /* copy: bytes read and written */
} bench_peaks;
/* How often each is measured, for cases that are timed for so long: a tenth of a second's worth once, for one that is a
 * glance the peak is one too. */
enum { BENCH_PEAK_TRIES = 7 };
static inline int bench_peak_tries(double seconds) {
  return seconds < 0.2 ? 1 : seconds >= BENCH_PEAK_TRIES * 0.1 ? BENCH_PEAK_TRIES : (int)(seconds * 10);
}
double bench_cpu_gflops(tsr_dtype t, int threads, int tries);
double bench_cpu_copy(int threads, int tries);
double bench_device_gflops(tsr_device *dev, tsr_dtype t, bool again); /* bench_peak_gpu.c; again: not what is kept */
double bench_device_copy(tsr_device *dev, int tries);

/* What a GPU runs at; 0 = not known. */
typedef struct bench_clocks { double core_mhz, memory_mhz, watts, celsius; } bench_clocks;
bench_clocks bench_read_clocks(const tsr_device_info *d);

/* The device's own clock, on a stream of the caller's; NULL: the device's own. */
typedef struct bench_timer { tsr_event *from, *to; tsr_stream *stream; } bench_timer;
tsr_status bench_timer_create(tsr_device *dev, bench_timer *t) TSR_MUST_USE;
tsr_status bench_timer_start(bench_timer *t) TSR_MUST_USE;
tsr_status bench_timer_stop(bench_timer *t, double *us) TSR_MUST_USE; /* waits */
void bench_timer_destroy(bench_timer *t);

enum { BENCH_MOST_WITHOUT = 8, BENCH_MOST_PEERS = 8 };

typedef struct bench_result {
  double median_us, min_us, error, tolerance;
  double default_us; /* the median with the schedules that untuned compilations get, timed in turns; 0: not asked for */
  double
      table_us; /* the same with the tile of the default table (docs/tuning.md); 0: not asked for, or no contraction */
  int n_without;
  struct {
    char name[32];
    double median_us;
  } without[BENCH_MOST_WITHOUT]; /* with one switch of TSR_DISABLE off, timed in turns */
  bool ok, by_events; /* by_events: timed by the device's clock, the peers too; else by the host's */
  bench_clocks clocks; /* under this load */
  int n_peers;
  struct { const char *name; double median_us; char why[200]; } peers[BENCH_MOST_PEERS];
  char tile[64], table_tile[64];
} bench_result;

typedef struct bench_place bench_place;

typedef struct bench_options {
  tsr_device *dev;
  tsr_policy policy;
  tsr_precision precision;
  long seed; /* of the operands */
  tsr_tune tune; /* when searched or cached schedules are asked for, the default ones are timed beside */
  const char *without; /* switches (TSR_DISABLE's) to measure the share of, a comma list; NULL: none */
  const peer *peers[BENCH_MOST_PEERS];
  int n_peers;
  double seconds; /* budget of one case */
  bench_place *place; /* NULL: threads run where the system puts them */
} bench_options;

/* Is there such an operation, with the operands and of the type that the case has? Counts it, too. */
tsr_status bench_check(tsr_context *ctx, bench_case *c) TSR_MUST_USE;
/* Compiles, checks against the reference, then times ours and the peers in turns. */
tsr_status bench_measure(tsr_context *ctx, const bench_case *c, const bench_options *o, bench_result *out);

/* bench_place.c: gives threads that have appeared since the last call cores of their own; holds the calling thread on
 * the first core, or lets it go. NULL (not to be had here) is accepted. */
bench_place *bench_place_create(void);
void bench_place_new_threads(bench_place *b);
void bench_place_hold_caller(bench_place *b, bool hold);
/* Binds the calling thread to the core-th of the cores it may use, counted from 0. */
void bench_place_on(int core);
void bench_place_destroy(bench_place **b);
/* Waits until the other threads of this process sleep: libraries let theirs spin after a call, on cores that the next
 * contender needs. */
void bench_settle(void);
#endif
