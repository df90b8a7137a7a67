/* tests/support/api_check.h - for tests of the public interface: a call that must succeed, and an allocator that
 * refuses after so many calls and counts what is still held. Include after cmocka.h. */
#ifndef TESTS_SUPPORT_API_CHECK_H
#define TESTS_SUPPORT_API_CHECK_H
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tessera/tessera.h"

#define OK(e)                                                 \
  do {                                                        \
    tsr_status ok_ = (e);                                     \
    if (ok_) fail_msg("%s: %s", #e, tsr_status_message(ok_)); \
  } while (0)

typedef struct counting {
  long left, live;
} counting;

/* In front of each block, and again behind it: what free has to give back. */
typedef struct count_head {
  size_t size, align;
  uint64_t magic;
} count_head;
#define COUNT_MAGIC 0x7e55e7a0b10c0000u

static inline size_t count_room(size_t align) {
  return align < sizeof(count_head) ? (sizeof(count_head) + align - 1) / align * align : align;
}

static inline void *count_alloc(void *user, size_t size, size_t align) {
  counting *c = user;
  void *p = NULL;
  if (align < sizeof p) align = sizeof p;
  size_t room = count_room(align);
  if (size > SIZE_MAX / 2 || __atomic_sub_fetch(&c->left, 1, __ATOMIC_RELAXED) < 0 ||
      posix_memalign(&p, align, room + size + sizeof(count_head)))
    return NULL;
  count_head h = {size, align, COUNT_MAGIC};
  char *at = (char *)p + room;
  memcpy(at - sizeof h, &h, sizeof h);
  memcpy(at + size, &h, sizeof h);
  __atomic_add_fetch(&c->live, 1, __ATOMIC_RELAXED);
  return at;
}

/* The process ends where a block was written past its end or is freed with another size or alignment than it was asked
 * for: any thread may be here. */
static inline void count_free(void *user, void *p, size_t size, size_t align) {
  count_head before, behind;
  if (align < sizeof p) align = sizeof p;
  memcpy(&before, (char *)p - sizeof before, sizeof before);
  if (before.magic != COUNT_MAGIC || before.size != size || before.align != align) {
    fprintf(stderr, "a block of %zu bytes aligned to %zu is freed as %zu aligned to %zu\n", before.size, before.align,
            size, align);
    abort();
  }
  memcpy(&behind, (char *)p + size, sizeof behind);
  if (memcmp(&before, &behind, sizeof before)) {
    fprintf(stderr, "a block of %zu bytes was written past its end\n", size);
    abort();
  }
  memset((char *)p - sizeof before, 0, sizeof before); /* a second free is found too */
  __atomic_sub_fetch(&((counting *)user)->live, 1, __ATOMIC_RELAXED);
  free((char *)p - count_room(align));
}

/* Runs `life` undisturbed, then with its first, second, ... allocation refused: each time out of memory, or success
 * where `spared` says that some can be done without, and never a leak. Returns how many there are. */
static inline long refuse_each_allocation(tsr_code (*life)(counting *), bool spared) {
  counting c = {.left = 1L << 40};
  assert_int_equal(life(&c), TSR_OK);
  assert_int_equal(c.live, 0);
  long needed = (1L << 40) - c.left;
  for (long i = 0; i < needed; i++) {
    c = (counting){.left = i};
    tsr_code code = life(&c);
    if (code != TSR_OUT_OF_MEMORY && !(spared && code == TSR_OK))
      fail_msg("allocation %ld of %ld: %s", i, needed, tsr_code_name(code));
    if (c.live) fail_msg("allocation %ld of %ld: %ld blocks leak", i, needed, c.live);
  }
  return needed;
}
#endif
