/* backends/vulkan/notes.c - what was found out about drivers: notes in memory, and a text in the cache for each device,
 * a note a line, "STEP<TAB>VALUE". */
#include <stdio.h>
#include <string.h>

#include "backends/vulkan/vk.h"

/* To change when a self-test changes what it tries. */
enum { NOTES_VERSION = 8 };
#define LOADED "loaded" /* no step: the cache was read */

static vk_note *find(vk_probe *p, const char *key, const char *step) {
  for (int i = 0; i < p->n; i++)
    if (!strcmp(p->v[i].key, key) && !strcmp(p->v[i].step, step)) return &p->v[i];
  return NULL;
}

bool vk_note_get(vk_probe *p, const vk_id *id, const char *step, char value[128]) {
  pthread_mutex_lock(&p->mutex);
  const vk_note *note = find(p, id->key, step);
  snprintf(value, 128, "%s", note ? note->value : "");
  pthread_mutex_unlock(&p->mutex);
  return note != NULL;
}

/* Text without what would break the lines that it is written to. */
static void copy(char *to, size_t cap, const char *from) {
  snprintf(to, cap, "%s", from);
  for (char *c = to; *c; c++)
    if ((unsigned char)*c < 0x20) *c = ' ';
}

static bool grow(vk_probe *p) {
  if (p->n < p->cap) return true;
  int cap = p->cap ? 2 * p->cap : 32;
  vk_note *v = al_zalloc(p->env->al, sizeof *v * (size_t)cap);
  if (!v) return false;
  if (p->n) memcpy(v, p->v, sizeof *v * (size_t)p->n);
  al_free_array(p->env->al, p->v, (size_t)p->cap);
  p->v = v, p->cap = cap;
  return true;
}

void vk_note_set(vk_probe *p, const char *key, const char *step, const char *value, bool fresh) {
  pthread_mutex_lock(&p->mutex);
  vk_note *note = find(p, key, step);
  if (!note && grow(p)) {
    note = &p->v[p->n++];
    copy(note->key, sizeof note->key, key);
    copy(note->step, sizeof note->step, step);
  }
  if (note && strcmp(note->value, value)) { /* without memory it is found out again */
    copy(note->value, sizeof note->value, value);
    note->fresh = fresh;
  }
  pthread_mutex_unlock(&p->mutex);
}

static void name_of(const char *key, char *out, size_t cap) {
  snprintf(out, cap, "vulkan-notes-%d-%s.txt", NOTES_VERSION, key);
}

void vk_notes_load(vk_probe *p, const vk_id *id) {
  char name[64], line[256];
  size_t n = 0;
  if (vk_note_get(p, id, LOADED, line)) return;
  vk_note_set(p, id->key, LOADED, "yes", false);
  name_of(id->key, name, sizeof name);
  char *text = vk_cache_read(p->env, name, &n);
  for (size_t at = 0; text && at < n;) {
    const char *end = memchr(text + at, '\n', n - at);
    size_t len = end ? (size_t)(end - text) - at : n - at;
    if (len < sizeof line) {
      memcpy(line, text + at, len);
      line[len] = 0;
      char *tab = strchr(line, '\t');
      if (tab) {
        *tab = 0;
        pthread_mutex_lock(&p->mutex);
        bool known = find(p, id->key, line) != NULL; /* what was found since is newer */
        pthread_mutex_unlock(&p->mutex);
        if (!known) vk_note_set(p, id->key, line, tab + 1, false);
      }
    }
    at += len + 1;
  }
  if (text) al_free(p->env->al, text, n, 16);
}

void vk_notes_save(vk_probe *p) {
  char name[64];
  if (p->in_child || !p->env->cache_dir) return;
  pthread_mutex_lock(&p->mutex);
  for (int i = 0; i < p->n; i++) {
    if (!p->v[i].fresh) continue;
    strb text;
    strb_init(&text, p->env->al);
    for (int k = 0; k < p->n; k++) {
      vk_note *note = &p->v[k];
      if (strcmp(note->key, p->v[i].key) || !strcmp(note->step, LOADED)) continue;
      strb_printf(&text, "%s\t%s\n", note->step, note->value);
      if (k != i) note->fresh = false;
    }
    p->v[i].fresh = false;
    name_of(p->v[i].key, name, sizeof name);
    if (strb_ok(&text)) vk_cache_write(p->env, name, strb_text(&text), text.n);
    strb_clear(&text);
  }
  pthread_mutex_unlock(&p->mutex);
}
