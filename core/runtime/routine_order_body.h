/* core/runtime/routine_order_body.h - items in order, for one width of keys: included once each with ITEM (a key with
 * its place), NEW (key, place), KEY, PLACE, BEFORE (of two items) and NAME defined. */

static void NAME(insert)(ITEM *x, int64_t n) {
  for (int64_t i = 1; i < n; i++) {
    const ITEM item = x[i];
    int64_t k = i;
    for (; k && BEFORE(item, x[k - 1]); k--) x[k] = x[k - 1];
    x[k] = item;
  }
}

/* One round of a radix sort: by digit d, of which count says how many items have each. */
static void NAME(by_digit)(const ITEM *x, ITEM *to, int64_t n, int d, uint32_t *count) {
  uint32_t start = 0;
  for (int k = 0; k < DIGITS; k++) {
    const uint32_t some = count[k];
    count[k] = start;
    start += some;
  }
  for (int64_t i = 0; i < n; i++) to[count[KEY(x[i]) >> (8 * d) & (DIGITS - 1)]++] = x[i];
}

/* The lowest byte of the key first: each round keeps the order of the one before. `spare` has room for n. */
static void NAME(in_order)(ITEM *x, ITEM *spare, int64_t n, int key_bytes) {
  if (n <= INSERTED) {
    NAME(insert)(x, n);
    return;
  }
  uint32_t count[8][DIGITS];
  ITEM *const first = x;
  memset(count, 0, sizeof *count * (size_t)key_bytes);
  for (int64_t i = 0; i < n; i++)
    for (int d = 0; d < key_bytes; d++) count[d][KEY(x[i]) >> (8 * d) & (DIGITS - 1)]++;
  for (int d = 0; d < key_bytes; d++) {
    if (count[d][KEY(x[0]) >> (8 * d) & (DIGITS - 1)] == (uint32_t)n) continue; /* they have it all */
    NAME(by_digit)(x, spare, n, d, count[d]);
    ITEM *swap = x;
    x = spare, spare = swap;
  }
  if (x != first) memcpy(first, x, sizeof *x * (size_t)n);
}

/* The places of a row's first k elements, in order. Those that come before the worst of k known ones are collected, and
 * put in order when there is no more room: an element that equals the worst comes behind it. */
static void NAME(first)(const order *q, const char *row, char *scratch, int32_t *to) {
  ITEM *x = (ITEM *)scratch, *spare = x + q->room;
  uint64_t keys[CHUNK], worst = 0;
  int64_t have = 0;
  bool full = false;
  for (int64_t i = 0; i < q->n; i += CHUNK) {
    const int64_t some = q->n - i < CHUNK ? q->n - i : CHUNK;
    keys_of(q, row + i * q->step, some, keys);
    for (int64_t j = 0; j < some; j++) {
      if (full && keys[j] >= worst) continue;
      if (have == q->room) {
        NAME(in_order)(x, spare, have, q->key_bytes);
        have = q->k, full = true, worst = KEY(x[have - 1]);
        if (keys[j] >= worst) continue;
      }
      x[have++] = NEW(keys[j], i + j);
    }
  }
  NAME(in_order)(x, spare, have, q->key_bytes);
  for (int64_t i = 0; i < q->k; i++) to[i] = (int32_t)PLACE(x[i]);
}
