/* Data movement over strips and 2-D blocks: copy with any strides, fill, iota. Included once per instruction set, after
 * vec_<isa>.h. */

/* Stage of a perfect shuffle of two vectors: lanes a0 b0 a1 b1 ... of the low or the high halves. VI_EVEN: the even
 * lanes of both. VI_EVEN_ODD: the even ones of a, the odd ones of b. */
#if VF == 4
#define VI_LO(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define VI_HI(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
#define VI_EVEN(a, b) __builtin_shufflevector(a, b, 0, 2, 4, 6)
#define VI_EVEN_ODD(a, b) __builtin_shufflevector(a, b, 0, 2, 5, 7)
#elif VF == 8
#define VI_LO(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define VI_HI(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#define VI_EVEN(a, b) __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14)
#define VI_EVEN_ODD(a, b) __builtin_shufflevector(a, b, 0, 2, 4, 6, 9, 11, 13, 15)
#else
#define VI_LO(a, b) __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define VI_HI(a, b) __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#define VI_EVEN(a, b) __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30)
#define VI_EVEN_ODD(a, b) __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 17, 19, 21, 23, 25, 27, 29, 31)
#endif

/* A group of smaller elements may be moved as one, wherever it lies. */
typedef uint16_t copy_u16 __attribute__((aligned(1), may_alias));
typedef uint32_t copy_u32 __attribute__((aligned(1), may_alias));
typedef uint64_t copy_u64 __attribute__((aligned(1), may_alias));
typedef int32_t copy_vi __attribute__((vector_size(VF * 4), aligned(1), may_alias));

/* Transposes a VF x VF block of 32-bit elements: log2(VF) perfect shuffles of the rows are a transpose. */
VINL void transpose_block32(int32_t *dst, ptrdiff_t dst_rs, const int32_t *src, ptrdiff_t src_rs) {
  vi r[VF], t[VF];
  CPUK_UNROLL
  for (int i = 0; i < VF; i++) r[i] = *(const copy_vi *)(src + i * src_rs);
  CPUK_UNROLL
  for (int s = 1; s < VF; s *= 2) {
    CPUK_UNROLL
    for (int i = 0; i < VF / 2; i++) {
      t[2 * i] = VI_LO(r[i], r[i + VF / 2]);
      t[2 * i + 1] = VI_HI(r[i], r[i + VF / 2]);
    }
    CPUK_UNROLL
    for (int i = 0; i < VF; i++) r[i] = t[i];
  }
  CPUK_UNROLL
  for (int i = 0; i < VF; i++) *(copy_vi *)(dst + i * dst_rs) = r[i];
}

/* dst[r * drs + c * dcs] = src[r * srs + c * scs], in blocks that fit L1 whatever the strides. */
#define COPY_STRIDED(T, name)                                                                                     \
  static void name(T *dst, ptrdiff_t drs, ptrdiff_t dcs, const T *src, ptrdiff_t srs, ptrdiff_t scs, size_t rows, \
                   size_t cols) {                                                                                 \
    for (size_t r0 = 0; r0 < rows; r0 += 32)                                                                      \
      for (size_t c0 = 0; c0 < cols; c0 += 32) {                                                                  \
        size_t r1 = rows - r0 < 32 ? rows : r0 + 32, c1 = cols - c0 < 32 ? cols : c0 + 32;                        \
        for (size_t r = r0; r < r1; r++)                                                                          \
          for (size_t c = c0; c < c1; c++)                                                                        \
            dst[(ptrdiff_t)r * drs + (ptrdiff_t)c * dcs] = src[(ptrdiff_t)r * srs + (ptrdiff_t)c * scs];          \
      }                                                                                                           \
  }
COPY_STRIDED(uint8_t, copy_strided8)
COPY_STRIDED(copy_u16, copy_strided16)
COPY_STRIDED(copy_u32, copy_strided32)
COPY_STRIDED(copy_u64, copy_strided64)

/* Elements 0, 2, .., 2 VF - 2: nothing beyond the last one is read. */
VINL vi copy_even(const copy_u32 *p) {
  return VI_EVEN_ODD(*(const copy_vi *)p, *(const copy_vi *)(p + VF - 1));
}

/* Every other 32-bit element of a line: the real or the imaginary parts of complex numbers. Nothing beyond the last one
 * is read. */
static void copy_even32(copy_u32 *dst, const copy_u32 *src, size_t n) {
  size_t i = 0;
  for (; i + VF <= n; i += VF) *(copy_vi *)(dst + i) = copy_even(src + 2 * i);
  for (; i < n; i++) dst[i] = src[2 * i];
}

/* Two lines as one of pairs. */
static void copy_pairs32(copy_u32 *dst, const copy_u32 *x, const copy_u32 *y, size_t n) {
  size_t i = 0;
  for (; i + VF <= n; i += VF) {
    const vi a = *(const copy_vi *)(x + i), b = *(const copy_vi *)(y + i);
    *(copy_vi *)(dst + 2 * i) = VI_LO(a, b);
    *(copy_vi *)(dst + 2 * i + VF) = VI_HI(a, b);
  }
  for (; i < n; i++) dst[2 * i] = x[i], dst[2 * i + 1] = y[i];
}

/* dst row-major, src column-major (element (r, c) at src[c * scs + r]), 32-bit elements. */
static void copy_transpose32(uint32_t *dst, ptrdiff_t drs, const uint32_t *src, ptrdiff_t scs, size_t rows,
                             size_t cols) {
  size_t rb = rows / VF * VF, cb = cols / VF * VF;
  for (size_t c = 0; c < cb; c += VF) {
    const uint32_t *s = src + (ptrdiff_t)c * scs, *ahead = c + VF < cb ? s + VF * scs : s;
    for (size_t r = 0; r < rb; r += VF) { /* along the source's rows; the next ones are fetched meanwhile */
      if (r % (64 / 4) == 0)
        for (int i = 0; i < VF; i++) __builtin_prefetch(ahead + i * scs + r, 0, 2);
      transpose_block32((int32_t *)dst + (ptrdiff_t)r * drs + (ptrdiff_t)c, drs, (const int32_t *)s + (ptrdiff_t)r,
                        scs);
    }
  }
  if (cb < cols) copy_strided32(dst + cb, drs, 1, src + (ptrdiff_t)cb * scs, 1, scs, rows, cols - cb);
  if (rb < rows) copy_strided32(dst + (ptrdiff_t)rb * drs, drs, 1, src + rb, 1, scs, rows - rb, cb);
}

/* Of 16 to 64 bytes: all of a row is loaded before any of it is stored. */
static void copy_short_rows(char *d, const char *s, ptrdiff_t dst_rs, ptrdiff_t src_rs, size_t rows, size_t bytes) {
  typedef int32_t part __attribute__((vector_size(16), aligned(1), may_alias));
  const size_t last = bytes - 16, second = bytes > 32 ? 16 : 0, third = bytes > 32 ? last - 16 : last;
  for (size_t r = 0; r < rows; r++, d += dst_rs, s += src_rs) {
    const part a = *(const part *)s, b = *(const part *)(s + second), c = *(const part *)(s + third),
               e = *(const part *)(s + last);
    *(part *)d = a;
    *(part *)(d + second) = b;
    *(part *)(d + third) = c;
    *(part *)(d + last) = e;
  }
}

/* Programs may name memory that overlaps. */
static void copy_rows(const cpuk_copy_args *p) {
  size_t row = p->cols * p->esize;
  char *d = p->dst;
  const char *s = p->src;
  const ptrdiff_t e = (ptrdiff_t)p->esize;
  if (p->dst_rs == (ptrdiff_t)p->cols && p->src_rs == p->dst_rs) {
    memmove(d, s, row * p->rows);
    return;
  }
  if (row >= 16 && row <= 64) {
    copy_short_rows(d, s, p->dst_rs * e, p->src_rs * e, p->rows, row);
    return;
  }
  for (ptrdiff_t r = 0; r < (ptrdiff_t)p->rows; r++) memmove(d + r * p->dst_rs * e, s + r * p->src_rs * e, row);
}

static void CPUK_FN(stream)(void *dst, const void *src, size_t bytes) {
  const size_t step = VF * sizeof(float);
  char *d = dst;
  const char *s = src;
  size_t head = (step - (uintptr_t)d % step) % step;
  if (head > bytes) head = bytes;
  memmove(d, s, head);
  size_t i = head;
  for (; i + 4 * step <= bytes; i += 4 * step)
    for (size_t j = 0; j < 4 * step; j += step)
      v_stream((float *)(void *)(d + i + j), v_load((const float *)(const void *)(s + i + j)));
  memmove(d + i, s + i, bytes - i);
}

static void CPUK_FN(stream_fence)(void) { v_stream_fence(); }

void CPUK_FN(copy2d)(const cpuk_copy_args *args) {
  cpuk_copy_args p = *args;
  if (p.rows == 0 || p.cols == 0) return;
  if (p.dst_cs != 1 && p.dst_rs == 1) { /* make the destination row-major */
    p = (cpuk_copy_args){args->dst,    args->src,  args->dst_cs, 1,          args->src_cs,
                         args->src_rs, args->cols, args->rows,   args->esize};
  }
  if (p.dst_cs == 1 && p.src_cs == 1) {
    copy_rows(&p);
    return;
  }
  if (p.esize == 4 && p.dst_cs == 1 && p.src_cs == 2) {
    for (ptrdiff_t r = 0; r < (ptrdiff_t)p.rows; r++)
      copy_even32((copy_u32 *)p.dst + r * p.dst_rs, (const copy_u32 *)p.src + r * p.src_rs, p.cols);
    return;
  }
  if (p.esize == 4 && p.dst_cs == 1 && p.dst_rs == 2 && p.src_rs == 1 && p.cols == 2) {
    copy_pairs32(p.dst, p.src, (const copy_u32 *)p.src + p.src_cs, p.rows);
    return;
  }
  if (p.esize == 4 && p.dst_cs == 1 && p.src_rs == 1 && p.src_cs != 0) {
    copy_transpose32(p.dst, p.dst_rs, p.src, p.src_cs, p.rows, p.cols);
    return;
  }
  switch (p.esize) {
    case 1: copy_strided8(p.dst, p.dst_rs, p.dst_cs, p.src, p.src_rs, p.src_cs, p.rows, p.cols); break;
    case 2: copy_strided16(p.dst, p.dst_rs, p.dst_cs, p.src, p.src_rs, p.src_cs, p.rows, p.cols); break;
    case 4: copy_strided32(p.dst, p.dst_rs, p.dst_cs, p.src, p.src_rs, p.src_cs, p.rows, p.cols); break;
    default: copy_strided64(p.dst, p.dst_rs, p.dst_cs, p.src, p.src_rs, p.src_cs, p.rows, p.cols); break;
  }
}

#define FILL_LOOP(T)                         \
  do {                                       \
    T x, *d = dst;                           \
    memcpy(&x, value, sizeof x);             \
    for (size_t i = 0; i < n; i++) d[i] = x; \
  } while (0)

void CPUK_FN(fill)(void *dst, const void *value, size_t esize, size_t n) {
  switch (esize) {
    case 1: FILL_LOOP(uint8_t); break;
    case 2: FILL_LOOP(uint16_t); break;
    case 4: FILL_LOOP(uint32_t); break;
    default: FILL_LOOP(uint64_t); break;
  }
}

void CPUK_FN(iota)(int32_t *dst, int32_t start, int32_t step, size_t n) {
  for (size_t i = 0; i < n; i++) dst[i] = (int32_t)((uint32_t)start + (uint32_t)step * (uint32_t)i);
}
