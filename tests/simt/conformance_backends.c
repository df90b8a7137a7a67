/* tests/simt/conformance_backends.c - the emulator for tests/conformance/test_conformance.c, which is linked with this.
 */
#include "tests/simt/backend_emu.h"

extern const void *const conformance_backends[];
const void *const conformance_backends[] = {&emu_backend, NULL};
