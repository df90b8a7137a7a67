/* tests/fake/pipeline_binaries.h - VK_KHR_pipeline_binary in front of lavapipe, which lacks it, where TSR_TEST_VK_FAULT
 * is "HOW:binaries". A pipeline has two binaries of a few bytes, which say for which shader they are; what is made from
 * them is compiled all the same, and refused where they are of another shader. HOW is tell, refuse (data of earlier
 * binaries is not taken), own (the driver would rather keep pipelines itself) or other (another global key). Each
 * pipeline is told on standard error: "fake driver: compiled" or "fake driver: from binaries"; binaries that live
 * longer than their device: "fake driver: binaries are left". One device at a time. */
#ifndef TESTS_FAKE_PIPELINE_BINARIES_H
#define TESTS_FAKE_PIPELINE_BINARIES_H
#define VK_NO_PROTOTYPES
#include <vulkan/vulkan.h>

/* What takes the place of the driver's function of that name, NULL: the driver's own does. */
PFN_vkVoidFunction pipeline_binaries(const char *name);
/* Before the first of them is called. */
void pipeline_binaries_begin(PFN_vkGetInstanceProcAddr get, VkInstance instance);

#endif
