/* backends/vulkan/lacking.c - what a device does without: what TSR_VK_HIDE hides of its driver's report, and what takes
 * the place of what is not there (core/base/vk_hide.h has the rows). */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/vulkan/reported.h"
#include "core/base/vk_hide.h"

typedef enum kind { FEATURE, EXTENSION, SUBGROUP, CONTROLS } kind;
typedef struct row {
  kind kind;
  const char *word;
  size_t at;      /* FEATURE, CONTROLS */
  uint32_t bits;  /* SUBGROUP */
  const char *extension, *instead;
} row;
#define AS_FEATURE(where) .at = offsetof(vk_all_features, where)
#define AS_EXTENSION(where) .extension = where
#define AS_SUBGROUP(where) .bits = where
#define AS_CONTROLS(where) .at = offsetof(vk_all_properties, where)
#define ROW(k, w, where, text) {.kind = k, .word = #w, AS_##k(where), .instead = text},
static const row rows[] = {VK_HIDE_ROWS(ROW)};
enum { N_ROWS = sizeof rows / sizeof *rows };

static VkBool32 *feature(const row *r, vk_all_features *f) { return (VkBool32 *)(void *)((char *)f + r->at); }

bool vk_hides_extension(const char *name) {
  for (size_t i = 0; i < N_ROWS; i++)
    if (rows[i].kind == EXTENSION && !strcmp(rows[i].extension, name)) return vk_hides(rows[i].word);
  return false;
}

bool vk_hides(const char *word) { return knob_has("TSR_VK_HIDE", word); }

void vk_hide_features(vk_all_features *f) {
  for (size_t i = 0; i < N_ROWS; i++)
    if (rows[i].kind == FEATURE && knob_has("TSR_VK_HIDE", rows[i].word)) *feature(&rows[i], f) = VK_FALSE;
}

uint64_t vk_hide_limit(const char *word) {
  size_t n = strlen(word);
  for (const char *v = knob_str("TSR_VK_HIDE"); *v; v += strcspn(v, ","), v += *v == ',')
    if (!strncmp(v, word, n) && v[n] == '=') return strtoull(v + n + 1, NULL, 10);
  return UINT64_MAX;
}

void vk_hide_properties(vk_all_properties *q) {
  for (size_t i = 0; i < N_ROWS; i++) {
    if (!knob_has("TSR_VK_HIDE", rows[i].word)) continue;
    if (rows[i].kind == SUBGROUP) q->v11.subgroupSupportedOperations &= ~rows[i].bits;
    if (rows[i].kind == CONTROLS) memset((char *)q + rows[i].at, 0, 3 * sizeof(VkBool32));
  }
#define LOWER(word, where) \
  if (q->where > vk_hide_limit(#word)) q->where = vk_hide_limit(#word); /* 32 or 64 bits; less than what was there */
  VK_HIDE_LIMITS(LOWER)
#undef LOWER
  VkPhysicalDeviceLimits *m = &q->base.properties.limits;
  for (int i = 0; i < 3; i++) /* an axis has no more invocations than the block */
    if (m->maxComputeWorkGroupSize[i] > m->maxComputeWorkGroupInvocations)
      m->maxComputeWorkGroupSize[i] = m->maxComputeWorkGroupInvocations;
}

/* Of the extensions that have something in their place. */
static bool uses_extension(const char *word, const vk_features *used) {
  return !strcmp(word, "shared_layout")     ? used->explicit_layout
         : !strcmp(word, "pipeline_binary") ? used->binaries
         : !strcmp(word, "budget")          ? used->budget
                                            : true;
}

void vk_say_lacking(const vk_all_features *f, const vk_all_properties *q, const vk_features *used, char *out,
                    size_t cap) {
  size_t n = 0;
  *out = 0;
  for (size_t i = 0; i < N_ROWS; i++) {
    const row *r = &rows[i];
    bool there = r->kind == FEATURE    ? *feature(r, (vk_all_features *)(uintptr_t)f)
                 : r->kind == SUBGROUP ? q->v11.subgroupSupportedOperations & r->bits
                                       : uses_extension(r->word, used);
    if (*r->instead && !there && n < cap) n += (size_t)snprintf(out + n, cap - n, "%s%s", n ? "; " : "", r->instead);
  }
  const char *hidden = knob_str("TSR_VK_HIDE");
  if (*hidden && n < cap) snprintf(out + n, cap - n, "%shidden by TSR_VK_HIDE: %s", n ? "; " : "", hidden);
}
