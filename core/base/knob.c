/* core/base/knob.c - the table of environment knobs, and the check of what the environment says. */
#include "core/base/knob.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/policy.h"
#include "core/base/vk_hide.h"

extern char **environ;

#define TEXT KNOB_TEXT, NULL, 0, 0
#define SWITCH KNOB_SWITCH, NULL, 0, 0
#define WORD(words) KNOB_WORD, words, 0, 0
#define LIST(words) KNOB_LIST, words, 0, 0
#define INT(least, most) KNOB_INT, NULL, least, most
#define BOOL KNOB_BOOL, NULL, 0, 0
static const knob knobs[] = {
    {"TSR_BACKEND", "", KNOB_DEVICES, NULL, 0, 0, "device used when none is named: cpu, vulkan, cuda, hip, an id such as vulkan:1, or a list of them of which the first that is there is taken"},
    {"TSR_THREADS", "0", INT(0, 256), "threads of the CPU backend; 0 = one per core"},
    {"TSR_CPU_BIND", "1", BOOL, "bind each thread of the CPU backend to a core of its own"},
    {"TSR_CPU_ISA", "auto", WORD("auto,portable,avx2,avx512,amx,neon"), "CPU micro-kernels; one that this processor lacks makes the CPU unavailable"},
    {"TSR_DUMP", "", LIST("graph,schedule,tile,target,source,after:PASS"), "written to standard error when a program is compiled: its IR at these levels, or right after a pass (docs/programming-guide.md)"},
    {"TSR_VERIFY", "needed", WORD("needed,all"), "the IR verifier during a compilation: where a level is read or made, or after every pass, as builds with assertions or a sanitizer always do"},
    {"TSR_DISABLE", "", KNOB_RULES, NULL, 0, 0, "switches off: rewrites, fusion, tiling, mma, pipeline (of products), reduction_kernels (CPU), or any rule by name"},
    {"TSR_POLICY", "fast", WORD(POLICY_LIST), "numerics policy of new contexts"},
    {"TSR_FALLBACK", "warn", WORD("error,warn,allow"), "when a device lacks a capability: error, warn or allow the slower path"},
    {"TSR_MATRIX", "auto", WORD("auto,coopmat,coopmat2,coopmat2_workgroup,subgroup,lane_n,dot,scalar,fma,wgmma,mma,mfma,wmma,direct,pingpong"), "matrix path of GPU kernels whose schedule names none"},
    {"TSR_CACHE_DIR", ".tessera/cache", SWITCH, "folder of the tuning and binary caches; set but empty: no cache"},
    {"TSR_TUNE", "cached", WORD("off,cached,full"), "tuning of compiled programs"},
    {"TSR_LOG", "warn", WORD("error,warn,info,debug"), "messages on standard error"},
    {"TSR_NVRTC", "", TEXT, "path of the NVRTC library; empty = search"},
    {"TSR_HIPRTC", "", TEXT, "path of the hipRTC library; empty = search"},
    {"TSR_LIBCUDA", "", TEXT, "path of the CUDA driver library; empty = search"},
    {"TSR_LIBNVML", "", TEXT, "path of NVML, which tells a bench clocks and power of NVIDIA devices; empty = search"},
    {"TSR_LIBHIP", "", TEXT, "path of the HIP run-time library; empty = search"},
    {"TSR_CUBLASLT", "", TEXT, "path of cuBLASLt, a peer of `tessera bench`; empty = search"},
    {"TSR_HIPBLASLT", "", TEXT, "path of hipBLASLt, a peer of `tessera bench`; empty = search"},
    {"TSR_SUBMIT_MS", "500", INT(1, 1000000), "longest estimated milliseconds of work in one GPU submission"},
    {"TSR_VK_VALIDATION", "0", BOOL, "run Vulkan under the validation layers, synchronization validation included; each message counts as an error"},
    {"TSR_PROBE", "", TEXT, "program that tries drivers in a process of its own, which may crash or hang; off = they are tried in this one; empty = the application's, else tessera/tessera-probe beside the library"},
    {"TSR_VK_DEADLINE_MS", "30000", INT(10, 1000000), "longest milliseconds that a step of a Vulkan driver's self-test, or the compilation of one pipeline, may take"},
    {"TSR_VK_KNOWN_BAD", "", TEXT, "a list of what Vulkan drivers can't do (docs/vulkan.md), read before the library's own"},
    {"TSR_VK_HIDE", "", LIST(VK_HIDE_LIST), "testing: features, extensions and limits that a Vulkan driver is taken to lack, comma-separated (docs/vulkan.md)"},
    {"TSR_MPI_MODULE", "", TEXT, "path of the module that reaches MPI; empty = tessera/tessera-mpi.so beside the library (docs/distributed.md)"},
    {"TSR_UCC", "", TEXT, "path of UCC; empty = search"},
    {"TSR_NCCL", "", TEXT, "path of NCCL; empty = search"},
    {"TSR_RCCL", "", TEXT, "path of RCCL; empty = search"},
    {"TSR_COLL_SHARED", "1", BOOL, "ranks of one machine exchange data in shared memory; 0 = by the transport's messages alone"},
    {"TSR_VK_FAULT", "", LIST("oom:N,lost:N"), "testing: makes the Nth allocation or submission of a Vulkan device fail"},
};
#undef TEXT
#undef SWITCH
#undef WORD
#undef LIST
#undef INT
#undef BOOL
enum { N_KNOBS = sizeof knobs / sizeof *knobs };

static const char *const truths[] = {"1", "on", "true", "yes"}, *const lies[] = {"0", "off", "false", "no"};

const knob *knob_table(size_t *n) {
  *n = N_KNOBS;
  return knobs;
}

static const knob *find(const char *name) {
  for (size_t i = 0; i < N_KNOBS; i++)
    if (!strcmp(knobs[i].name, name)) return &knobs[i];
  assert(!"knob is not in the table");
  return NULL;
}

const char *knob_str(const char *name) {
  const knob *k = find(name);
  const char *v = getenv(name);
  return v && (*v || (k && k->type == KNOB_SWITCH)) ? v : k ? k->dflt : "";
}

int64_t knob_int(const char *name) { return strtoll(knob_str(name), NULL, 10); }

static bool one_of(const char *const four[], const char *v) {
  for (int i = 0; i < 4; i++)
    if (!strcasecmp(v, four[i])) return true;
  return false;
}

bool knob_bool(const char *name) { return one_of(truths, knob_str(name)); }

static bool in_list(const char *list, const char *item, size_t n) {
  for (; *list; list += strspn(list, ",")) {
    size_t len = strcspn(list, ",");
    if (len == n && !strncmp(list, item, n)) return true;
    list += len;
  }
  return false;
}

bool knob_has(const char *name, const char *item) { return in_list(knob_str(name), item, strlen(item)); }

/* ---- the check ------------------------------------------------------------------------------------------------- */

void knob_values(const knob *k, char *out, size_t cap) {
  size_t at = 0;
  static const char *const fixed[] = {[KNOB_TEXT] = "a path",
                                      [KNOB_SWITCH] = "a path, or empty",
                                      [KNOB_BOOL] = "0, 1, off, on, false, true, no, yes",
                                      [KNOB_DEVICES] = "ids of devices, comma-separated",
                                      [KNOB_RULES] = "names of rules, comma-separated"};
  if (k->type == KNOB_INT) snprintf(out, cap, "%lld to %lld", (long long)k->least, (long long)k->most);
  else if (!k->words) snprintf(out, cap, "%s", fixed[k->type]);
  else
    for (const char *w = k->words; *w && (*w != ',' || w[1]) && at + 3 < cap; w++) {
      out[at++] = *w;
      if (*w == ',') out[at++] = ' ';
      out[at] = 0;
    }
}

static bool all_digits(const char *v, size_t n) { return n > 0 && n < 10 && strspn(v, "0123456789") >= n; }

/* "oom:3" against "oom:N", "shared=16384" against "shared=N"; "after:expand" against "after:PASS", whose names the
 * passes check themselves. */
static bool is_word(const char *words, const char *v, size_t n) {
  const char *colon = memchr(v, ':', n);
  if (!colon) colon = memchr(v, '=', n);
  if (!colon) return in_list(words, v, n);
  char numbered[32];
  size_t name = (size_t)(colon - v) + 1;
  const char *stands = all_digits(colon + 1, n - name) ? "N" : "PASS";
  return snprintf(numbered, sizeof numbered, "%.*s%s", (int)name, v, stands) < (int)sizeof numbered &&
         in_list(words, numbered, strlen(numbered));
}

static bool int_fits(const knob *k, const char *v) {
  char *end;
  errno = 0;
  long long x = strtoll(v, &end, 10);
  return end != v && !*end && !errno && x >= k->least && x <= k->most && (*v == '-' || (*v >= '0' && *v <= '9'));
}

/* The length of the first part of v that the row does not have, at *bad; 0 when all is known. */
static size_t unknown_part(const knob *k, const char *v, const char **bad) {
  *bad = v;
  if (k->type == KNOB_INT) return int_fits(k, v) ? 0 : strlen(v);
  if (k->type == KNOB_BOOL) return one_of(truths, v) || one_of(lies, v) ? 0 : strlen(v);
  if (k->type == KNOB_WORD) return in_list(k->words, v, strlen(v)) ? 0 : strlen(v);
  for (size_t n; k->type == KNOB_LIST && *v; v += n + (v[n] == ',')) {
    n = strcspn(v, ",");
    *bad = v;
    if (n && !is_word(k->words, v, n)) return n;
  }
  return 0;
}

tsr_status knob_check(const tsr_allocator *al) {
  for (size_t i = 0; i < N_KNOBS; i++) {
    const char *v = getenv(knobs[i].name), *bad;
    size_t n = v && *v ? unknown_part(&knobs[i], v, &bad) : 0;
    if (!n) continue;
    char known[512];
    knob_values(&knobs[i], known, sizeof known);
    return st_make(al, TSR_INVALID_ARGUMENT, ST_WHERE("environment", knobs[i].name, known),
                   knobs[i].type == KNOB_INT ? "\"%.*s\" is no number in its range" : "unknown word \"%.*s\"",
                   (int)(n < 100 ? n : 100), bad);
  }
  return NULL;
}

/* ---- names that are no knob ------------------------------------------------------------------------------------- */

/* Edits (insert, delete, replace) between two names, counted up to names of 40 characters. */
static int distance(const char *a, size_t na, const char *b, size_t nb) {
  int row[41];
  if (na > 40 || nb > 40) return 41;
  for (size_t j = 0; j <= nb; j++) row[j] = (int)j;
  for (size_t i = 1; i <= na; i++) {
    int diagonal = row[0];
    row[0] = (int)i;
    for (size_t j = 1; j <= nb; j++) {
      int replaced = diagonal + (a[i - 1] != b[j - 1]), above = row[j] + 1, left = row[j - 1] + 1;
      diagonal = row[j];
      row[j] = replaced < above ? (replaced < left ? replaced : left) : above < left ? above : left;
    }
  }
  return row[nb];
}

/* Read by the test programs, not by the library. */
static bool is_of_tests(const char *v) {
  static const char *const prefixes[] = {"TSR_TEST_", "TSR_SIMT_", "TSR_GATES", "TSR_UPDATE_GOLDEN", "TSR_SETUP_"};
  for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
    if (!strncmp(v, prefixes[i], strlen(prefixes[i]))) return true;
  return false;
}

bool knob_unknown(size_t *at, char *name, size_t cap, const char **near) {
  for (; environ && environ[*at]; ++*at) {
    const char *v = environ[*at];
    size_t n = strcspn(v, "="), k = 0;
    if (strncmp(v, "TSR_", 4) || is_of_tests(v)) continue;
    while (k < N_KNOBS && (strlen(knobs[k].name) != n || strncmp(knobs[k].name, v, n))) k++;
    if (k < N_KNOBS) continue;
    int best = 3; /* two edits are a slip, three are another word */
    *near = "";
    for (k = 0; k < N_KNOBS; k++) {
      int d = distance(v, n, knobs[k].name, strlen(knobs[k].name));
      if (d < best) best = d, *near = knobs[k].name;
    }
    snprintf(name, cap, "%.*s", (int)n, v);
    ++*at;
    return true;
  }
  return false;
}
