/* A profile outlives what was stepped into it: programs and devices that are gone, others that are where these were,
 * and more of them than a few. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tessera/profile.h"
#include "tests/support/api_check.h"

static tsr_context *ctx;
static tsr_device *dev;

static int set_up(void **state) {
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx));
  OK(tsr_device_open(ctx, "cpu:0", &dev));
  return 0;
}

static int tear_down(void **state) {
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
  return 0;
}

/* op(A) of one operand, or A A for "matmul", stepped once; the program is gone afterwards. */
static void step(tsr_profile *prof, tsr_device *on, const char *op, tsr_dtype t) {
  const size_t bytes = 16 * 16 * 4;
  tsr_graph *g;
  tsr_program *p;
  tsr_buffer *x, *y;
  tsr_value v[2];
  OK(tsr_graph_create(ctx, "main", &g));
  OK(tsr_graph_input(g, "A", t, (tsr_shape){2, {16, 16}}, &v[0]));
  v[1] = v[0];
  OK(tsr_graph_op(g, op, v, strcmp(op, "matmul") ? 1 : 2, NULL, 0, &v[0]));
  OK(tsr_graph_output(g, v[0]));
  OK(tsr_program_compile(on, g, NULL, &p));
  OK(tsr_buffer_create(on, bytes, TSR_MEMORY_DEVICE, &x));
  OK(tsr_buffer_create(on, bytes, TSR_MEMORY_DEVICE, &y));
  OK(tsr_profile_step(prof, p, NULL, &(tsr_binding){x, 0}, &(tsr_binding){y, 0}));
  tsr_buffer_destroy(&x);
  tsr_buffer_destroy(&y);
  tsr_program_destroy(&p);
  tsr_graph_destroy(&g);
}

static int points(const tsr_profile *prof, const char *says) {
  char *text;
  int failed, found;
  OK(tsr_profile_check(prof, false, false, &text, &failed));
  found = strstr(text, says) != NULL;
  tsr_text_free(ctx, &text);
  return found;
}

static void programs_that_are_gone_stay_told(void **state) {
  tsr_profile *prof;
  char *text;
  OK(tsr_profile_create(ctx, &prof));
  step(prof, dev, "exp", TSR_F32);
  assert_false(points(prof, "bf16 in, f32 sum"));
  step(prof, dev, "matmul", TSR_BF16); /* likely where the other one was */
  assert_true(points(prof, "bf16 in, f32 sum"));
  OK(tsr_profile_text(prof, true, &text));
  assert_non_null(strstr(text, "Exp"));
  assert_non_null(strstr(text, "MatMul"));
  tsr_text_free(ctx, &text);
  tsr_profile_destroy(&prof);
}

static void every_program_is_in_the_audit(void **state) {
  enum { MANY = 150 };
  tsr_profile *prof;
  OK(tsr_profile_create(ctx, &prof));
  for (int i = 0; i < MANY; i++) step(prof, dev, i % 2 ? "exp" : "neg", TSR_F32);
  step(prof, dev, "matmul", TSR_BF16);
  assert_true(points(prof, "bf16 in, f32 sum"));
  tsr_profile_destroy(&prof);
}

/* Rates and counts are of the device itself, not of its address. */
static void devices_that_are_gone_are_other_devices(void **state) {
  tsr_profile *prof;
  OK(tsr_profile_create(ctx, &prof));
  for (int i = 0; i < 3; i++) {
    tsr_device *d;
    OK(tsr_device_open(ctx, "cpu:0", &d));
    step(prof, d, "exp", TSR_F32);
    tsr_device_close(&d);
  }
  assert_true(points(prof, "unknown  Overlap communication with compute")); /* as for any profile of several devices */
  tsr_profile_destroy(&prof);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(programs_that_are_gone_stay_told),
                                     cmocka_unit_test(every_program_is_in_the_audit),
                                     cmocka_unit_test(devices_that_are_gone_are_other_devices)};
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
