/* core/base/file.c - see file.h. Looked at before it is opened, and again afterwards: another may have come in its
 * place. */
#include "core/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool file_is_special(const char *path) {
  struct stat s;
  return !stat(path, &s) && !S_ISREG(s.st_mode);
}

static FILE *fail(int fd, const char **why, const char *reason) {
  if (fd >= 0) close(fd);
  *why = reason;
  return NULL;
}

FILE *file_open(const char *path, const char **why) {
  struct stat s;
  if (stat(path, &s)) return fail(-1, why, strerror(errno));
  if (S_ISDIR(s.st_mode)) return fail(-1, why, "is a directory");
  if (!S_ISREG(s.st_mode)) return fail(-1, why, "not a regular file");
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return fail(-1, why, strerror(errno));
  if (fstat(fd, &s) || !S_ISREG(s.st_mode)) return fail(fd, why, "not a regular file");
  FILE *f = fdopen(fd, "rb");
  return f ? f : fail(fd, why, strerror(errno));
}
