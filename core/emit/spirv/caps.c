/* core/emit/spirv/caps.c - see emit/spirv/caps.h. */
#include "core/emit/spirv/caps.h"

#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/dtype.h"
#include "core/base/file.h"
#include "core/base/json.h"

enum { MAX_FILE = 1 << 20 };

typedef struct flag_name { const char *name; size_t at; } flag_name;
#define FLAG(name, field) {name, offsetof(tsr_caps, field)}
static const flag_name features[] = {FLAG("f64", f64),
                                     FLAG("f16", f16),
                                     FLAG("bf16", bf16),
                                     FLAG("f8", f8),
                                     FLAG("i8", i8),
                                     FLAG("i16", i16),
                                     FLAG("i64", i64),
                                     FLAG("storage16", storage16),
                                     FLAG("storage8", storage8),
                                     FLAG("int_dot", int_dot),
                                     FLAG("descriptors", descriptors),
                                     FLAG("shuffle", subgroup_shuffle),
                                     FLAG("full_subgroups", full_subgroups),
                                     FLAG("shared_layout", shared_layout),
                                     FLAG("one_lane_a_time", one_lane_a_time),
                                     FLAG("host_addresses", host_addresses),
                                     FLAG("no_pack64", no_pack64),
                                     FLAG("nan_preserve", nan_preserve),
                                     FLAG("nan_f16", nan_f16),
                                     FLAG("nan_f64", nan_f64),
                                     FLAG("denorm_f16", denorm_f16),
                                     FLAG("denorm_f32", denorm_f32),
                                     FLAG("denorm_f64", denorm_f64),
                                     FLAG("rte_f16", rte_f16),
                                     FLAG("rte_f32", rte_f32),
                                     FLAG("rte_f64", rte_f64)};
static const flag_name nv2[] = {
    FLAG("workgroup", coopmat2_workgroup), FLAG("tensor", coopmat2_tensor), FLAG("per_element", coopmat2_per_element),
    FLAG("reduce", coopmat2_reduce), FLAG("convert", coopmat2_convert)};

static tsr_status wrong(const tsr_allocator *al, const char *file, const char *what, const char *got) {
  return st_make(al, TSR_PARSE_ERROR, ST_WHERE("capabilities", NULL, "core/emit/spirv/caps.h has the form"),
                 "%s: %s \"%s\"", file, what, got);
}

static tsr_status set_flags(const tsr_allocator *al, const char *file, const json *list, const flag_name *names,
                            size_t n, tsr_caps *c) {
  for (const json *j = list ? list->first : NULL; j; j = j->next) {
    size_t i = 0;
    while (i < n && (j->type != JSON_STRING || strcmp(names[i].name, j->string))) i++;
    if (i == n) return wrong(al, file, "no feature", j->type == JSON_STRING ? j->string : "?");
    *(bool *)((char *)c + names[i].at) = true;
  }
  return NULL;
}

static tsr_status add_shape(const tsr_allocator *al, const char *file, const json *j, tsr_caps *c) {
  const char *ab = json_str(j, "ab", "f16"), *acc = json_str(j, "c", "f32"), *scope = json_str(j, "scope", "subgroup");
  tsr_matrix_shape s = {.m = json_i32(j, "m", 0),
                        .n = json_i32(j, "n", 0),
                        .k = json_i32(j, "k", 0),
                        .a = dtype_parse_real(ab),
                        .b = dtype_parse_real(ab),
                        .c = dtype_parse_real(acc),
                        .scope = SCOPE_SUBGROUP,
                        .enabled = true,
                        .threads = json_i32(j, "threads", 0)};
  if (!strcmp(scope, "workgroup")) s.scope = SCOPE_WORKGROUP;
  else if (strcmp(scope, "subgroup")) return wrong(al, file, "no scope", scope);
  if (!s.a || !s.c) return wrong(al, file, "no element type", s.a ? acc : ab);
  if (s.m < 1 || s.n < 1 || s.k < 1 || s.m > 1024 || s.n > 1024 || s.k > 1024)
    return wrong(al, file, "a matrix needs m, n and k of 1 to 1024; row", ab);
  if ((s.scope == SCOPE_WORKGROUP) != (s.threads > 0) || s.threads > c->max_threads)
    return wrong(al, file, "threads belong to scope workgroup, and are at most the device's; row", ab);
  if (c->n_matrix == TSR_MAX_MATRIX) return wrong(al, file, "too many matrices; row", ab);
  c->matrix[c->n_matrix++] = s;
  return NULL;
}

static bool is_subgroup(int n) { return n >= 1 && n <= 128 && !(n & (n - 1)); }

/* Kernels count lanes in fours at least: where no lane asks another, how many run together is nothing to them. */
static bool widen_subgroup(tsr_caps *c) {
  if (c->subgroup >= 4) return c->subgroup_min >= 4;
  if (c->subgroup_shuffle) return false;
  c->subgroup = c->subgroup_min = c->subgroup_max = 4;
  return true;
}

/* The SPIR-V that a version of Vulkan takes; 0: there is no such version. */
static int spirv_of(const char *v) {
  return !strcmp(v, "1.1") ? 3 : !strcmp(v, "1.2") ? 5 : !strcmp(v, "1.3") || !strcmp(v, "1.4") ? 6 : 0;
}

static tsr_status fill(const tsr_allocator *al, const char *file, const json *j, tsr_caps *c) {
  if (j->type != JSON_OBJECT) return wrong(al, file, "expected", "{");
  *c = (tsr_caps){.dialect = DIALECT_SPIRV,
                  .arch = "spirv1.6",
                  .n_cores = json_i32(j, "cores", 0),
                  .subgroup = json_i32(j, "subgroup", 32),
                  .max_threads = json_i32(j, "threads", 1024),
                  .shared_bytes = json_i64(j, "shared_bytes", 32768),
                  .shared_banks = json_i32(j, "shared_banks", 32),
                  .max_buffer_bytes = INT64_MAX,
                  .alignment = 256,
                  .vector_bytes = json_i32(j, "vector_bytes", 16),
                  .atomics = true,
                  .coopmat2_max_dim = json_i32(j, "nv2_max_dim", 0),
                  .coopmat2_shared_bytes = json_i64(j, "nv2_shared_bytes", 0)};
  c->subgroup_min = json_i32(j, "subgroup_min", c->subgroup);
  c->subgroup_max = json_i32(j, "subgroup_max", c->subgroup);
  c->shared_per_core = c->shared_bytes;
  c->cores_from = c->n_cores > 0 ? CORES_LISTED : CORES_UNKNOWN;
  if (!is_subgroup(c->subgroup) || !is_subgroup(c->subgroup_min) || !is_subgroup(c->subgroup_max))
    return wrong(al, file, "subgroup must be a power of two up to 128, not", "another number");
  if (c->subgroup_min > c->subgroup || c->subgroup > c->subgroup_max)
    return wrong(al, file, "subgroup must lie between", "subgroup_min and subgroup_max");
  if (c->max_threads < c->subgroup || c->max_threads > 1024 || c->shared_bytes < 0 || c->vector_bytes < 1 ||
      c->n_cores < 0 || c->shared_banks < 1 || c->coopmat2_shared_bytes < 0)
    return wrong(al, file, "a limit makes no sense in", "capabilities");
  if (!(c->spirv_minor = spirv_of(json_str(j, "vulkan", "1.3"))))
    return wrong(al, file, "vulkan is 1.1, 1.2, 1.3 or 1.4, not", json_str(j, "vulkan", ""));
  for (int i = 0; i < 3; i++) c->max_block[i] = i < 2 ? c->max_threads : 64, c->max_grid[i] = INT32_MAX;
  TSR_TRY(set_flags(al, file, json_get(j, "features"), features, sizeof features / sizeof *features, c));
  c->storage16 |= c->f16 || c->i16;
  c->storage8 |= c->i8;
  TSR_TRY(set_flags(al, file, json_get(j, "nv2"), nv2, sizeof nv2 / sizeof *nv2, c));
  if (!widen_subgroup(c)) return wrong(al, file, "a subgroup of less than 4 lanes has no", "shuffle");
  const json *m = json_get(j, "matrix");
  for (const json *row = m ? m->first : NULL; row; row = row->next) TSR_TRY(add_shape(al, file, row, c));
  c->coopmat = c->n_matrix > 0;
  c->coopmat2 = c->coopmat2_workgroup || c->coopmat2_tensor || c->coopmat2_per_element || c->coopmat2_reduce ||
                c->coopmat2_convert;
  return NULL;
}

tsr_status spirv_caps_parse(const tsr_allocator *al, const char *text, size_t n, const char *file, tsr_caps *out) {
  arena a;
  json *root = NULL;
  arena_init(&a, al);
  tsr_status st = json_parse(&a, text, n, file, &root);
  if (!st) st = fill(al, file, root, out);
  arena_clear(&a);
  return st;
}

tsr_status spirv_caps_read(const tsr_allocator *al, const char *path, tsr_caps *out) {
  const char *why;
  FILE *f = file_open(path, &why);
  if (!f) return st_make(al, TSR_NOT_FOUND, ST_WHERE("capabilities", NULL, NULL), "%s: can't be opened: %s", path, why);
  char *text = al_alloc(al, MAX_FILE, 16);
  size_t n = text ? fread(text, 1, MAX_FILE, f) : 0;
  fclose(f);
  tsr_status st = !text           ? st_oom()
                  : n == MAX_FILE ? wrong(al, path, "longer than a megabyte, so not", "capabilities")
                                  : spirv_caps_parse(al, text, n, path, out);
  al_free(al, text, MAX_FILE, 16);
  return st;
}
