/* examples/vulkan_embed.c - inside an application that owns Vulkan: its instance, device and queue, its buffers, its
 * timeline semaphore. The library multiplies two matrices between values 1 and 2 of that semaphore; the application
 * never waits for the queue, only for its own semaphore. Exit status 77 when there is no Vulkan 1.3 device. */
#define VK_NO_PROTOTYPES
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tessera/tessera.h>
#include <tessera/vulkan.h>
#include <vulkan/vulkan.h>

enum { N = 64 };

static void check(tsr_status s) {
  if (!s) return;
  fprintf(stderr, "%s\n", tsr_status_message(s));
  exit(1);
}
#define VK(call)                                                      \
  do {                                                                \
    VkResult r_ = (call);                                             \
    if (r_ != VK_SUCCESS) fprintf(stderr, #call ": %d\n", (int)r_), exit(1); \
  } while (0)

/* The entry points this program uses, found in the loader. */
#define ENTRY_POINTS(X) \
  X(vkEnumeratePhysicalDevices) X(vkGetPhysicalDeviceProperties) X(vkGetPhysicalDeviceMemoryProperties) X(vkCreateDevice) \
  X(vkGetDeviceQueue) X(vkCreateBuffer) X(vkGetBufferMemoryRequirements) X(vkAllocateMemory) X(vkBindBufferMemory) X(vkMapMemory) \
  X(vkCreateSemaphore) X(vkSignalSemaphore) X(vkWaitSemaphores) X(vkDestroySemaphore) X(vkDestroyBuffer) X(vkFreeMemory) \
  X(vkDestroyDevice) X(vkDestroyInstance)
#define DECLARE(name) static PFN_##name name;
ENTRY_POINTS(DECLARE)

typedef struct app {
  VkInstance instance;
  VkPhysicalDevice physical;
  VkDevice device;
  VkQueue queue;
  VkSemaphore timeline;
  int locks; /* how often the library took the queue */
} app;

static void skip(const char *why) {
  printf("skipped: %s\n", why);
  exit(77);
}

static const VkPhysicalDeviceVulkan12Features features12 = {.sType =
                                                                VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                                                            .bufferDeviceAddress = VK_TRUE,
                                                            .timelineSemaphore = VK_TRUE,
                                                            .vulkanMemoryModel = VK_TRUE};
static const VkPhysicalDeviceVulkan13Features features13 = {.sType =
                                                                VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES,
                                                            .pNext = (void *)&features12,
                                                            .synchronization2 = VK_TRUE,
                                                            .maintenance4 = VK_TRUE};
static const VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                                   .pNext = (void *)&features13,
                                                   .features = {.shaderInt64 = VK_TRUE}};

static void open_vulkan(app *a) {
  void *lib = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!lib) skip("no Vulkan loader");
  PFN_vkGetInstanceProcAddr get;
  *(void **)&get = dlsym(lib, "vkGetInstanceProcAddr");
  PFN_vkCreateInstance create = (PFN_vkCreateInstance)get(NULL, "vkCreateInstance");
  VkApplicationInfo about = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                             .pApplicationName = "vulkan_embed",
                             .apiVersion = VK_API_VERSION_1_3};
  if (create(&(VkInstanceCreateInfo){.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &about}, NULL,
             &a->instance) != VK_SUCCESS)
    skip("no Vulkan driver");
#define LOAD(name) name = (PFN_##name)get(a->instance, #name);
  ENTRY_POINTS(LOAD)
  uint32_t n = 1;
  VkResult r = vkEnumeratePhysicalDevices(a->instance, &n, &a->physical);
  if ((r != VK_SUCCESS && r != VK_INCOMPLETE) || !n) skip("no Vulkan device");
  VkPhysicalDeviceProperties p;
  vkGetPhysicalDeviceProperties(a->physical, &p);
  if (p.apiVersion < VK_API_VERSION_1_3) skip("the device is older than Vulkan 1.3");
  float priority = 1;
  VkDeviceQueueCreateInfo q = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                               .queueFamilyIndex = 0,
                               .queueCount = 1,
                               .pQueuePriorities = &priority};
  VK(vkCreateDevice(a->physical,
                    &(VkDeviceCreateInfo){.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                          .pNext = &features,
                                          .queueCreateInfoCount = 1,
                                          .pQueueCreateInfos = &q},
                    NULL, &a->device));
  vkGetDeviceQueue(a->device, 0, 0, &a->queue);
  VkSemaphoreTypeCreateInfo timeline = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                        .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
  VK(vkCreateSemaphore(a->device,
                       &(VkSemaphoreCreateInfo){.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &timeline},
                       NULL, &a->timeline));
}

typedef struct own_buffer { VkBuffer vk; VkDeviceMemory memory; float *host; } own_buffer;

static own_buffer make_buffer(app *a, size_t bytes) {
  own_buffer b;
  VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = bytes,
                             .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT};
  VK(vkCreateBuffer(a->device, &info, NULL, &b.vk));
  VkMemoryRequirements need;
  VkPhysicalDeviceMemoryProperties mem;
  vkGetBufferMemoryRequirements(a->device, b.vk, &need);
  vkGetPhysicalDeviceMemoryProperties(a->physical, &mem);
  uint32_t type = 0, want = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  while (type + 1 < mem.memoryTypeCount &&
         (!(need.memoryTypeBits & 1u << type) || (mem.memoryTypes[type].propertyFlags & want) != want))
    type++;
  VkMemoryAllocateFlagsInfo flags = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                     .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT};
  VK(vkAllocateMemory(a->device,
                      &(VkMemoryAllocateInfo){.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                              .pNext = &flags,
                                              .allocationSize = need.size,
                                              .memoryTypeIndex = type},
                      NULL, &b.memory));
  VK(vkBindBufferMemory(a->device, b.vk, b.memory, 0));
  VK(vkMapMemory(a->device, b.memory, 0, VK_WHOLE_SIZE, 0, (void **)&b.host));
  return b;
}

static void lock(void *user) { ((app *)user)->locks++; }
static void unlock(void *user) {}

static tsr_program *build(tsr_context *ctx, tsr_device *dev) {
  tsr_graph *g;
  tsr_program *p;
  tsr_value x, y, v;
  check(tsr_graph_create(ctx, "main", &g));
  check(tsr_graph_input(g, "X", TSR_F32, (tsr_shape){2, {N, N}}, &x));
  check(tsr_graph_input(g, "Y", TSR_F32, (tsr_shape){2, {N, N}}, &y));
  check(tsr_graph_op(g, "matmul", (tsr_value[]){x, y}, 2, NULL, 0, &v));
  check(tsr_graph_output(g, v));
  check(tsr_program_compile(dev, g, NULL, &p));
  tsr_graph_destroy(&g);
  return p;
}

int main(void) {
  app a = {0};
  open_vulkan(&a);
  own_buffer b[3];
  for (int i = 0; i < 3; i++) b[i] = make_buffer(&a, N * N * sizeof(float));

  tsr_context *ctx;
  tsr_device *dev;
  tsr_stream *stream;
  tsr_buffer *t[3];
  check(tsr_context_create(NULL, &ctx));
  tsr_vulkan_import import = {.instance = a.instance,
                              .physical_device = a.physical,
                              .device = a.device,
                              .queue = a.queue,
                              .queue_family = 0,
                              .lock = lock,
                              .unlock = unlock,
                              .user = &a,
                              .features = &features};
  check(tsr_device_import(ctx, "vulkan", &import, &dev));
  check(tsr_stream_create(dev, 0, &stream));
  for (int i = 0; i < 3; i++)
    check(tsr_buffer_import(dev, &(tsr_vulkan_buffer){.buffer = (uint64_t)b[i].vk, .host = b[i].host},
                            N * N * sizeof(float), &t[i]));
  tsr_program *program = build(ctx, dev);

  /* Work is queued before its inputs exist: it waits for value 1 of our semaphore and ends with value 2. */
  check(tsr_stream_wait_external(stream, &(tsr_vulkan_semaphore){(uint64_t)a.timeline, 1}));
  check(tsr_program_run(program, stream, (tsr_binding[]){{t[0], 0}, {t[1], 0}}, &(tsr_binding){t[2], 0}));
  check(tsr_stream_signal_external(stream, &(tsr_vulkan_semaphore){(uint64_t)a.timeline, 2}));
  for (int i = 0; i < N * N; i++) b[0].host[i] = (float)(i % 7 - 3), b[1].host[i] = (float)(i % 5 - 2);
  VK(vkSignalSemaphore(
      a.device,
      &(VkSemaphoreSignalInfo){.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, .semaphore = a.timeline, .value = 1}));
  VK(vkWaitSemaphores(a.device,
                      &(VkSemaphoreWaitInfo){.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                             .semaphoreCount = 1,
                                             .pSemaphores = &a.timeline,
                                             .pValues = (const uint64_t[]){2}},
                      UINT64_MAX));

  int wrong = 0;
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      float want = 0;
      for (int k = 0; k < N; k++) want += b[0].host[i * N + k] * b[1].host[k * N + j];
      wrong += b[2].host[i * N + j] != want;
    }
  printf("%d of %d elements wrong, queue taken %d times\n", wrong, N * N, a.locks);

  tsr_program_destroy(&program);
  for (int i = 0; i < 3; i++) tsr_buffer_destroy(&t[i]);
  tsr_stream_destroy(&stream);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
  for (int i = 0; i < 3; i++) vkDestroyBuffer(a.device, b[i].vk, NULL), vkFreeMemory(a.device, b[i].memory, NULL);
  vkDestroySemaphore(a.device, a.timeline, NULL);
  vkDestroyDevice(a.device, NULL);
  vkDestroyInstance(a.instance, NULL);
  return wrong || !a.locks;
}
