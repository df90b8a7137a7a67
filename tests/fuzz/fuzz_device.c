/* tests/fuzz/fuzz_device.c - libFuzzer target of device profiles (core/tune/profiles) and of the tuner's configurations
 * in text. */
#include "core/tune/device.h"
#include "core/tune/space.h"
#include "tests/fuzz/fuzz_check.h"

static void check_config(const char *text) {
  tune_config c, again;
  strb one;
  if (!tune_config_parse(text, &c)) return;
  strb_init(&one, NULL);
  tune_config_print(&c, &one);
  if (!tune_config_parse(strb_text(&one), &again) || memcmp(&c, &again, sizeof c))
    fuzz_die("a configuration does not come back", &one, NULL);
  strb_clear(&one);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tune_device d, again;
  char *text = malloc(size + 1);
  if (!text) return 0;
  memcpy(text, data, size);
  text[size] = 0;
  check_config(text);
  if (!fuzz_refused(tune_device_parse(text, "fuzz", &d))) {
    strb one, two;
    strb_init(&one, NULL);
    strb_init(&two, NULL);
    tune_device_print(&d, &one);
    fuzz_reads_back(tune_device_parse(strb_text(&one), "printed", &again), &one);
    tune_device_print(&again, &two);
    fuzz_same(&one, &two);
    strb_clear(&one);
    strb_clear(&two);
  }
  free(text);
  return 0;
}
