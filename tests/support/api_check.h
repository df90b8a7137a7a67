/* tests/support/api_check.h - for tests of the public interface: a call that must succeed, and an allocator that refuses after so many
 * calls and counts what is still held. Include after cmocka.h. */
#ifndef TESTS_SUPPORT_API_CHECK_H
#define TESTS_SUPPORT_API_CHECK_H
#include <stdbool.h>
#include <stdlib.h>

#include "tessera/tessera.h"

#define OK(e)                                                 \
  do {                                                        \
    tsr_status ok_ = (e);                                     \
    if (ok_) fail_msg("%s: %s", #e, tsr_status_message(ok_)); \
  } while (0)

typedef struct counting {
  long left, live;
} counting;

static inline void *count_alloc(void *user, size_t size, size_t align) {
  counting *c = user;
  void *p = NULL;
  if (__atomic_sub_fetch(&c->left, 1, __ATOMIC_RELAXED) < 0 || posix_memalign(&p, align < sizeof p ? sizeof p : align, size)) return NULL;
  __atomic_add_fetch(&c->live, 1, __ATOMIC_RELAXED);
  return p;
}

static inline void count_free(void *user, void *p, size_t size, size_t align) {
  __atomic_sub_fetch(&((counting *)user)->live, 1, __ATOMIC_RELAXED);
  free(p);
}

/* Runs `life` undisturbed, then with its first, second, ... allocation refused: each time out of memory, or success where `spared` says that some
 * can be done without, and never a leak. Returns how many there are. */
static inline long refuse_each_allocation(tsr_code (*life)(counting *), bool spared) {
  counting c = {.left = 1L << 40};
  assert_int_equal(life(&c), TSR_OK);
  assert_int_equal(c.live, 0);
  long needed = (1L << 40) - c.left;
  for (long i = 0; i < needed; i++) {
    c = (counting){.left = i};
    tsr_code code = life(&c);
    if (code != TSR_OUT_OF_MEMORY && !(spared && code == TSR_OK)) fail_msg("allocation %ld of %ld: %s", i, needed, tsr_code_name(code));
    if (c.live) fail_msg("allocation %ld of %ld: %ld blocks leak", i, needed, c.live);
  }
  return needed;
}
#endif
