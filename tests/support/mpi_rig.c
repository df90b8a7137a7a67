/* tests/support/mpi_rig.c - see mpi_rig.h. */
#define _DEFAULT_SOURCE
#include "tests/support/mpi_rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define AS_ROOT "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "

static const char *folder;

bool mpi_is_here(void) { return !system("command -v mpirun >/dev/null"); }

bool mpi_recovers(void) {
  static int known; /* 1: yes, 2: no */
  if (!known)
    known = system(AS_ROOT "mpirun --oversubscribe --enable-recovery -n 2 true >/dev/null 2>&1") ? 2 : 1;
  return known == 1;
}

/* MPI itself leaks memory at its end. */
int mpi_start(const mpi_start_desc *d, char *said, size_t cap) {
  char command[2000], dir[] = "/tmp/tsr_mpi_XXXXXX", path[600];
  size_t at = 0;
  if (!mkdtemp(dir)) return -1;
  snprintf(command, sizeof command,
           AS_ROOT "%s ASAN_OPTIONS=detect_leaks=0 timeout -k 5 120 mpirun --oversubscribe %s -n %d '%s' rank %s %s "
                   ">%s/out 2>&1",
           d->knobs ? d->knobs : "", mpi_recovers() ? "--enable-recovery" : "", d->ranks, d->self, d->what, dir, dir);
  int rc = system(command);
  said[0] = 0;
  for (int r = -1; r < d->ranks; r++) {
    if (r < 0) snprintf(path, sizeof path, "%s/out", dir);
    else snprintf(path, sizeof path, "%s/%d", dir, r);
    FILE *f = fopen(path, "r");
    if (f && (r >= 0 || rc)) at += fread(said + at, 1, cap - 1 - at, f);
    if (f) fclose(f);
    said[at] = 0;
    unlink(path);
  }
  snprintf(command, sizeof command, "rm -rf '%s'", dir); /* with what else ranks have left there */
  if (system(command)) printf("%s can't be removed\n", dir);
  return WIFEXITED(rc) ? WEXITSTATUS(rc) : 128;
}

void mpi_note_in(const char *where) { folder = where; }
const char *mpi_folder(void) { return folder; }

void mpi_note(int rank, const char *kind, const char *text) {
  char path[600];
  snprintf(path, sizeof path, "%s/%d", folder, rank);
  FILE *f = fopen(path, "a");
  if (f) fprintf(f, "%s %s\n", kind, text), fclose(f);
}

int mpi_lines(const char *text, const char *begins, const char *holds) {
  int n = 0;
  for (const char *line = text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
    const char *end = strchr(line, '\n'), *hit = strstr(line, holds);
    n += !strncmp(line, begins, strlen(begins)) && hit && (!end || hit < end);
  }
  return n;
}
