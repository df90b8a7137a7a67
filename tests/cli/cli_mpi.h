/* tests/cli/cli_mpi.h - the command under mpirun: between these two calls cli_run runs mpirun, whose arguments name the
 * command as $PROGRAM. */
#ifndef TESTS_CLI_CLI_MPI_H
#define TESTS_CLI_CLI_MPI_H
#include "tests/cli/cli_run.h"

/* False, and nothing is changed: there is no mpirun, or the library for it isn't built. */
static inline bool cli_mpi_begin(cli *c) {
  setenv("ASAN_OPTIONS", "detect_leaks=0", 1); /* MPI itself leaks memory */
  if (cli_run(c, "bench coll --transport mpi --op barrier --milliseconds 1") == 3) {
    cli_expect(c, "bench coll --transport mpi", 3, "there is no tessera-mpi.so");
    unsetenv("ASAN_OPTIONS");
    return false;
  }
  if (system("command -v mpirun >/dev/null")) {
    unsetenv("ASAN_OPTIONS");
    return false;
  }
  setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1), setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
  setenv("OMPI_MCA_btl", "^tcp", 1); /* of Open MPI 5, which complains where no network but the loopback is up */
  setenv("PROGRAM", getenv("TESSERA"), 1);
  setenv("TESSERA", "mpirun", 1);
  return true;
}

static inline void cli_mpi_end(void) {
  unsetenv("ASAN_OPTIONS");
  setenv("TESSERA", getenv("PROGRAM"), 1);
}
#endif
