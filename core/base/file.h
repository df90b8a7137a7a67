/* core/base/file.h - opening files that a user named. Only regular files are opened: a FIFO waits for whoever writes
 * it, a device for its own reasons, and opening one may already change something. Standard input is the way for
 * everything else. */
#ifndef CORE_BASE_FILE_H
#define CORE_BASE_FILE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* For reading, in binary. NULL with the reason in *why: a constant string, or strerror's, valid until the next call of
 * that. */
FILE *file_open(const char *path, const char **why);
/* Is something there that is no regular file? What isn't there, or can't be looked at, is none. */
bool file_is_special(const char *path);
/* The whole file in memory, read-only and without a copy: pages come when they are touched. NULL with the reason in
 * *why. Whoever shortens the file while it is mapped ends the process that reads behind its new end (SIGBUS). */
const void *file_map(const char *path, size_t *bytes, const char **why);
void file_unmap(const void *p, size_t bytes);
/* A part that isn't needed soon: whole pages in it are no longer in the process's memory until they are touched. */
void file_forget(const void *p, size_t bytes);
#endif
