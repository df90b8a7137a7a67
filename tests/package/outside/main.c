/* An outside project: knows only the installed package. Says which library it found, and that it fits the headers. */
#include <stdio.h>
#include <tessera/base.h>

int main(void) {
  uint32_t have = tsr_abi_version();
  printf("libtessera ABI %u.%u, %s has %zu bytes\n", have >> 16, have & 0xffff, tsr_dtype_name(TSR_BF16), tsr_dtype_size(TSR_BF16));
  return have >> 16 == TSR_ABI_MAJOR ? 0 : 1;
}
