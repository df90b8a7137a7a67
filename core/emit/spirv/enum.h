/* core/emit/spirv/enum.h - the numbers of the SPIR-V specification that the emitter uses; names as in the specification
 * (Khronos "SPIR-V Unified 1", and the extensions named beside the groups). Kept here so that the library builds without
 * any SPIR-V package. */
#ifndef CORE_EMIT_SPIRV_ENUM_H
#define CORE_EMIT_SPIRV_ENUM_H

enum {
  OpUndef = 1, OpName = 5, OpExtension = 10, OpExtInstImport = 11, OpExtInst = 12, OpMemoryModel = 14, OpEntryPoint = 15,
  OpExecutionMode = 16, OpCapability = 17, OpTypeVoid = 19, OpTypeBool = 20, OpTypeInt = 21, OpTypeFloat = 22,
  OpTypeVector = 23, OpTypeArray = 28, OpTypeRuntimeArray = 29, OpTypeStruct = 30, OpTypePointer = 32, OpTypeFunction = 33,
  OpConstantTrue = 41, OpConstantFalse = 42, OpConstant = 43, OpConstantComposite = 44, OpFunction = 54,
  OpFunctionParameter = 55, OpFunctionEnd = 56, OpVariable = 59, OpLoad = 61, OpStore = 62, OpAccessChain = 65,
  OpDecorate = 71, OpMemberDecorate = 72, OpVectorShuffle = 79, OpCompositeConstruct = 80, OpCompositeExtract = 81,
  OpCompositeInsert = 82, OpConvertFToU = 109, OpConvertFToS = 110, OpConvertSToF = 111, OpConvertUToF = 112,
  OpUConvert = 113, OpSConvert = 114, OpFConvert = 115, OpConvertUToPtr = 120, OpBitcast = 124, OpSNegate = 126,
  OpFNegate = 127, OpIAdd = 128, OpFAdd = 129, OpISub = 130, OpFSub = 131, OpIMul = 132, OpFMul = 133, OpUDiv = 134,
  OpSDiv = 135, OpFDiv = 136, OpUMod = 137, OpSRem = 138, OpFRem = 140, OpAny = 154, OpIsNan = 156, OpIsInf = 157, OpLogicalEqual = 164,
  OpLogicalNotEqual = 165, OpLogicalOr = 166, OpLogicalAnd = 167, OpLogicalNot = 168, OpSelect = 169, OpIEqual = 170,
  OpINotEqual = 171, OpUGreaterThan = 172, OpSGreaterThan = 173, OpUGreaterThanEqual = 174, OpSGreaterThanEqual = 175,
  OpULessThan = 176, OpSLessThan = 177, OpULessThanEqual = 178, OpSLessThanEqual = 179, OpFOrdEqual = 180,
  OpFUnordNotEqual = 183, OpFOrdLessThan = 184, OpFOrdGreaterThan = 186, OpFOrdLessThanEqual = 188,
  OpFOrdGreaterThanEqual = 190, OpFUnordGreaterThan = 187, OpShiftRightLogical = 194, OpShiftRightArithmetic = 195,
  OpShiftLeftLogical = 196, OpBitwiseOr = 197, OpBitwiseXor = 198, OpBitwiseAnd = 199, OpNot = 200, OpControlBarrier = 224,
  OpAtomicAnd = 240, OpAtomicOr = 241, OpPhi = 245, OpLoopMerge = 246, OpSelectionMerge = 247, OpLabel = 248,
  OpBranch = 249, OpBranchConditional = 250, OpReturn = 253, OpReturnValue = 254, OpGroupNonUniformShuffle = 345,
  OpGroupNonUniformShuffleXor = 346,
  OpReadClockKHR = 5056, /* SPV_KHR_shader_clock */
  /* SPV_KHR_cooperative_matrix */
  OpTypeCooperativeMatrixKHR = 4456, OpCooperativeMatrixLoadKHR = 4457, OpCooperativeMatrixStoreKHR = 4458,
  OpCooperativeMatrixMulAddKHR = 4459, OpCooperativeMatrixLengthKHR = 4460,
  /* SPV_NV_cooperative_matrix2, SPV_NV_tensor_addressing */
  OpCooperativeMatrixConvertNV = 5293, OpCooperativeMatrixReduceNV = 5366, OpCooperativeMatrixLoadTensorNV = 5367,
  OpCooperativeMatrixStoreTensorNV = 5368, OpCooperativeMatrixPerElementOpNV = 5369, OpTypeTensorLayoutNV = 5370,
  OpCreateTensorLayoutNV = 5372, OpTensorLayoutSetDimensionNV = 5373, OpTensorLayoutSetStrideNV = 5374,
  OpTensorLayoutSliceNV = 5375
};

enum {
  CapShader = 1, CapFloat16 = 9, CapFloat64 = 10, CapInt64 = 11, CapInt16 = 22, CapInt8 = 39, CapGroupNonUniform = 61,
  CapGroupNonUniformShuffle = 65, CapStorageBuffer16BitAccess = 4433, CapStorageBuffer8BitAccess = 4448,
  CapWorkgroupMemoryExplicitLayout = 4428, CapWorkgroupMemoryExplicitLayout8 = 4429, CapWorkgroupMemoryExplicitLayout16 = 4430,
  CapDenormPreserve = 4464, CapSignedZeroInfNanPreserve = 4466, CapRoundingModeRTE = 4467, CapShaderClock = 5055, CapVulkanMemoryModel = 5345, CapPhysicalStorageBufferAddresses = 5347,
  CapCooperativeMatrix = 6022, CapBFloat16Type = 5116, CapBFloat16CooperativeMatrix = 5118, CapFloat8 = 4212,
  CapFloat8CooperativeMatrix = 4213, CapCoopmatReductionsNV = 5430, CapCoopmatConversionsNV = 5431,
  CapCoopmatPerElementNV = 5432, CapCoopmatTensorAddressingNV = 5433, CapTensorAddressingNV = 5439
};

enum { StorageInput = 1, StorageWorkgroup = 4, StorageFunction = 7, StoragePushConstant = 9, StoragePhysical = 5349 };
enum {
  DecBlock = 2, DecArrayStride = 6, DecBuiltIn = 11, DecAliased = 20, DecOffset = 35, DecNoContraction = 42,
  BuiltInWorkgroupId = 26, BuiltInLocalInvocationId = 27, BuiltInSubgroupId = 40, BuiltInSubgroupLocalInvocationId = 41
};
enum { ModeLocalSize = 17, ModeDenormPreserve = 4459, ModeSignedZeroInfNanPreserve = 4461, ModeRoundingModeRTE = 4462 };
enum { ScopeDevice = 1, ScopeWorkgroup = 2, ScopeSubgroup = 3 };
enum {
  SemAcquireRelease = 0x8, SemUniformMemory = 0x40, SemWorkgroupMemory = 0x100, SemMakeAvailable = 0x2000, SemMakeVisible = 0x4000
};
enum { AccessAligned = 0x2, AccessNontemporal = 0x4, AccessMakeAvailable = 0x8, AccessMakeVisible = 0x10, AccessNonPrivate = 0x20 };
enum { ClampUndefined = 0, ClampConstant = 1 }; /* SPV_NV_tensor_addressing */
enum { LoopUnroll = 1, LoopDontUnroll = 2 };
enum { MatrixASigned = 1, MatrixBSigned = 2, MatrixCSigned = 4, MatrixResultSigned = 8 };
enum { FPEncodingBFloat16 = 0, FPEncodingE4M3 = 4214, FPEncodingE5M2 = 4215 };

/* GLSL.std.450 */
enum {
  GlslRoundEven = 2, GlslTrunc = 3, GlslFAbs = 4, GlslSAbs = 5, GlslFloor = 8, GlslPow = 26, GlslExp = 27, GlslLog = 28,
  GlslExp2 = 29, GlslLog2 = 30, GlslSqrt = 31, GlslInverseSqrt = 32, GlslFMin = 37, GlslUMin = 38, GlslSMin = 39, GlslFMax = 40, GlslUMax = 41, GlslSMax = 42,
  GlslFma = 50, GlslLdexp = 53, GlslFSign = 6
};

#endif
