/* A device of the application (tessera/vulkan.h), seen from its loader: what the library creates there and what it
 * leaves alone, which queue it uses and under which lock, which features; also when the driver lies about a matrix
 * shape. The application's entry points go through wrappers that count, its instance has the validation layers where
 * they are installed. */
#define VK_NO_PROTOTYPES
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RTLD_NEXT */
#endif
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <vulkan/vulkan.h>

#include "backends/vulkan/vk_newer.h"
#include "tessera/vulkan.h"
#include "tests/support/api_check.h"

/* ---- the application --------------------------------------------------------------------------------------------- */

static PFN_vkGetInstanceProcAddr loader;
static PFN_vkGetDeviceProcAddr real_device_address;
static struct app {
  VkInstance instance;
  VkDebugUtilsMessengerEXT messenger;
  VkPhysicalDevice physical;
  VkDevice device;
  VkQueue queue;
} app;
static int n_messages, depth, locks, submits, outside_lock, other_queue, created;
static char forbidden[256]; /* the last entry point called that must not be */

#define REAL(name) ((PFN_##name)loader(app.instance, #name))
#define VK(call) assert_int_equal(call, VK_SUCCESS)

static VkBool32 VKAPI_PTR on_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                     VkDebugUtilsMessageTypeFlagsEXT types,
                                     const VkDebugUtilsMessengerCallbackDataEXT *data, void *user) {
  n_messages++;
  print_error("%s\n", data->pMessage);
  return VK_FALSE;
}

static void lock(void *user) { depth++, locks++; }
static void unlock(void *user) { depth--; }

/* The library is linked into this program, so its threads are made and joined here; the driver's are not. */
static int n_threads, threads_made;
int pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*run)(void *), void *arg) {
  int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
  *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
  __atomic_add_fetch(&n_threads, 1, __ATOMIC_RELAXED);
  __atomic_add_fetch(&threads_made, 1, __ATOMIC_RELAXED);
  return real(t, attr, run, arg);
}

int pthread_join(pthread_t t, void **result) {
  int (*real)(pthread_t, void **);
  *(void **)&real = dlsym(RTLD_NEXT, "pthread_join");
  __atomic_sub_fetch(&n_threads, 1, __ATOMIC_RELAXED);
  return real(t, result);
}

/* ---- wrappers ---------------------------------------------------------------------------------------------------- */

/* What an imported device may be asked to make; all other calls that make or own something fail here and are
 * remembered. */
static const char *const allowed[] = {"vkCreateBuffer",           "vkAllocateMemory",         "vkCreateShaderModule",
                                      "vkCreateComputePipelines", "vkCreatePipelineLayout",   "vkCreatePipelineCache",
                                      "vkCreateCommandPool",      "vkAllocateCommandBuffers", "vkCreateQueryPool",
                                      "vkCreateSemaphore"};
static const char *const watched[] = {"vkCreate",         "vkAllocate",       "vkGetDeviceQueue",
                                      "vkDeviceWaitIdle", "vkQueue",          "vkEnumeratePhysicalDevice",
                                      "vkDestroyDevice",  "vkDestroyInstance"};

static VkResult refuse(void) {
  snprintf(forbidden, sizeof forbidden, "a call that creates, waits for or takes what is the application's");
  return VK_ERROR_FEATURE_NOT_PRESENT;
}

static bool is_watched(const char *name) {
  for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++)
    if (!strcmp(name, allowed[i])) return false;
  for (size_t i = 0; i < sizeof watched / sizeof *watched; i++)
    if (!strncmp(name, watched[i], strlen(watched[i]))) return true;
  return false;
}

static PFN_vkQueueSubmit2 real_submit;
static VkResult VKAPI_PTR submit(VkQueue q, uint32_t n, const VkSubmitInfo2 *info, VkFence fence) {
  submits++;
  outside_lock += depth != 1;
  other_queue += q != app.queue;
  return real_submit(q, n, info, fence);
}

static PFN_vkCreateBuffer real_buffer;
static VkResult VKAPI_PTR create_buffer(VkDevice d, const VkBufferCreateInfo *info, const VkAllocationCallbacks *al,
                                        VkBuffer *out) {
  created++;
  return real_buffer(d, info, al, out);
}

/* A driver whose matrix product leaves the sum as it was: OpCooperativeMatrixMulAddKHR becomes a copy of its third
 * operand. */
static bool lies;
static PFN_vkCreateShaderModule real_module;
static VkResult VKAPI_PTR create_module(VkDevice d, const VkShaderModuleCreateInfo *info,
                                        const VkAllocationCallbacks *al, VkShaderModule *out) {
  enum { MUL_ADD = 4459, COPY_OBJECT = 83, NOP = 0 };
  if (!lies) return real_module(d, info, al, out);
  uint32_t *w = test_malloc(info->codeSize);
  memcpy(w, info->pCode, info->codeSize);
  for (size_t i = 5, n = 0; i < info->codeSize / 4; i += n) {
    n = w[i] >> 16;
    if ((w[i] & 0xffff) != MUL_ADD) continue;
    w[i + 3] = w[i + 5];
    w[i] = 4 << 16 | COPY_OBJECT;
    for (size_t k = 4; k < n; k++) w[i + k] = 1 << 16 | NOP;
  }
  VkShaderModuleCreateInfo changed = *info;
  changed.pCode = w;
  VkResult r = real_module(d, &changed, al, out);
  test_free(w);
  return r;
}

static PFN_vkVoidFunction wrap(const char *name, PFN_vkVoidFunction real) {
  if (!real) return NULL;
  if (!strcmp(name, "vkQueueSubmit2")) return real_submit = (PFN_vkQueueSubmit2)real, (PFN_vkVoidFunction)submit;
  if (!strcmp(name, "vkCreateBuffer")) return real_buffer = (PFN_vkCreateBuffer)real, (PFN_vkVoidFunction)create_buffer;
  if (!strcmp(name, "vkCreateShaderModule"))
    return real_module = (PFN_vkCreateShaderModule)real, (PFN_vkVoidFunction)create_module;
  return is_watched(name) ? (PFN_vkVoidFunction)refuse : real;
}

static PFN_vkVoidFunction VKAPI_PTR device_address(VkDevice d, const char *name) {
  return wrap(name, real_device_address(d, name));
}
static PFN_vkVoidFunction VKAPI_PTR instance_address(VkInstance in, const char *name) {
  if (!strcmp(name, "vkGetDeviceProcAddr")) return (PFN_vkVoidFunction)device_address;
  if (!strcmp(name, "vkGetInstanceProcAddr")) return (PFN_vkVoidFunction)instance_address;
  return wrap(name, loader(in, name));
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static VkPhysicalDeviceVulkan12Features v12 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                                               .bufferDeviceAddress = VK_TRUE,
                                               .timelineSemaphore = VK_TRUE,
                                               .vulkanMemoryModel = VK_TRUE};
static VkPhysicalDeviceVulkan13Features v13 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES,
                                               .pNext = &v12,
                                               .synchronization2 = VK_TRUE,
                                               .maintenance4 = VK_TRUE};
static VkPhysicalDeviceVulkan11Features v11 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES,
                                               .pNext = &v13};
static VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrix = {
    .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR,
    .pNext = &v11,
    .cooperativeMatrix = VK_TRUE};
static VkPhysicalDeviceFeatures2 features = {
    .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &v11, .features = {.shaderInt64 = VK_TRUE}};
static const char *extensions[] = {"VK_KHR_cooperative_matrix"};

/* Layers before 1.3.272 take settings for a mistake. */
static bool takes_settings(const char *layer) {
  VkExtensionProperties p[64];
  uint32_t n = 64;
  VkResult r = ((PFN_vkEnumerateInstanceExtensionProperties)loader(NULL, "vkEnumerateInstanceExtensionProperties"))(
      layer, &n, p);
  for (uint32_t i = 0; r >= 0 && i < n; i++)
    if (!strcmp(p[i].extensionName, "VK_EXT_layer_settings")) return true;
  return false;
}

static bool open_instance(bool validate) {
  static const char *const layer = "VK_LAYER_KHRONOS_validation", *const ext = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
  VkBool32 yes = VK_TRUE;
  VkLayerSettingEXT setting = {layer, "validate_sync", VK_LAYER_SETTING_TYPE_BOOL32_EXT, 1, &yes};
  VkLayerSettingsCreateInfoEXT settings = {
      .sType = VK_STRUCTURE_TYPE_LAYER_SETTINGS_CREATE_INFO_EXT, .settingCount = 1, .pSettings = &setting};
  VkDebugUtilsMessengerCreateInfoEXT messages = {.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
                                                 .pNext = validate && takes_settings(layer) ? &settings : NULL,
                                                 .messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
                                                                    VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
                                                 .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT,
                                                 .pfnUserCallback = on_message};
  VkApplicationInfo about = {
      .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .pApplicationName = "test", .apiVersion = VK_API_VERSION_1_3};
  VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                               .pNext = validate ? &messages : NULL,
                               .pApplicationInfo = &about,
                               .enabledLayerCount = validate,
                               .ppEnabledLayerNames = &layer,
                               .enabledExtensionCount = validate,
                               .ppEnabledExtensionNames = &ext};
  if (((PFN_vkCreateInstance)loader(NULL, "vkCreateInstance"))(&info, NULL, &app.instance) != VK_SUCCESS) return false;
  messages.pNext = NULL;
  if (validate) VK(REAL(vkCreateDebugUtilsMessengerEXT)(app.instance, &messages, NULL, &app.messenger));
  return true;
}

static bool find_device(void) {
  uint32_t n = 1;
  VkPhysicalDeviceProperties p;
  VkResult r = REAL(vkEnumeratePhysicalDevices)(app.instance, &n, &app.physical);
  if ((r != VK_SUCCESS && r != VK_INCOMPLETE) || !n) return false;
  REAL(vkGetPhysicalDeviceProperties)(app.physical, &p);
  real_device_address = REAL(vkGetDeviceProcAddr);
  return p.apiVersion >= VK_API_VERSION_1_3;
}

/* The device with exactly the features of the chain. */
static void open_device(uint32_t n_extensions) {
  float priority = 1;
  VkDeviceQueueCreateInfo q = {
      .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueCount = 1, .pQueuePriorities = &priority};
  VK(REAL(vkCreateDevice)(app.physical,
                          &(VkDeviceCreateInfo){.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                                .pNext = &features,
                                                .queueCreateInfoCount = 1,
                                                .pQueueCreateInfos = &q,
                                                .enabledExtensionCount = n_extensions,
                                                .ppEnabledExtensionNames = extensions},
                          NULL, &app.device));
  REAL(vkGetDeviceQueue)(app.device, 0, 0, &app.queue);
  depth = locks = submits = outside_lock = other_queue = created = 0;
  forbidden[0] = 0;
}

static void close_device(void) {
  REAL(vkDestroyDevice)(app.device, NULL);
  app.device = VK_NULL_HANDLE;
}

static tsr_vulkan_import import_of(uint32_t n_extensions) {
  return (tsr_vulkan_import){.instance = app.instance,
                             .physical_device = app.physical,
                             .device = app.device,
                             .queue = app.queue,
                             .lock = lock,
                             .unlock = unlock,
                             .features = &features,
                             .extensions = extensions,
                             .n_extensions = n_extensions,
                             .get_instance_proc_addr = (void *)instance_address};
}

/* ---- work -------------------------------------------------------------------------------------------------------- */

static tsr_status op_program(tsr_context *ctx, tsr_device *dev, const char *op, tsr_dtype t, tsr_program **out) {
  tsr_graph *g = NULL;
  tsr_value v[2], second;
  tsr_attr perm = TSR_INTS("perm", ((const int64_t[]){1, 0}), 2);
  bool two = !strcmp(op, "matmul") || !strcmp(op, "add");
  *out = NULL;
  tsr_status st = tsr_graph_create(ctx, "main", &g);
  for (int i = 0; i < 1 + two && !st; i++) st = tsr_graph_input(g, i ? "B" : "A", t, (tsr_shape){2, {24, 24}}, &v[i]);
  if (!st)
    st = tsr_graph_op(g, "transpose", v, 1, &perm, 1,
                      &second); /* a kernel of its own, so that pipelines are made in threads */
  if (!st) st = tsr_graph_op(g, op, v, 1 + two, NULL, 0, &v[0]);
  if (!st) st = tsr_graph_output(g, v[0]);
  if (!st) st = tsr_graph_output(g, second);
  if (!st) st = tsr_program_compile(dev, g, &(tsr_compile_options){.tune = TSR_TUNE_OFF}, out);
  tsr_graph_destroy(&g);
  return st;
}

static tsr_status run_op(tsr_context *ctx, tsr_device *dev, const char *op, tsr_dtype t) {
  static const char ones[24 * 24 * 8] = {0};
  tsr_program *p;
  tsr_binding in[2] = {{0}}, out[2] = {{0}};
  char back[sizeof ones];
  tsr_status st = op_program(ctx, dev, op, t, &p);
  for (int i = 0; !st && i < tsr_program_n_inputs(p); i++) {
    st = tsr_buffer_create(dev, tsr_program_input(p, i).bytes, TSR_MEMORY_DEVICE, &in[i].buffer);
    if (!st) st = tsr_buffer_write(in[i].buffer, 0, ones, tsr_program_input(p, i).bytes);
  }
  for (int i = 0; !st && i < 2; i++)
    st = tsr_buffer_create(dev, tsr_program_output(p, i).bytes, TSR_MEMORY_DEVICE, &out[i].buffer);
  if (!st) st = tsr_program_run(p, NULL, in, out);
  if (!st) st = tsr_buffer_read(out[0].buffer, 0, back, tsr_program_output(p, 0).bytes);
  for (int i = 0; i < 2; i++) tsr_buffer_destroy(&in[i].buffer), tsr_buffer_destroy(&out[i].buffer);
  tsr_program_destroy(&p);
  return st;
}

static void only_what_is_allowed_created_and_used(void **state) {
  static const char *const ops[] = {"matmul", "softmax", "add", "gelu"};
  static const tsr_dtype types[] = {TSR_F32, TSR_F16, TSR_BF16, TSR_F64, TSR_I32, TSR_I8};
  tsr_context *ctx;
  tsr_device *dev;
  int ran = 0, unsupported = 0;
  features.pNext = &v11;
  open_device(0);
  tsr_vulkan_import import = import_of(0);
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx));
  OK(tsr_device_import(ctx, "vulkan", &import, &dev));
  assert_int_equal(tsr_device_get_info(dev)->n_matrix,
                   0); /* the driver has some, the application didn't ask for them */
  for (size_t o = 0; o < sizeof ops / sizeof *ops; o++)
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
      if (o % 2 && types[t] >= TSR_I64) continue; /* softmax and gelu are for floats */
      tsr_status st = run_op(ctx, dev, ops[o], types[t]);
      tsr_code c = tsr_status_code(st);
      if (c != TSR_OK && c != TSR_UNSUPPORTED)
        fail_msg("%s %s: %s", ops[o], tsr_dtype_name(types[t]), tsr_status_message(st));
      ran += c == TSR_OK, unsupported += c != TSR_OK;
      tsr_status_free(st);
    }
  assert_true(threads_made > 0);
  assert_int_equal(n_threads, 0); /* those that made pipelines have ended */
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
  close_device();
  print_message("%d programs ran, %d refused; %d submissions under %d locks, %d buffers, %d threads\n", ran,
                unsupported, submits, locks, created, threads_made);
  assert_string_equal(forbidden, "");
  assert_true(ran >= 6 && submits >= ran && created >= 2 * ran && locks >= submits);
  assert_int_equal(depth, 0);
  assert_int_equal(outside_lock, 0);
  assert_int_equal(other_queue, 0);
}

/* The application's loader is asked for its own device only: one that the library opens itself goes through the
 * system's. */
static void loader_of_the_application_left_with_its_device(void **state) {
  tsr_context *ctx;
  tsr_device *dev, *own;
  open_device(0);
  tsr_vulkan_import import = import_of(0);
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx));
  OK(tsr_device_import(ctx, "vulkan", &import, &dev));
  int before = submits;
  setenv("TSR_MATRIX", "scalar", 1);
  OK(tsr_device_open(ctx, "vulkan:0", &own));
  OK(run_op(ctx, own, "add", TSR_F32));
  unsetenv("TSR_MATRIX");
  assert_string_equal(forbidden, "");
  assert_int_equal(submits, before);
  OK(run_op(ctx, dev, "add", TSR_F32)); /* and the other way round */
  assert_true(submits > before);
  tsr_device_close(&own);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
  close_device();
}

/* Shapes of a driver that multiplies wrongly are demoted, with a reason, and stay so in the cache; programs keep to
 * other code. */
static void lying_driver_demoted_and_remembered(void **state) {
  VkPhysicalDeviceCooperativeMatrixFeaturesKHR have = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR};
  VkPhysicalDeviceVulkan11Features have11 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES,
                                             .pNext = &have};
  VkPhysicalDeviceVulkan12Features have12 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                                             .pNext = &have11};
  REAL(vkGetPhysicalDeviceFeatures2)
  (app.physical, &(VkPhysicalDeviceFeatures2){.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &have12});
  if (!have.cooperativeMatrix || !have11.storageBuffer16BitAccess || !have12.shaderFloat16) skip();
  features.pNext = &matrix;
  v11.storageBuffer16BitAccess = v12.shaderFloat16 = VK_TRUE;
  char dir[] = "/tmp/tessera-embed-XXXXXX", command[64];
  assert_non_null(mkdtemp(dir));
  for (int round = 0; round < 3; round++) { /* lies; is honest, but remembered; is honest, with an empty cache */
    tsr_context *ctx;
    tsr_device *dev;
    int wrong = 0;
    lies = round == 0;
    open_device(1);
    tsr_vulkan_import import = import_of(1);
    OK(tsr_context_create(&(tsr_context_desc){.cache_dir = round < 2 ? dir : ""}, &ctx));
    OK(tsr_device_import(ctx, "vulkan", &import, &dev));
    const tsr_device_info *info = tsr_device_get_info(dev);
    assert_true(info->n_matrix > 0);
    for (int i = 0; i < info->n_matrix; i++) {
      bool found_out = !info->matrix[i].enabled && strstr(info->matrix[i].reason, "wrong results");
      wrong += found_out;
      if (!round)
        print_message("%dx%dx%d: %s\n", info->matrix[i].m, info->matrix[i].n, info->matrix[i].k,
                      info->matrix[i].reason);
    }
    assert_int_equal(wrong, round < 2 ? info->n_matrix : 0);
    assert_int_equal(submits > 0, round != 1); /* tried, or known */
    OK(run_op(ctx, dev, "matmul", TSR_F16));
    tsr_device_close(&dev);
    tsr_context_destroy(&ctx);
    close_device();
  }
  lies = false;
  features.pNext = &v11;
  v11.storageBuffer16BitAccess = v12.shaderFloat16 = VK_FALSE;
  snprintf(command, sizeof command, "rm -rf %s", dir);
  assert_int_equal(system(command), 0);
}

int main(void) {
  void *lib = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
  if (lib) *(void **)&loader = dlsym(lib, "vkGetInstanceProcAddr");
  if (!loader || (!open_instance(true) && !open_instance(false)) || !find_device()) {
    printf("no Vulkan 1.3 device here\n");
    return 77;
  }
  const struct CMUnitTest tests[] = {cmocka_unit_test(only_what_is_allowed_created_and_used),
                                     cmocka_unit_test(loader_of_the_application_left_with_its_device),
                                     cmocka_unit_test(lying_driver_demoted_and_remembered)};
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  if (app.messenger) REAL(vkDestroyDebugUtilsMessengerEXT)(app.instance, app.messenger, NULL);
  REAL(vkDestroyInstance)(app.instance, NULL);
  printf("%s, %d validation messages\n", app.messenger ? "validated" : "no validation layers", n_messages);
  return failed || n_messages;
}
