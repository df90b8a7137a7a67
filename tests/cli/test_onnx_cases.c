/* ONNX's own node cases (Debian's libonnx-testdata, or the folder in ONNX_TESTDATA) on the CPU: none is wrong, and
 * those that aren't supported are those of tests/onnx/unsupported.txt, each with its reason. The list may only shrink:
 * a case of it that passes has to be taken out. Cases that the data here lacks don't matter, as releases differ.
 * Before these, tests/onnx/cases, with what ONNX Runtime computes (tests/onnx/make_cases.py): all pass. */
#include <dirent.h>

#include "core/base/arena.h"
#include "core/base/json.h"
#include "core/base/name_set.h"
#include "tests/cli/cli_run.h"

static const char list_file[] = TSR_SOURCE_DIR "/tests/onnx/unsupported.txt";

/* The names at the beginning of the list's lines. */
static bool read_list(arena *a, name_set *names) {
  char line[512];
  FILE *f = fopen(list_file, "r");
  while (f && fgets(line, sizeof line, f))
    if (*line != '#') name_set_add(names, arena_strn(a, line, strcspn(line, ":\n")));
  if (f) fclose(f);
  return f && !names->failed;
}

static int check_line(const char *line, arena *a, const name_set *listed, int counts[3]) {
  static const char *const words[] = {"passed", "failed", "unsupported"};
  json *j = NULL;
  tsr_status_free(json_parse(a, line, strlen(line), "line", &j));
  const char *name = json_str(j, "name", ""), *status = json_str(j, "status", "");
  int which = -1;
  for (int i = 0; i < 3; i++)
    if (!strcmp(words[i], status)) which = i;
  if (which < 0 || !*name) return printf("not a case: %s\n", line), 1;
  counts[which]++;
  const bool in_list = name_set_has(listed, name);
  if (which == 1) return printf("%s is wrong: %s\n", name, json_str(j, "why", "")), 1;
  if (which == 0 && in_list) return printf("%s passes: take it out of %s\n", name, list_file), 1;
  if (which == 2 && !in_list) return printf("%s is not in the list: %s\n", name, json_str(j, "why", "")), 1;
  return which == 2 && !*json_str(j, "why", "") ? printf("%s: no reason\n", name), 1 : 0;
}

static int run_cases(const char *folder) {
  char command[4096], *line = NULL, expected[128] = "";
  size_t cap = 0;
  int counts[3] = {0}, wrong = 0;
  bool last = false;
  arena a;
  name_set listed = {.al = NULL};
  arena_init(&a, NULL);
  if (!read_list(&a, &listed)) return printf("%s can't be read\n", list_file), 1;
  snprintf(command, sizeof command, "\"$TESSERA\" test-onnx '%s' --device cpu:0 --json", folder);
  FILE *f = popen(command, "r");
  while (f && getline(&line, &cap, f) > 0) {
    line[strcspn(line, "\n")] = 0;
    if (*line == '{') wrong += check_line(line, &a, &listed, counts);
    else {
      snprintf(expected, sizeof expected, "%d passed, %d failed, %d unsupported", counts[0], counts[1], counts[2]);
      last = !strcmp(line, expected);
    }
  }
  const int status = f ? pclose(f) : -1;
  if (status || !last) wrong++, printf("exit status %d, last line \"%s\"\n", status, line ? line : "");
  printf("%s; %d wrong\n", expected, wrong);
  free(line);
  name_set_clear(&listed);
  arena_clear(&a);
  return wrong ? 1 : 0;
}

static bool is_folder(const char *path) {
  DIR *d = opendir(path);
  if (d) closedir(d);
  return d != NULL;
}

int main(void) {
  const char *given = getenv("ONNX_TESTDATA");
  char folder[1024];
  if (!getenv("TESSERA")) return 77;
  if (run_cases(TSR_SOURCE_DIR "/tests/onnx/cases")) return 1;
  const char *const forms[] = {"%s/usr/share/libonnx-testdata/data/node", "%s/data/node", "%s/node", "%s"};
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
    snprintf(folder, sizeof folder, forms[i], given && *given ? given : "");
    if (i == 3 && !(given && *given)) break;
    if (is_folder(folder)) return run_cases(folder);
  }
  printf("no ONNX cases here: install libonnx-testdata, or set ONNX_TESTDATA to a folder that has it\n");
  return 77;
}
