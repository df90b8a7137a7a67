/* tools/probe.c - the program that the library starts where the application names none: tries drivers, which may crash
 * or hang in it. Installed as tessera/tessera-probe beside the shared library. */
#include "tessera/tessera.h"

int main(int argc, char **argv) {
  int rc = tsr_probe_main(argc, argv);
  return rc < 0 ? 2 : rc;
}
