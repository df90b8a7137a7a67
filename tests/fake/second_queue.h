/* tests/fake/second_queue.h - a family of queues for transfers alone in front of lavapipe, which has one queue: copies
 * that are submitted to it are made by a thread of its own, after and before the semaphores of their submission, while
 * lavapipe computes. Knows timeline semaphores, vkCmdCopyBuffer between mapped buffers, timestamps, and one device
 * at a time. */
#ifndef TESTS_FAKE_SECOND_QUEUE_H
#define TESTS_FAKE_SECOND_QUEUE_H
#define VK_NO_PROTOTYPES
#include <vulkan/vulkan.h>

/* What takes the place of the driver's function of that name, NULL: the driver's own does. */
PFN_vkVoidFunction second_queue(const char *name);
/* Before the first of them is called. */
void second_queue_begin(PFN_vkGetInstanceProcAddr get, VkInstance instance);

#endif
