/* tests/simt/hooks.c - the calls that -fsanitize=thread puts at plain memory accesses, renamed by the linker's --wrap.
 * They catch what the text reads or writes through a pointer without saying so through a primitive. */
#include <string.h>

#include "tests/simt/sim.h"

#define EXPORT __attribute__((visibility("default")))
#define HOOK(n)                                                                                               \
  EXPORT void __wrap___tsan_read##n(void *p) { emu_access(p, n, 1, EMU_READ, EMU_ANY_SPACE, 0); }             \
  EXPORT void __wrap___tsan_write##n(void *p) { emu_access(p, n, 1, EMU_WRITE, EMU_ANY_SPACE, 0); }           \
  EXPORT void __wrap___tsan_unaligned_read##n(void *p) { emu_access(p, n, 1, EMU_READ, EMU_ANY_SPACE, 0); }   \
  EXPORT void __wrap___tsan_unaligned_write##n(void *p) { emu_access(p, n, 1, EMU_WRITE, EMU_ANY_SPACE, 0); } \
  EXPORT void __wrap___tsan_read_write##n(void *p) { emu_access(p, n, 1, EMU_WRITE, EMU_ANY_SPACE, 0); }

HOOK(1) HOOK(2) HOOK(4) HOOK(8) HOOK(16)

EXPORT void __wrap___tsan_read_range(void *p, unsigned long n) { emu_access(p, (int)n, 1, EMU_READ, EMU_ANY_SPACE, 0); }
EXPORT void __wrap___tsan_write_range(void *p, unsigned long n) {
  emu_access(p, (int)n, 1, EMU_WRITE, EMU_ANY_SPACE, 0);
}
EXPORT void *__wrap___tsan_memcpy(void *to, const void *from, size_t n) {
  emu_access(from, (int)n, 1, EMU_READ, EMU_ANY_SPACE, 0);
  emu_access(to, (int)n, 1, EMU_WRITE, EMU_ANY_SPACE, 0);
  return memcpy(to, from, n);
}
EXPORT void *__wrap___tsan_memset(void *to, int c, size_t n) {
  emu_access(to, (int)n, 1, EMU_WRITE, EMU_ANY_SPACE, 0);
  return memset(to, c, n);
}
EXPORT void __wrap___tsan_func_entry(void *pc) { (void)pc; }
EXPORT void __wrap___tsan_func_exit(void) {}
EXPORT void __wrap___tsan_init(void) {}
