/* backends/vulkan/matrices.c - the shapes of cooperative matrices that a device lists, for types that can be used. */
#include "backends/vulkan/reported.h"

static tsr_dtype component(VkComponentTypeKHR t) {
  switch ((int64_t)t) { /* not by the enum: an older header's lacks some of these */
  case VK_COMPONENT_TYPE_FLOAT16_KHR: return TSR_F16;
  case VK_COMPONENT_TYPE_FLOAT32_KHR: return TSR_F32;
  case VK_COMPONENT_TYPE_BFLOAT16_KHR: return TSR_BF16;
  case VK_COMPONENT_TYPE_SINT8_KHR: return TSR_I8;
  case VK_COMPONENT_TYPE_UINT8_KHR: return TSR_U8;
  case VK_COMPONENT_TYPE_SINT32_KHR:
  case VK_COMPONENT_TYPE_UINT32_KHR: return TSR_I32;
  case VK_COMPONENT_TYPE_FLOAT8_E4M3_EXT: return TSR_F8E4M3;
  case VK_COMPONENT_TYPE_FLOAT8_E5M2_EXT: return TSR_F8E5M2;
  default: return TSR_DTYPE_NONE;
  }
}

static bool usable(const vk_features *f, tsr_dtype t) {
  switch (t) {
  case TSR_DTYPE_NONE: return false;
  case TSR_BF16: return f->bfloat16 && f->i16 && f->storage16;
  case TSR_F8E4M3:
  case TSR_F8E5M2: return f->float8 && f->i8 && f->storage8;
  case TSR_F16: return f->f16 && f->storage16;
  case TSR_I8:
  case TSR_U8: return f->i8 && f->storage8;
  default: return true;
  }
}

static void add_shape(tsr_caps *c, const vk_features *f, int m, int n, int k, VkComponentTypeKHR a,
                      VkComponentTypeKHR b, VkComponentTypeKHR acc, VkScopeKHR scope, int threads) {
  tsr_matrix_shape s = {m,
                        n,
                        k,
                        component(a),
                        component(b),
                        component(acc),
                        scope == VK_SCOPE_WORKGROUP_KHR ? SCOPE_WORKGROUP : SCOPE_SUBGROUP,
                        true,
                        "",
                        threads};
  if (c->n_matrix == TSR_MAX_MATRIX || !usable(f, s.a) || !usable(f, s.b) || !usable(f, s.c)) return;
  if (scope != VK_SCOPE_SUBGROUP_KHR && scope != VK_SCOPE_WORKGROUP_KHR) return;
  if (m < 1 || n < 1 || k < 1 || m > 1024 || n > 1024 || k > 1024) return;
  for (int i = 0; i < c->n_matrix; i++) {
    const tsr_matrix_shape *o = &c->matrix[i];
    if (o->m == m && o->n == n && o->k == k && o->a == s.a && o->b == s.b && o->c == s.c && o->scope == s.scope &&
        o->threads == threads)
      return;
  }
  c->matrix[c->n_matrix++] = s;
}

void vk_find_matrices(const be_instance *in, VkPhysicalDevice p, const vk_features *f, tsr_caps *c) {
  VkCooperativeMatrixPropertiesKHR props[256];
  uint32_t n = 256;
  for (uint32_t i = 0; i < n; i++)
    props[i] = (VkCooperativeMatrixPropertiesKHR){.sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR};
  if (!f->coopmat || !in->fn.vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR) return;
  VkResult r = in->fn.vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR(p, &n, props);
  if (r != VK_SUCCESS && r != VK_INCOMPLETE) n = 0;
  /* f32 accumulation first: caps_find_matrix takes the first that fits */
  for (int pass = 0; pass < 2; pass++)
    for (uint32_t i = 0; i < n; i++) {
      const VkCooperativeMatrixPropertiesKHR *q = &props[i];
      bool wide = q->CType == VK_COMPONENT_TYPE_FLOAT32_KHR || q->CType == VK_COMPONENT_TYPE_SINT32_KHR ||
                  q->CType == VK_COMPONENT_TYPE_UINT32_KHR;
      if (q->CType == q->ResultType && !q->saturatingAccumulation && wide == (pass == 0))
        add_shape(c, f, (int)q->MSize, (int)q->NSize, (int)q->KSize, q->AType, q->BType, q->CType, q->scope, 0);
    }
  if (!f->nv2_workgroup || !in->fn.vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV) return;
  VkCooperativeMatrixFlexibleDimensionsPropertiesNV flex[64];
  n = 64;
  for (uint32_t i = 0; i < n; i++)
    flex[i] = (VkCooperativeMatrixFlexibleDimensionsPropertiesNV){
        .sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_FLEXIBLE_DIMENSIONS_PROPERTIES_NV};
  r = in->fn.vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV(p, &n, flex);
  if (r != VK_SUCCESS && r != VK_INCOMPLETE) return;
  /* Workgroup scope takes any multiples of the granularity. */
  for (uint32_t i = 0; i < n; i++)
    if (flex[i].scope == VK_SCOPE_WORKGROUP_KHR && flex[i].workgroupInvocations && !flex[i].saturatingAccumulation &&
        flex[i].CType == flex[i].ResultType)
      add_shape(c, f, (int)flex[i].MGranularity, (int)flex[i].NGranularity, (int)flex[i].KGranularity, flex[i].AType,
                flex[i].BType, flex[i].CType, VK_SCOPE_WORKGROUP_KHR, (int)flex[i].workgroupInvocations);
}
