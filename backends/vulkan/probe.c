/* backends/vulkan/probe.c - the side of the process that asks: which steps may be taken, and the process in which they
 * are tried. What it writes: "begin KEY STEP", "end KEY STEP VALUE", "device KEY NAME VERSION", "log LEVEL TEXT",
 * "again", "done", the parts of a line separated by tabs. What it had begun when it crashed or hung is noted as bad,
 * and it is run again without that. */
#include "backends/vulkan/probe.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/hash.h"
#include "core/base/knob.h"

extern char **environ;

enum { MOST_RUNS = 64, MOST_DEVICES = 16 };

tsr_status vk_probe_init(vk_probe *p, const be_env *env) {
  *p = (vk_probe){.env = env};
  pthread_mutex_init(&p->mutex, NULL);
  pthread_mutex_init(&p->running, NULL);
  p->known_bad = vk_known_bad_read(env, &p->known_bad_bytes);
  return p->known_bad ? NULL : st_oom();
}

void vk_probe_clear(vk_probe *p) {
  al_free(p->env->al, p->known_bad, p->known_bad_bytes, 16);
  al_free_array(p->env->al, p->v, (size_t)p->cap);
  pthread_mutex_destroy(&p->running);
  pthread_mutex_destroy(&p->mutex);
}

/* ---- steps ---- */

bool vk_is_bad(vk_probe *p, const vk_id *id, const char *step, char why[128]) {
  char value[128];
  if (!vk_note_get(p, id, step, value) || strncmp(value, "bad ", 4)) return vk_known_bad(p->known_bad, id, step, why);
  snprintf(why, 128, "%s", value + 4);
  return true;
}

bool vk_may(vk_probe *p, const vk_id *id, const char *step, char why[128]) {
  if (vk_is_bad(p, id, step, why)) return false;
  if (!p->in_child) return true;
  p->now = *id;
  snprintf(p->now_step, sizeof p->now_step, "%s", step);
  printf("begin\t%s\t%s\n", id->key, step);
  fflush(stdout);
  return true;
}

void vk_did(vk_probe *p, const vk_id *id, const char *step, const char *value) {
  vk_note_set(p, id->key, step, value, true);
  if (p->in_child) printf("end\t%s\t%s\t%s\n", id->key, step, value), fflush(stdout);
}

tsr_status vk_must(vk_probe *p, const vk_id *id, const char *step) {
  char why[128];
  if (vk_may(p, id, step, why)) return NULL;
  const st_where where =
      ST_WHERE("vulkan", *id->name ? id->name : NULL, "`tessera cache clear` lets it be tried again; docs/vulkan.md");
  if (!*id->name)
    return st_make(p->env->al, TSR_UNAVAILABLE, where, "loading the Vulkan drivers failed in a self-test: %s", why);
  return st_make(p->env->al, TSR_UNAVAILABLE, where, "left out: step \"%s\" of its driver: %s", step, why);
}

tsr_status vk_must_all(vk_probe *p, const vk_id *id) {
  static const char *const steps[] = {"properties", "device", "kernel", "close"};
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) TSR_TRY(vk_must(p, id, steps[i]));
  return NULL;
}

/* ---- the process ---- */

typedef struct session {
  vk_probe *p;
  char key[17], step[96]; /* begun and not ended; "" = none */
  struct { char key[17], name[256], version[32]; int n_bad; char first[256]; } devices[MOST_DEVICES];
  int n_devices;
  bool any, done, again; /* again: it ended by itself, since a device was lost */
} session;

static char *next_part(char **at) {
  char *part = *at, *tab = strchr(part, '\t');
  *at = tab ? tab + 1 : part + strlen(part);
  if (tab) *tab = 0;
  return part;
}

static void note_device(session *s, const char *key, const char *name, const char *version) {
  for (int i = 0; i < s->n_devices; i++)
    if (!strcmp(s->devices[i].key, key)) return;
  if (s->n_devices == MOST_DEVICES) return;
  int i = s->n_devices++;
  snprintf(s->devices[i].key, sizeof s->devices[i].key, "%s", key);
  snprintf(s->devices[i].name, sizeof s->devices[i].name, "%s", name);
  snprintf(s->devices[i].version, sizeof s->devices[i].version, "%s", version);
}

static void on_line(void *user, const char *text) {
  session *s = user;
  char line[1024], *at = line;
  snprintf(line, sizeof line, "%s", text);
  const char *what = next_part(&at);
  s->any = true;
  if (!strcmp(what, "begin")) {
    snprintf(s->key, sizeof s->key, "%s", next_part(&at));
    snprintf(s->step, sizeof s->step, "%s", next_part(&at));
  } else if (!strcmp(what, "end")) {
    const char *key = next_part(&at), *step = next_part(&at);
    vk_note_set(s->p, key, step, at, true);
    *s->step = 0;
  } else if (!strcmp(what, "device")) {
    const char *key = next_part(&at), *name = next_part(&at);
    note_device(s, key, name, at);
  } else if (!strcmp(what, "log")) {
    int level = atoi(next_part(&at)); /* lesser ones this process says itself */
    if (!level) s->p->env->log(s->p->env->log_user, level, at);
  } else if (!strcmp(what, "again")) {
    s->again = true;
  } else if (!strcmp(what, "done")) {
    s->done = true;
  }
}

/* The step that was open is at fault. */
static void blame(session *s, int rc, int deadline_ms) {
  char how[64], value[128];
  if (rc == TSR_PROBE_HUNG) snprintf(how, sizeof how, "hung for %g s", deadline_ms * 1e-3);
  else if (rc < 0) snprintf(how, sizeof how, "crashed (signal %d)", -rc);
  else snprintf(how, sizeof how, "ended the process");
  snprintf(value, sizeof value, "bad %s", how);
  vk_note_set(s->p, s->key, s->step, value, true);
  for (int i = 0; i < s->n_devices; i++) {
    if (strcmp(s->devices[i].key, s->key)) continue;
    if (!s->devices[i].n_bad++)
      snprintf(s->devices[i].first, sizeof s->devices[i].first, "step \"%.100s\" %s", s->step, how);
    return;
  }
  char say[256];
  snprintf(say, sizeof say, "vulkan: a driver %s in a self-test when the drivers were loaded; they are left out", how);
  s->p->env->log(s->p->env->log_user, 1, say);
}

static void say_bad(const session *s) {
  for (int i = 0; i < s->n_devices; i++) {
    char others[64] = "", say[768];
    if (!s->devices[i].n_bad) continue;
    if (s->devices[i].n_bad > 1)
      snprintf(others, sizeof others, " (and %d other(s) failed so)", s->devices[i].n_bad - 1);
    snprintf(say, sizeof say, "vulkan: the self-test of %.200s, driver %s: %s%s: not used%s", s->devices[i].name,
             s->devices[i].version, s->devices[i].first, others,
             s->p->env->cache_dir ? "; kept in the cache until the driver changes" : "");
    s->p->env->log(s->p->env->log_user, 1, say);
  }
}

/* False: there is no such process, or it has come to its end. */
static bool run_once(session *s) {
  const be_env *env = s->p->env;
  char bad[MOST_RUNS][256];
  const char *argv[MOST_RUNS + 4] = {"tessera-probe", "vulkan", env->cache_dir ? env->cache_dir : ""};
  int n = 3, deadline_ms = (int)knob_int("TSR_VK_DEADLINE_MS");
  for (int i = 0; i < s->p->n && n < MOST_RUNS + 3; i++) /* found by runs before this one */
    if (s->p->v[i].fresh && !strncmp(s->p->v[i].value, "bad ", 4)) {
      snprintf(bad[n - 3], sizeof bad[0], "%s\t%s\t%s", s->p->v[i].key, s->p->v[i].step, s->p->v[i].value);
      argv[n] = bad[n - 3], n++;
    }
  *s->step = 0, s->again = false;
  int rc = env->probe(env->probe_user,
                      &(tsr_probe_call){.argv = argv, .deadline_ms = deadline_ms, .line = on_line, .user = s});
  if (s->again) return true;
  if (s->done || !s->any || rc == TSR_PROBE_NOT_STARTED || !*s->step) return false;
  blame(s, rc, deadline_ms);
  return true;
}

static void run_all(vk_probe *p) {
  session *s = al_new(p->env->al, session);
  if (!s) return;
  s->p = p;
  for (int run = 0; run < MOST_RUNS && run_once(s); run++) continue;
  if (!s->any) p->env->log(p->env->log_user, 2, "vulkan: no process to try drivers in; they are tried in this one");
  say_bad(s);
  vk_notes_save(p);
  al_delete(p->env->al, s);
}

void vk_probe_run(vk_probe *p) {
  if (p->in_child || !p->env->probe) return;
  pthread_mutex_lock(&p->running);
  if (!p->tried) run_all(p);
  p->tried = true;
  pthread_mutex_unlock(&p->running);
}

/* ---- the set of drivers ---- */

static uint64_t hash_folder(uint64_t h, const char *path) {
  DIR *d = opendir(path);
  uint64_t sum = 0; /* in no order */
  for (struct dirent *e; d && (e = readdir(d));) {
    struct stat st;
    if (*e->d_name == '.' || fstatat(dirfd(d), e->d_name, &st, 0)) continue;
    sum += hash_mix(hash_u64(hash_u64(hash_str(HASH_SEED, e->d_name), (uint64_t)st.st_size), (uint64_t)st.st_mtime));
  }
  if (d) closedir(d);
  return hash_u64(hash_str(h, path), sum);
}

static uint64_t hash_files(uint64_t h, const char *list) {
  char path[1024];
  for (struct stat st; *list; list += strspn(list, ":")) {
    size_t n = strcspn(list, ":");
    snprintf(path, sizeof path, "%.*s", (int)(n < 1000 ? n : 1000), list);
    if (!stat(path, &st)) h = hash_u64(hash_u64(h, (uint64_t)st.st_size), (uint64_t)st.st_mtime);
    list += n;
  }
  return h;
}

/* Variables that decide which drivers are loaded, and how they behave. */
static bool tells(const char *variable) {
  static const char *const prefixes[] = {"VK_",         "LD_",  "LP_",  "MESA_",        "GALLIUM_",
                                         "RADV_",       "ANV_", "NVK_", "TU_",          "XDG_DATA",
                                         "TSR_VK_HIDE", "__GL", "AMD_", "DISABLE_LAYER"};
  for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
    if (!strncmp(variable, prefixes[i], strlen(prefixes[i]))) return true;
  return false;
}

void vk_drivers_id(vk_id *out) {
  static const char *const folders[] = {"/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d", "/usr/local/share/vulkan/icd.d",
                                        "/usr/share/vulkan/implicit_layer.d", "/etc/vulkan/implicit_layer.d"};
  static const char *const lists[] = {"VK_DRIVER_FILES", "VK_ICD_FILENAMES", "VK_ADD_DRIVER_FILES"};
  uint64_t h = HASH_SEED, sum = 0;
  for (char **e = environ; e && *e; e++)
    if (tells(*e)) sum += hash_mix(hash_str(HASH_SEED, *e));
  h = hash_u64(h, sum);
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
    if (getenv(lists[i])) h = hash_files(h, getenv(lists[i]));
  for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) h = hash_folder(h, folders[i]);
  *out = (vk_id){.name = ""};
  snprintf(out->key, sizeof out->key, "%016llx", (unsigned long long)hash_mix(h));
}
