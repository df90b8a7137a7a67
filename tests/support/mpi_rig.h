/* tests/support/mpi_rig.h - a test that starts itself under mpirun: `PROGRAM rank WHAT FOLDER` are its ranks, which
 * note what they saw, a line each, in files of their own in the folder. */
#ifndef TESTS_SUPPORT_MPI_RIG_H
#define TESTS_SUPPORT_MPI_RIG_H
#include <stdbool.h>
#include <stddef.h>

bool mpi_is_here(void);
/* mpirun can be told to let the others live when a process dies; such a run is started so. */
bool mpi_recovers(void);

typedef struct mpi_start_desc {
  const char *self, *what, *knobs; /* knobs: "NAME=VALUE .." or NULL */
  int ranks;
} mpi_start_desc;
/* Exit status of mpirun; what the ranks noted goes into `said`, behind what they printed where it failed. */
int mpi_start(const mpi_start_desc *d, char *said, size_t cap);

/* In a rank: the folder, then "KIND TEXT". */
void mpi_note_in(const char *folder);
const char *mpi_folder(void);
void mpi_note(int rank, const char *kind, const char *text);
/* Lines of `text` that begin and hold so. */
int mpi_lines(const char *text, const char *begins, const char *holds);
#endif
