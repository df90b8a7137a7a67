/* tests/support/recorded.h - the recorded Vulkan devices (tests/vulkan), by name. */
#ifndef TESTS_SUPPORT_RECORDED_H
#define TESTS_SUPPORT_RECORDED_H
#include "core/device/caps.h"

typedef struct recorded_device {
  char name[64]; /* of its file, without .json */
  char device[96], vulkan[8];
  tsr_caps caps;
} recorded_device;

/* All of them, read once; ends the program with the message of one that can't be read. */
const recorded_device *recorded_devices(int *n);
/* Ends the program where there is none of that name. */
const tsr_caps *recorded_caps(const char *name);
/* What is wrong with how a file says where its figures are from; NULL: nothing. Static memory. */
const char *recorded_sources(const char *name);
#endif
