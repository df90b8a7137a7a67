/* tests/support/spirv_check.h - Target IR text to SPIR-V and through SPIRV-Tools' validator (Vulkan 1.3). */
#ifndef TESTS_SUPPORT_SPIRV_CHECK_H
#define TESTS_SUPPORT_SPIRV_CHECK_H
#include "core/device/caps.h"
#include "core/ir/ir.h"

/* Capabilities with everything on that a kernel of any type needs; tests switch off what they want absent. */
tsr_caps spirv_full_caps(void);
/* NULL when the text parses, is emitted and (with `validate`) passes; else what went wrong, in a static buffer. `want`:
 * text that must appear in the disassembly by emit_spirv_disassemble, or NULL. */
const char *spirv_check(const char *text, const tsr_caps *caps, const char *want,
                        bool (*validate)(const uint32_t *words, size_t n, char *why, size_t cap));
/* The same for a module that is there already. */
const char *spirv_check_ir(const ir_module *m, const tsr_caps *caps, const char *want,
                           bool (*validate)(const uint32_t *words, size_t n, char *why, size_t cap));

#endif
