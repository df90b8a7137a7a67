/* tests/support/spirv_check.c - see spirv_check.h. */
#include "tests/support/spirv_check.h"

#include <stdio.h>
#include <string.h>

#include "core/emit/spirv/spirv.h"

tsr_caps spirv_full_caps(void) {
  tsr_caps c = {.dialect = DIALECT_SPIRV,
                .arch = "spirv1.6",
                .subgroup = 32,
                .subgroup_min = 32,
                .subgroup_max = 32,
                .max_threads = 1024,
                .max_block = {1024, 1024, 64},
                .shared_bytes = 48 << 10,
                .f64 = true,
                .f16 = true,
                .bf16 = true,
                .f8 = true,
                .i8 = true,
                .i16 = true,
                .storage16 = true,
                .storage8 = true,
                .i64 = true,
                .coopmat = true,
                .coopmat2 = true,
                .coopmat2_workgroup = true,
                .coopmat2_tensor = true,
                .coopmat2_per_element = true,
                .coopmat2_reduce = true,
                .coopmat2_convert = true,
                .subgroup_shuffle = true,
                .full_subgroups = true,
                .shared_layout = true,
                .nan_preserve = true,
                .nan_f16 = true,
                .nan_f64 = true,
                .denorm_f16 = true,
                .denorm_f32 = true,
                .denorm_f64 = true,
                .rte_f16 = true,
                .rte_f32 = true,
                .rte_f64 = true};
  return c;
}

const char *spirv_check_ir(const ir_module *m, const tsr_caps *caps, const char *want,
                           bool (*validate)(const uint32_t *, size_t, char *, size_t)) {
  static char why[2048];
  arena a;
  be_module_desc d;
  why[0] = 0;
  arena_init(&a, &al_default);
  tsr_status st = emit_spirv(m, caps, &a, &d);
  if (st) {
    snprintf(why, sizeof why, "%s", tsr_status_message(st));
    tsr_status_free(st);
  }
  strb s;
  strb_init(&s, &al_default);
  for (int i = 0; !why[0] && i < d.n_kernels; i++) {
    const uint32_t *w = (const uint32_t *)((const char *)d.code + d.offsets[i]);
    size_t n = (d.offsets[i + 1] - d.offsets[i]) / 4;
    emit_spirv_disassemble(w, n, &s);
    if (validate && !validate(w, n, why, sizeof why) && !why[0]) snprintf(why, sizeof why, "invalid");
  }
  if (!why[0] && want && !strstr(strb_text(&s), want)) snprintf(why, sizeof why, "no %s in the module", want);
  strb_clear(&s);
  arena_clear(&a);
  return why[0] ? why : NULL;
}

const char *spirv_check(const char *text, const tsr_caps *caps, const char *want,
                        bool (*validate)(const uint32_t *, size_t, char *, size_t)) {
  static char wrong[2048];
  ir_module *m = NULL;
  tsr_status st = ir_parse(&al_default, text, strlen(text), "kernel", &m);
  if (st) {
    snprintf(wrong, sizeof wrong, "%s", tsr_status_message(st));
    tsr_status_free(st);
    return wrong;
  }
  const char *why = spirv_check_ir(m, caps, want, validate);
  ir_module_destroy(&m);
  return why;
}
