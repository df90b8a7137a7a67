/* tests/support/random_indexed.c - random graphs of ops that move elements by indices. */
#include "core/base/dtype.h"
#include "tests/support/random_build.h"

/* Rows written into a cache, or round it, some of them before its begin or behind its end; what else reads the cache
 * keeps the kernel from writing in place. */
static void random_cache(build *b) {
  const bool wide = rng_range(b->r, 0, 1);
  const tsr_dtype t = rng_range(b->r, 0, 2) ? float_type(b->r) : integer_type(b->r), it = wide ? TSR_I64 : TSR_I32;
  tsr_shape s = random_shape(b->r, (int)rng_range(b->r, 1, 4), 4000), u = s, i = {.rank = 0};
  const int axis = (int)rng_range(b->r, 0, s.rank - 1);
  u.dims[axis] = rng_range(b->r, 0, s.dims[axis]);
  if (axis && rng_range(b->r, 0, 1)) i = (tsr_shape){1, {s.dims[0]}};
  const tsr_attr a[2] = {TSR_INT("axis", axis), TSR_BOOLEAN("ring", rng_range(b->r, 0, 1))};
  const int64_t wide_bound = s.dims[axis] + 2;
  const int32_t narrow_bound = (int32_t)wide_bound;
  tsr_value v[3] = {input(b, t, s), input(b, t, u), input(b, it, i)}, bound = 0;
  if (!b->st)
    b->st =
        tsr_graph_constant(b->g, it, (tsr_shape){.rank = 0}, wide ? (const void *)&wide_bound : &narrow_bound, &bound);
  v[2] = op2(b, "rem", v[2], bound);
  for (int n = (int)rng_range(b->r, 1, 2); n > 0; n--) { /* the second one writes into what the first one did */
    const tsr_value y = op(b, "cache_update", 3, v, 2, a);
    if (n == 1) output(b, y);
    if (dtype_is_float(t) && rng_range(b->r, 0, 3) == 0) output(b, op1(b, "neg", rng_range(b->r, 0, 1) ? y : v[0]));
    v[0] = y;
  }
}

/* Gathers and scatters with indices of either sign, of which some lie outside and many meet. */
void random_indexed(build *b) {
  if (rng_range(b->r, 0, 4) == 0) {
    random_cache(b);
    return;
  }
  const bool wide = rng_range(b->r, 0, 1), scatters = rng_range(b->r, 0, 1);
  const tsr_dtype t = rng_range(b->r, 0, 2) ? float_type(b->r) : integer_type(b->r), it = wide ? TSR_I64 : TSR_I32;
  tsr_shape s = random_shape(b->r, (int)rng_range(b->r, 1, 4), 4000), i = s, u;
  const int axis = (int)rng_range(b->r, 0, s.rank - 1), form = (int)rng_range(b->r, 0, 2);
  tsr_value v[3], bound = 0;
  int64_t most = s.dims[axis] + 2;
  if (form == 0) i.dims[axis] = extent(b->r) / 4; /* an index for each element */
  u = i;
  if (form == 1) { /* rows of indices */
    const int batch = (int)rng_range(b->r, 0, s.rank - 1), n = (int)rng_range(b->r, 1, s.rank - batch);
    i.rank = batch + 2;
    i.dims[batch] = rng_range(b->r, 1, 40), i.dims[batch + 1] = n;
    u.rank = batch + 1 + s.rank - batch - n;
    u.dims[batch] = i.dims[batch];
    for (int d = batch + n; d < s.rank; d++) u.dims[d - n + 1] = s.dims[d];
    most = s.dims[batch] + 2;
  }
  if (form == 2) i = random_shape(b->r, (int)rng_range(b->r, 0, 2), 40);
  v[0] = input(b, t, s);
  if (rng_range(b->r, 0, 2) == 0) { /* a view of the table */
    tsr_attr none = {0};
    v[0] = op(b, "transpose", 1, &v[0], 0, &none);
    v[0] = op(b, "transpose", 1, &v[0], 0, &none);
  }
  v[1] = input(b, it, i);
  const int64_t wide_bound = most;
  const int32_t narrow_bound = (int32_t)most;
  if (!b->st)
    b->st =
        tsr_graph_constant(b->g, it, (tsr_shape){.rank = 0}, wide ? (const void *)&wide_bound : &narrow_bound, &bound);
  v[1] = op2(b, "rem", v[1], bound);
  if (scatters && form < 2) {
    v[2] = input(b, t, u);
    tsr_attr a[2] = {form ? (tsr_attr)TSR_INT("batch_dims", i.rank - 2) : (tsr_attr)TSR_INT("axis", axis),
                     TSR_STRING("reduction", "add")};
    const bool adds = rng_range(b->r, 0, 1);
    output(b, op(b, form ? "scatter_nd" : adds ? "scatter_add" : "scatter", 3, v, form && adds ? 2 : 1, a));
  } else {
    tsr_attr a = form == 1 ? (tsr_attr)TSR_INT("batch_dims", i.rank - 2) : (tsr_attr)TSR_INT("axis", axis);
    tsr_value y = form == 2 && s.rank == 2 && axis == 0
                      ? op2(b, "embedding", v[0], v[1])
                      : op(b, form == 0 ? "gather_elements" : form == 1 ? "gather_nd" : "gather", 2, v, 1, &a);
    output(b, y);
    if (dtype_is_float(t) && rng_range(b->r, 0, 1)) output(b, op1(b, "neg", y));
  }
}
