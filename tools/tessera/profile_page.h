/* tools/tessera/profile_page.h - `tessera profile --html FILE`: a profile as one self-contained page. */
#ifndef TOOLS_TESSERA_PROFILE_PAGE_H
#define TOOLS_TESSERA_PROFILE_PAGE_H
#include "tools/tessera/cli.h"

/* From the profile's JSON and its trace (tessera/profile.h) of `what`: the last step's launches over time, time and
 * bytes by op, a table of the kernels. No script, nothing is loaded. The exit status, after one line where it isn't
 * 0. */
int profile_page_write(const char *path, const char *what, const char *profile, const char *trace);
#endif
