/* core/emit/text/mma.c - wrappers of the matrix instructions: one explicit specialisation for each shape and type that
 * a module uses. Sources: PTX ISA (mma, wgmma), LLVM's BuiltinsAMDGPU.def (mfma, wmma), whose builtins are in the
 * instructions' rows (core/device/matrix_instr.c). */
#include <stdio.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/emit/text/mma.h"

static const char *ptx_type(tsr_dtype t) {
  switch (t) {
  case TSR_F64: return "f64";
  case TSR_F32: return "f32";
  case TSR_TF32: return "tf32";
  case TSR_F16: return "f16";
  case TSR_BF16: return "bf16";
  case TSR_F8E4M3: return "e4m3";
  case TSR_F8E5M2: return "e5m2";
  case TSR_I32: return "s32";
  case TSR_I8: return "s8";
  case TSR_U8: return "u8";
  default: return "b32";
  }
}

/* "%first, %first+1, ..." */
static void put_registers(strb *b, int first, int n) {
  for (int i = 0; i < n; i++) strb_printf(b, i ? ", %%%d" : "%%%d", first + i);
}

static void put_operands(strb *b, const char *constraint, const char *array, int n) {
  for (int i = 0; i < n; i++) strb_printf(b, "%s\"%s\"(%s[%d])", i ? ", " : "", constraint, array, i);
}

/* A warp of 32: registers of 32 bits per lane. Whole numbers wrap, as wgmma's do, so there is no .satfinite. */
void text_cuda_mma(strb *b, const text_mma *i, const text_use *u) {
  int size = (int)tsr_dtype_size(i->a), na = i->m * i->k * size / 128, nb = i->n * i->k * size / 128,
      nc = i->m * i->n / 32;
  bool whole = i->c == TSR_I32;
  strb_printf(b,
              "template <> FN vec<%s, %d> mma<%d, %d, %d, %s, %s>(vec<int, %d> a, vec<int, %d> b, vec<%s, %d> c) {\n",
              text_type(i->c), nc, i->m, i->n, i->k, text_type(i->a), text_type(i->b), na, nb, text_type(i->c), nc);
  strb_printf(b, "  asm volatile(\"mma.sync.aligned.m%dn%dk%d.row.col.%s.%s.%s.%s {", i->m, i->n, i->k, ptx_type(i->c),
              ptx_type(i->a), ptx_type(i->b), ptx_type(i->c));
  put_registers(b, 0, nc);
  strb_puts(b, "}, {");
  put_registers(b, nc, na);
  strb_puts(b, "}, {");
  put_registers(b, nc + na, nb);
  strb_puts(b, "}, {");
  put_registers(b, 0, nc);
  strb_puts(b, "};\"\n               : ");
  put_operands(b, whole ? "+r" : "+f", "c", nc);
  strb_puts(b, "\n               : ");
  put_operands(b, "r", "a", na);
  strb_puts(b, ", ");
  put_operands(b, "r", "b", nb);
  strb_puts(b, ");\n  return c;\n}\n");
}

static bool narrow(tsr_dtype t) { return t == TSR_F16 || t == TSR_BF16; }

/* m64nNkK on a warpgroup: N / 2 accumulator registers per thread. The K-major flags exist for 16-bit types only. */
void text_cuda_wgmma(strb *b, const text_mma *i, const text_use *u) {
  bool rs = i->a_regs, whole = i->c == TSR_I32;
  int nc = i->n / 2, at = nc, na = rs ? 4 : 1;
  const char *c = text_type(i->c);
  if (rs)
    strb_printf(b,
                "template <> FN void wgmma_rs<%d, %d, %s, %s, %d, %s>(%s *d, const int *a, const void *b, int lbo_b, "
                "int sbo_b) {\n",
                i->n, i->k, text_type(i->a), text_type(i->b), i->swizzle, i->tb ? "true" : "false", c);
  else
    strb_printf(b,
                "template <> FN void wgmma<%d, %d, %s, %s, %d, %s, %s>(%s *d, const void *a, const void *b, int lbo_a, "
                "int sbo_a, int lbo_b, int sbo_b) {\n",
                i->n, i->k, text_type(i->a), text_type(i->b), i->swizzle, i->ta ? "true" : "false",
                i->tb ? "true" : "false", c);
  strb_printf(b, "  asm volatile(\n      \"wgmma.mma_async.sync.aligned.m64n%dk%d.%s.%s.%s {\"\n", i->n, i->k,
              ptx_type(i->c), ptx_type(i->a), ptx_type(i->b));
  for (int r = 0; r < nc; r += 16) {
    strb_puts(b, "      \"");
    put_registers(b, r, nc - r < 16 ? nc - r : 16);
    strb_puts(b, r + 16 < nc ? ", \"\n" : "}, ");
  }
  if (rs) {
    strb_puts(b, "{");
    put_registers(b, at, 4);
    strb_puts(b, "}");
  } else {
    strb_printf(b, "%%%d", at);
  }
  strb_printf(b, ", %%%d, 1", at + na);
  if (!whole) strb_puts(b, ", 1, 1");
  if (narrow(i->a)) strb_printf(b, rs ? ", %d" : ", %d, %d", rs ? i->tb : i->ta, i->tb);
  strb_puts(b, ";\"\n      : ");
  for (int r = 0; r < nc; r++)
    strb_printf(b, "%s\"%s\"(d[%d])", !r ? "" : r % 8 ? ", " : ",\n        ", whole ? "+r" : "+f", r);
  strb_puts(b, "\n      : ");
  if (rs) put_operands(b, "r", "a", 4);
  else strb_printf(b, "\"l\"(wgmma_desc<%d>(a, lbo_a, sbo_a))", i->swizzle);
  strb_printf(b, ", \"l\"(wgmma_desc<%d>(b, lbo_b, sbo_b)));\n}\n", i->swizzle);
}

const char *text_mma_type(tsr_dtype t, bool fnuz) {
  return fnuz && t == TSR_F8E4M3 ? "f8e4m3fnuz" : fnuz && t == TSR_F8E5M2 ? "f8e5m2fnuz" : text_type(t);
}

/* "type attributes" with the name in between. */
static void put_typedef(strb *b, const char *type, const char *name) {
  const char *attr = strchr(type, ' ');
  if (!attr) strb_printf(b, "  typedef %s %s;\n", type, name);
  else strb_printf(b, "  typedef %.*s %s%s;\n", (int)(attr - type), type, name, attr);
}

void text_hip_mma(strb *b, const text_mma *i, const text_use *u) {
  const matrix_instr *x = matrix_instr_find(i->kind, i->m, i->n, i->k, i->a, i->b, u->arch);
  if (!x) return;
  const char *sign = x->asks_sign ? "true, " : "";
  int na = matrix_instr_values(x, MATRIX_A), nb = matrix_instr_values(x, MATRIX_B),
      nc = matrix_instr_values(x, MATRIX_C);
  const char *ea = i->a == TSR_TF32 ? "float" : text_type(i->a), *eb = i->b == TSR_TF32 ? "float" : text_type(i->b),
             *tc = text_type(i->c), *kind = matrix_kind_get(i->kind)->name;
  strb_printf(b, "template <> FN vec<%s, %d> %s<%d, %d, %d, %s, %s>(vec<%s, %d> a, vec<%s, %d> b, vec<%s, %d> c) {\n",
              tc, nc, kind, i->m, i->n, i->k, text_mma_type(i->a, u->fnuz), text_mma_type(i->b, u->fnuz), ea, na, eb,
              nb, tc, nc);
  put_typedef(b, x->operand, "operand");
  put_typedef(b, x->acc, "accumulator");
  char formats[32]; /* f8f6f4 has its operands' formats beside it: 0 e4m3, 1 e5m2; a scale of 0 in place 0 makes it the
                       plain product */
  snprintf(formats, sizeof formats, ", %d, %d, 0, 0, 0, 0", i->a == TSR_F8E5M2, i->b == TSR_F8E5M2);
  strb_printf(b,
              "  return bits<vec<%s, %d>>(__builtin_amdgcn_%s_%s(%sbits<operand>(a), %sbits<operand>(b), "
              "bits<accumulator>(c)%s));\n}\n",
              tc, nc, kind, x->builtin, sign, sign,
              x->asks_sign  ? ", false"
              : i->k == 128 ? formats
              : x->more     ? x->more
                            : "");
}
