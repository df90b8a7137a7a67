/* backends/vulkan/probe.h - what is known of the drivers here: each step of using one is tried in a process of its own
 * first (be_env.probe), so that a crash or a hang costs that step alone. Outcomes are notes, kept in the cache by
 * device and driver: "ok", "ok RATES", "wrong WHY", "bad WHY" (crashed, hung). Steps: "instance" (of the machine's set
 * of drivers), "properties", "matrices", "device", "kernel", "words", "binaries", "cores", "clock", "close" and
 * "matrix ..." of a device. */
#ifndef BACKENDS_VULKAN_PROBE_H
#define BACKENDS_VULKAN_PROBE_H
#include <pthread.h>

#include "core/base/str.h"
#include "core/device/backend.h"

/* A device with its driver, or (name "") the machine's set of drivers. */
typedef struct vk_id {
  char key[17]; /* hash of all that tells them apart */
  char name[256], version[32];
} vk_id;

typedef struct vk_note {
  char key[17], step[96], value[128];
  bool fresh; /* not on disk */
} vk_note;

typedef struct vk_probe {
  const be_env *env;
  vk_note *v;
  int n, cap;
  char *known_bad; /* text of the user's list and of ours */
  size_t known_bad_bytes;
  bool tried;      /* the process has run, or can't be started */
  bool in_child;   /* this is that process: steps are announced, and nothing is written to disk */
  vk_id now;       /* the step that is announced and not done, for the child */
  char now_step[96];
  pthread_mutex_t mutex, running;
} vk_probe;

tsr_status vk_probe_init(vk_probe *p, const be_env *env);
void vk_probe_clear(vk_probe *p);

/* ---- notes.c ---- */
/* The outcome into value, which is then not ""; false: not known. */
bool vk_note_get(vk_probe *p, const vk_id *id, const char *step, char value[128]);
void vk_note_set(vk_probe *p, const char *key, const char *step, const char *value, bool fresh);
/* What the cache has of a device; once is enough. */
void vk_notes_load(vk_probe *p, const vk_id *id);
/* Of every device with fresh notes. */
void vk_notes_save(vk_probe *p);

/* ---- probe.c ---- */
/* Is something known against the step? why then has the reason. */
bool vk_is_bad(vk_probe *p, const vk_id *id, const char *step, char why[128]);
/* May the step be taken? If not, why has the reason. In the child it is announced. */
bool vk_may(vk_probe *p, const vk_id *id, const char *step, char why[128]);
/* It was taken. */
void vk_did(vk_probe *p, const vk_id *id, const char *step, const char *value);
/* vk_may, as TSR_UNAVAILABLE. */
tsr_status vk_must(vk_probe *p, const vk_id *id, const char *step);
/* Of the steps without which a device is of no use, once they were tried. */
tsr_status vk_must_all(vk_probe *p, const vk_id *id);
/* Runs the process, and again after each crash until it comes to its end; once a vk_probe. Without one nothing happens:
 * steps are then taken in this process. */
void vk_probe_run(vk_probe *p);
/* The set of drivers that the loader would see: variables of the environment, manifests and their times. */
void vk_drivers_id(vk_id *out);

/* ---- known_bad.c ---- */
/* The user's list and ours as one text, al's memory; a list that can't be read is said and left out. */
char *vk_known_bad_read(const be_env *env, size_t *bytes);
bool vk_known_bad(const char *list, const vk_id *id, const char *step, char why[128]);
#endif
