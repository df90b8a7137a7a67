/* core/tune/space.h - a search space: named integer knobs with value lists, and a rule that prunes before anything is
 * compiled. A point is one index per knob. Builders make the space of a kernel family from the device's limits.
 * Enumeration order is fixed (last knob fastest), so a seed names the same search on every machine. */
#ifndef CORE_TUNE_SPACE_H
#define CORE_TUNE_SPACE_H
#include "core/tune/occupancy.h"

enum { SPACE_MAX_KNOBS = 16, SPACE_MAX_VALUES = 24 };

typedef struct space_knob {
  const char *name;  /* borrowed; the builders use string constants */
  bool keeps_order;  /* moving it never changes the order of a sum */
  int32_t n;
  int32_t value[SPACE_MAX_VALUES]; /* ascending */
} space_knob;

typedef struct space_point {
  uint8_t i[SPACE_MAX_KNOBS];
} space_point;

/* True when the values (one per knob) may run; else writes the reason, naming the limit, unless why_bytes is 0: most
 * points of most spaces are refused, and a search wants no text of each. */
typedef bool (*space_legal_fn)(const void *user, const int32_t *values, char *why, size_t why_bytes);

typedef struct tune_space {
  int32_t n_knobs;
  space_knob knob[SPACE_MAX_KNOBS];
  space_legal_fn legal; /* NULL: everything */
  const void *user;
  /* What the family builders' rule looks at; `user` points to these. */
  tune_device device;
  tune_problem problem;
  tune_config dflt;              /* what runs without tuning */
  bool dflt_is_legal;            /* it is the lowering's own: legal whatever the rule says */
  int8_t field[SPACE_MAX_KNOBS]; /* tune_config field of each knob, -1 for a user's own knob */
} tune_space;

/* The tile the op has without tuning; legalised into the space by space_default. */
typedef struct space_options {
  tune_config dflt;     /* m = 0: the family's default */
  uint32_t knobs;       /* bits of SPACE_KNOB: what the backend honours; 0 = all but stream_k */
} space_options;
#define SPACE_KNOB(name) (1u << KNOB_##name)
#define SPACE_TILE (SPACE_KNOB(m) | SPACE_KNOB(n) | SPACE_KNOB(k))

/* The space of a problem. `out` must not move afterwards (its rule points into it). */
void space_build(const tune_device *d, const tune_problem *p, const space_options *opt, tune_space *out);
/* A user's own space: knobs are copied, the rest is theirs. False when there are too many or one has no value. */
bool space_custom(const space_knob *knobs, int32_t n, space_legal_fn legal, const void *user, tune_space *out);

/* Only the knobs in the comma-separated list keep their values ("m,n,k,warps"); the others stay at the default's. */
void space_restrict(tune_space *s, const char *knobs, const tune_config *dflt);

/* Inserts a value in order, unless it is there or there is no room. */
void space_knob_include(space_knob *k, int32_t v);

bool space_is_legal(const tune_space *s, const space_point *p, char *why, size_t why_bytes);
tune_config space_config(const tune_space *s, const space_point *p);
/* Those of a point's values that are fields of a config, one value per knob. */
void space_config_set(const tune_space *s, const int32_t *values, tune_config *c);
/* The point nearest to a config, knob by knob in log2; then walked to the nearest legal one. False: empty space. */
bool space_nearest(const tune_space *s, const tune_config *c, space_point *out);
/* Number of points without the rule; saturates. */
uint64_t space_size(const tune_space *s);
/* All legal points up to `max` (then *truncated); the caller frees with al_free_array(al, *out, *n_out) . */
TSR_MUST_USE tsr_status space_enumerate(const tune_space *s, const tsr_allocator *al, size_t max, space_point **out,
                                        size_t *n_out, bool *truncated);
/* Legal points one knob step away; returns their number (at most 2 per knob). */
size_t space_neighbours(const tune_space *s, const space_point *p, space_point out[2 * SPACE_MAX_KNOBS]);
uint64_t space_point_hash(const tune_space *s, const space_point *p);
bool space_point_equal(const tune_space *s, const space_point *a, const space_point *b);
/* Coordinates in 0..1 per knob with more than one value, for distances; returns their number. */
int32_t space_coords(const tune_space *s, const space_point *p, double *out);

/* "m=128 n=128 k=32 ..."; parse refuses unknown names and values outside of the lists. */
void space_point_print(const tune_space *s, const space_point *p, strb *out);
bool space_point_parse(const tune_space *s, const char *text, space_point *out);
/* The table of `tessera tune --space`: knobs with their values, sizes, how many are pruned and by which rule. */
TSR_MUST_USE tsr_status space_print(const tune_space *s, const tsr_allocator *al, strb *out);

/* Configs alone: the same text, all fields by name. */
void tune_config_print(const tune_config *c, strb *out);
bool tune_config_parse(const char *text, tune_config *out);
int32_t *tune_config_field(tune_config *c, const char *name); /* NULL: there is none */
int32_t *tune_config_at(tune_config *c, const sched_knob *knob);
/* What is set in p replaces what c has. */
void tune_config_merge(tune_config *c, const sched_params *p);
/* A schedule's matrix_path (NULL = the device's own) as a config has it. */
int32_t tune_path_of(const char *path);
#endif
