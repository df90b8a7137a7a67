/* core/emit/spirv/dis.c - SPIR-V as text, for `dump`: one line an instruction in the manner of spirv-dis. Knows the
 * opcodes that the emitter uses (others print as numbers), so that dumps need no SPIR-V package. */
#include <stdio.h>
#include <string.h>

#include "core/emit/spirv/enum.h"
#include "core/emit/spirv/spirv.h"

/* Operands: t result type, r result, i id, l number, s string, I ids to the end, L numbers to the end. */
static const struct row { int op; const char *name, *format;
} rows[] = {
#define R(op, format) {op, #op, format}
    R(OpUndef, "tr"),
    R(OpName, "is"),
    R(OpExtension, "s"),
    R(OpExtInstImport, "rs"),
    R(OpExtInst, "trilI"),
    R(OpMemoryModel, "ll"),
    R(OpEntryPoint, "lisI"),
    R(OpExecutionMode, "iL"),
    R(OpCapability, "l"),
    R(OpTypeVoid, "r"),
    R(OpTypeBool, "r"),
    R(OpTypeInt, "rll"),
    R(OpTypeFloat, "rL"),
    R(OpTypeVector, "ril"),
    R(OpTypeArray, "rii"),
    R(OpTypeRuntimeArray, "ri"),
    R(OpTypeStruct, "rI"),
    R(OpTypePointer, "rli"),
    R(OpTypeFunction, "rI"),
    R(OpConstantTrue, "tr"),
    R(OpConstantFalse, "tr"),
    R(OpConstant, "trL"),
    R(OpConstantComposite, "trI"),
    R(OpFunction, "trli"),
    R(OpFunctionParameter, "tr"),
    R(OpFunctionEnd, ""),
    R(OpVariable, "trlI"),
    R(OpLoad, "triL"),
    R(OpStore, "iiL"),
    R(OpAccessChain, "trI"),
    R(OpDecorate, "iL"),
    R(OpMemberDecorate, "iL"),
    R(OpVectorShuffle, "triiL"),
    R(OpCompositeConstruct, "trI"),
    R(OpCompositeExtract, "triL"),
    R(OpCompositeInsert, "triiL"),
    R(OpConvertFToU, "trI"),
    R(OpConvertFToS, "trI"),
    R(OpConvertSToF, "trI"),
    R(OpConvertUToF, "trI"),
    R(OpUConvert, "trI"),
    R(OpSConvert, "trI"),
    R(OpFConvert, "trI"),
    R(OpConvertUToPtr, "trI"),
    R(OpBitcast, "trI"),
    R(OpSNegate, "trI"),
    R(OpFNegate, "trI"),
    R(OpIAdd, "trI"),
    R(OpFAdd, "trI"),
    R(OpISub, "trI"),
    R(OpFSub, "trI"),
    R(OpIMul, "trI"),
    R(OpFMul, "trI"),
    R(OpUDiv, "trI"),
    R(OpSDiv, "trI"),
    R(OpFDiv, "trI"),
    R(OpUMod, "trI"),
    R(OpSRem, "trI"),
    R(OpFRem, "trI"),
    R(OpIAddCarry, "trI"),
    R(OpUMulExtended, "trI"),
    R(OpAny, "tri"),
    R(OpIsNan, "trI"),
    R(OpIsInf, "trI"),
    R(OpLogicalEqual, "trI"),
    R(OpLogicalNotEqual, "trI"),
    R(OpLogicalOr, "trI"),
    R(OpLogicalAnd, "trI"),
    R(OpLogicalNot, "trI"),
    R(OpSelect, "trI"),
    R(OpIEqual, "trI"),
    R(OpINotEqual, "trI"),
    R(OpUGreaterThan, "trI"),
    R(OpSGreaterThan, "trI"),
    R(OpUGreaterThanEqual, "trI"),
    R(OpSGreaterThanEqual, "trI"),
    R(OpULessThan, "trI"),
    R(OpSLessThan, "trI"),
    R(OpULessThanEqual, "trI"),
    R(OpSLessThanEqual, "trI"),
    R(OpFOrdEqual, "trI"),
    R(OpFUnordNotEqual, "trI"),
    R(OpFOrdLessThan, "trI"),
    R(OpFOrdGreaterThan, "trI"),
    R(OpFUnordGreaterThan, "trI"),
    R(OpFOrdLessThanEqual, "trI"),
    R(OpFOrdGreaterThanEqual, "trI"),
    R(OpShiftRightLogical, "trI"),
    R(OpShiftRightArithmetic, "trI"),
    R(OpShiftLeftLogical, "trI"),
    R(OpBitwiseOr, "trI"),
    R(OpBitwiseXor, "trI"),
    R(OpBitwiseAnd, "trI"),
    R(OpNot, "trI"),
    R(OpBitFieldSExtract, "trI"),
    R(OpBitFieldUExtract, "trI"),
    R(OpControlBarrier, "iii"),
    R(OpAtomicAnd, "trI"),
    R(OpAtomicOr, "trI"),
    R(OpPhi, "trI"),
    R(OpLoopMerge, "iiL"),
    R(OpSelectionMerge, "il"),
    R(OpLabel, "r"),
    R(OpBranch, "i"),
    R(OpBranchConditional, "iiiL"),
    R(OpReturn, ""),
    R(OpReturnValue, "i"),
    R(OpGroupNonUniformShuffle, "trI"),
    R(OpGroupNonUniformShuffleXor, "trI"),
    R(OpTypeCooperativeMatrixKHR, "rI"),
    R(OpCooperativeMatrixLoadKHR, "triiiL"),
    R(OpCooperativeMatrixStoreKHR, "iiiiL"),
    R(OpCooperativeMatrixMulAddKHR, "triiiL"),
    R(OpCooperativeMatrixLengthKHR, "tri"),
    R(OpCooperativeMatrixConvertNV, "tri"),
    R(OpCooperativeMatrixReduceNV, "trili"),
    R(OpCooperativeMatrixLoadTensorNV, "triiiL"),
    R(OpCooperativeMatrixStoreTensorNV, "iiiL"),
    R(OpCooperativeMatrixPerElementOpNV, "trI"),
    R(OpTypeTensorLayoutNV, "rii"),
    R(OpCreateTensorLayoutNV, "tr"),
    R(OpTensorLayoutSetDimensionNV, "trI"),
    R(OpTensorLayoutSetStrideNV, "trI"),
    R(OpTensorLayoutSliceNV, "trI"),
#undef R
};

static const struct row *find(int op) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (rows[i].op == op) return &rows[i];
  return NULL;
}

static const char *capability(uint32_t c) {
  static const struct { uint32_t n; const char *name;
  } names[] = {
#define C(n) {Cap##n, #n}
      C(Shader),
      C(Float16),
      C(Float64),
      C(Int64),
      C(Int16),
      C(Int8),
      C(GroupNonUniform),
      C(GroupNonUniformShuffle),
      C(StorageBuffer16BitAccess),
      C(StorageBuffer8BitAccess),
      C(DenormPreserve),
      C(SignedZeroInfNanPreserve),
      C(RoundingModeRTE),
      C(VulkanMemoryModel),
      C(PhysicalStorageBufferAddresses),
#undef C
      {CapWorkgroupMemoryExplicitLayout, "WorkgroupMemoryExplicitLayoutKHR"},
      {CapWorkgroupMemoryExplicitLayout8, "WorkgroupMemoryExplicitLayout8BitAccessKHR"},
      {CapWorkgroupMemoryExplicitLayout16, "WorkgroupMemoryExplicitLayout16BitAccessKHR"},
      {CapCooperativeMatrix, "CooperativeMatrixKHR"},
      {CapBFloat16Type, "BFloat16TypeKHR"},
      {CapBFloat16CooperativeMatrix, "BFloat16CooperativeMatrixKHR"},
      {CapFloat8, "Float8EXT"},
      {CapFloat8CooperativeMatrix, "Float8CooperativeMatrixEXT"},
      {CapCoopmatReductionsNV, "CooperativeMatrixReductionsNV"},
      {CapCoopmatConversionsNV, "CooperativeMatrixConversionsNV"},
      {CapCoopmatPerElementNV, "CooperativeMatrixPerElementOperationsNV"},
      {CapCoopmatTensorAddressingNV, "CooperativeMatrixTensorAddressingNV"},
      {CapTensorAddressingNV, "TensorAddressingNV"}};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (names[i].n == c) return names[i].name;
  return NULL;
}

/* Words of a string operand, which is also printed. */
static size_t put_string(strb *out, const uint32_t *w, size_t n) {
  size_t i = 0;
  strb_puts(out, " \"");
  for (; i < n; i++) {
    bool end = false;
    for (int b = 0; b < 4 && !end; b++) {
      char c = (char)(w[i] >> 8 * b & 0xff);
      if (c) strb_putc(out, c);
      else end = true;
    }
    if (end) break;
  }
  strb_putc(out, '"');
  return i + 1;
}

static void put_operands(strb *out, const struct row *r, const uint32_t *w, size_t n) {
  size_t at = 0;
  for (const char *f = r->format; *f && at < n;) {
    switch (*f) {
    case 'r': at++; f++; break;
    case 't':
    case 'i': strb_printf(out, " %%%u", w[at++]); f++; break;
    case 'l':
      if (r->op == OpCapability && capability(w[at])) strb_printf(out, " %s", capability(w[at++]));
      else if (r->op == OpEntryPoint && w[at] == 5) strb_puts(out, " GLCompute"), at++;
      else strb_printf(out, " %u", w[at++]);
      f++;
      break;
    case 's': at += put_string(out, w + at, n - at); f++; break;
    case 'I': strb_printf(out, " %%%u", w[at++]); break;
    default: strb_printf(out, " %u", w[at++]); break;
    }
  }
}

void emit_spirv_disassemble(const uint32_t *words, size_t n, strb *out) {
  if (n < 5) return;
  strb_printf(out, "; SPIR-V\n; Version: %u.%u\n; Bound: %u\n", words[1] >> 16 & 0xff, words[1] >> 8 & 0xff, words[3]);
  for (size_t i = 5; i < n;) {
    size_t len = words[i] >> 16;
    int op = (int)(words[i] & 0xffff);
    const struct row *r = find(op);
    if (!len || i + len > n) {
      strb_puts(out, "; the module ends in the middle of an instruction\n");
      return;
    }
    const char *result = r ? strchr(r->format, 'r') : NULL;
    if (result) {
      char name[16];
      snprintf(name, sizeof name, "%%%u", words[i + 1 + (size_t)(result - r->format)]);
      strb_printf(out, "%8s = ", name);
    } else {
      strb_puts(out, "           ");
    }
    if (r) strb_puts(out, r->name), put_operands(out, r, words + i + 1, len - 1);
    else strb_printf(out, "Op%d (%zu words)", op, len - 1);
    strb_putc(out, '\n');
    i += len;
  }
}
