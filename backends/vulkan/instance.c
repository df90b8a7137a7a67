/* backends/vulkan/instance.c - loader, instance, validation messages, list of devices. */
#include <stdio.h>
#include <string.h>

#include "backends/vulkan/reported.h"

static pthread_mutex_t volk_lock = PTHREAD_MUTEX_INITIALIZER; /* volk's global pointers */

tsr_status vk_load(const be_env *env) {
  pthread_mutex_lock(&volk_lock);
  VkResult r = volkInitialize(); /* keeps what it found the first time */
  pthread_mutex_unlock(&volk_lock);
  if (r != VK_SUCCESS)
    return st_make(env->al, TSR_UNAVAILABLE,
                   ST_WHERE("vulkan", NULL, "install the Vulkan loader (libvulkan1) and a driver"),
                   "no Vulkan loader (libvulkan.so.1)");
  if (volkGetInstanceVersion() < VK_API_VERSION_1_1)
    return st_make(env->al, TSR_UNAVAILABLE, ST_WHERE("vulkan", NULL, "update the Vulkan loader"),
                   "the Vulkan loader is older than 1.1");
  return NULL;
}

void vk_load_calls(VkInstance vk, PFN_vkGetInstanceProcAddr get, vk_calls *out) {
  if (!get) get = vkGetInstanceProcAddr;
#define LOAD_CALL(name) out->name = (PFN_##name)get(vk, #name);
  VK_INSTANCE_CALLS(LOAD_CALL)
#undef LOAD_CALL
}

void vk_load_device(const vk_calls *calls, VkDevice vk, struct VolkDeviceTable *out) {
  pthread_mutex_lock(&volk_lock);
  vkGetDeviceProcAddr = calls->vkGetDeviceProcAddr;
  volkLoadDeviceTable(out, vk);
  pthread_mutex_unlock(&volk_lock);
}

static VkBool32 VKAPI_PTR on_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                     VkDebugUtilsMessageTypeFlagsEXT types,
                                     const VkDebugUtilsMessengerCallbackDataEXT *data, void *user) {
  be_instance *in = user;
  bool error = severity >= VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT;
  if (error) atomic_fetch_add(&in->n_messages, 1);
  char text[1000]; /* the layers' text names the rule only sometimes */
  snprintf(text, sizeof text, "Vulkan validation: %s: %s", data->pMessageIdName ? data->pMessageIdName : "",
           data->pMessage);
  in->env->log(in->env->log_user, error ? 0 : 3, text);
  return VK_FALSE;
}

static bool has_layer(const char *name) {
  VkLayerProperties p[64];
  uint32_t n = 64;
  VkResult r = vkEnumerateInstanceLayerProperties(&n, p);
  if (r != VK_SUCCESS && r != VK_INCOMPLETE) return false;
  for (uint32_t i = 0; i < n; i++)
    if (!strcmp(p[i].layerName, name)) return true;
  return false;
}

/* Layers before 1.3.272 take settings for a mistake. */
static bool takes_settings(const char *layer) {
  VkExtensionProperties p[64];
  uint32_t n = 64;
  VkResult r = vkEnumerateInstanceExtensionProperties(layer, &n, p);
  if (r != VK_SUCCESS && r != VK_INCOMPLETE) return false;
  for (uint32_t i = 0; i < n; i++)
    if (!strcmp(p[i].extensionName, "VK_EXT_layer_settings")) return true;
  return false;
}

/* 1.3, or what there is. */
static uint32_t minor_version(void) {
  uint32_t v = volkGetInstanceVersion(), minor = VK_API_VERSION_MAJOR(v) > 1 ? 3 : VK_API_VERSION_MINOR(v);
  if (minor > 3) minor = 3;
  return minor > vk_hide_limit("api") ? (uint32_t)vk_hide_limit("api") : minor;
}

static VkResult create(be_instance *in, bool validate) {
  static const char *const layer = "VK_LAYER_KHRONOS_validation";
  static const char *const extensions[] = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME};
  VkBool32 yes = VK_TRUE;
  VkLayerSettingEXT setting = {layer, "validate_sync", VK_LAYER_SETTING_TYPE_BOOL32_EXT, 1, &yes};
  VkLayerSettingsCreateInfoEXT settings = {
      .sType = VK_STRUCTURE_TYPE_LAYER_SETTINGS_CREATE_INFO_EXT, .settingCount = 1, .pSettings = &setting};
  VkDebugUtilsMessengerCreateInfoEXT messenger = {
      .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT, .pNext = validate && takes_settings(layer) ? &settings : NULL,
      .messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
      .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT, .pfnUserCallback = on_message, .pUserData = in};
  VkApplicationInfo app = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                           .pApplicationName = "tessera",
                           .pEngineName = "tessera",
                           .apiVersion = VK_MAKE_API_VERSION(0, 1, in->minor, 0)};
  VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                               .pNext = validate ? &messenger : NULL,
                               .pApplicationInfo = &app,
                               .enabledLayerCount = validate,
                               .ppEnabledLayerNames = &layer,
                               .enabledExtensionCount = validate,
                               .ppEnabledExtensionNames = extensions};
  VkResult r = vkCreateInstance(&info, NULL, &in->vk);
  if (r != VK_SUCCESS) return r;
  vk_load_calls(in->vk, NULL, &in->fn);
  messenger.pNext = NULL;
  return validate ? in->fn.vkCreateDebugUtilsMessengerEXT(in->vk, &messenger, NULL, &in->messenger) : VK_SUCCESS;
}

/* Devices that can run what the emitter makes: Vulkan 1.1 with a compute queue. */
static void list_devices(be_instance *in) {
  VkPhysicalDevice all[VK_MAX_DEVICES];
  uint32_t n = VK_MAX_DEVICES;
  VkResult r = in->fn.vkEnumeratePhysicalDevices(in->vk, &n, all);
  if (r != VK_SUCCESS && r != VK_INCOMPLETE) return;
  for (uint32_t i = 0; i < n; i++) {
    VkPhysicalDeviceProperties p;
    in->fn.vkGetPhysicalDeviceProperties(all[i], &p);
    if (p.apiVersion >= VK_API_VERSION_1_1) {
      in->devices[in->n_devices++] = all[i];
      continue;
    }
    char text[400];
    snprintf(text, sizeof text, "vulkan: %s speaks only Vulkan %u.%u and is left out", p.deviceName,
             VK_API_VERSION_MAJOR(p.apiVersion), VK_API_VERSION_MINOR(p.apiVersion));
    in->env->log(in->env->log_user, 2, text);
  }
}

tsr_status vk_instance_load(be_instance *in) {
  const be_env *env = in->env;
  TSR_TRY(vk_load(env));
  bool validate = knob_bool("TSR_VK_VALIDATION");
  if (validate && !has_layer("VK_LAYER_KHRONOS_validation"))
    return st_make(env->al, TSR_UNAVAILABLE,
                   ST_WHERE("vulkan", NULL, "install vulkan-validationlayers or unset TSR_VK_VALIDATION"),
                   "TSR_VK_VALIDATION is set but VK_LAYER_KHRONOS_validation is not installed");
  in->minor = minor_version();
  if (in->minor < 1)
    return st_make(env->al, TSR_UNAVAILABLE, ST_WHERE("vulkan", NULL, "TSR_VK_HIDE: api=1 is the least"),
                   "no Vulkan 1.1");
  VkResult r = create(in, validate);
  if (r == VK_SUCCESS) list_devices(in);
  if (r == VK_ERROR_OUT_OF_HOST_MEMORY) return st_oom();
  if (r == VK_SUCCESS && in->n_devices) return NULL;
  return st_make(env->al, TSR_UNAVAILABLE,
                 ST_WHERE("vulkan", NULL, "install a Vulkan driver (mesa-vulkan-drivers has one for the CPU)"),
                 r != VK_SUCCESS ? "vkCreateInstance failed (%d)" : "no Vulkan 1.1 device", (int)r);
}

tsr_status vk_instance_create(const be_env *env, be_instance **out) {
  char known[128];
  vk_id drivers;
  TSR_TRY(vk_instance_import(env, out));
  be_instance *in = *out;
  vk_drivers_id(&drivers);
  if (env->probe) vk_notes_load(&in->probe, &drivers);
  if (env->probe && !vk_note_get(&in->probe, &drivers, "instance", known)) vk_probe_run(&in->probe);
  tsr_status st = vk_must(&in->probe, &drivers, "instance");
  if (!st) st = vk_instance_load(in);
  if (st) {
    vk_instance_destroy(in);
    *out = NULL;
  }
  return st;
}

tsr_status vk_instance_import(const be_env *env, be_instance **out) {
  if (!(*out = al_new(env->al, be_instance))) return st_oom();
  (*out)->env = env;
  tsr_status st = vk_probe_init(&(*out)->probe, env);
  if (!st) return NULL;
  al_delete(env->al, *out);
  *out = NULL;
  return st;
}

void vk_instance_destroy(be_instance *in) {
  if (!in || in->leaked) return;
  if (in->messenger) in->fn.vkDestroyDebugUtilsMessengerEXT(in->vk, in->messenger, NULL);
  if (in->vk) in->fn.vkDestroyInstance(in->vk, NULL);
  vk_probe_clear(&in->probe);
  al_delete(in->env->al, in);
}

int vk_n_devices(be_instance *in) { return in->n_devices; }

tsr_status vk_device_info(be_instance *in, int index, be_device_info *out) {
  vk_features f;
  vk_limits l;
  TSR_TRY(vk_query(in, in->devices[index], NULL, &f, &l, out));
  if (!vk_selftest_kept(&in->probe, &l.id, &out->caps) || !vk_cores_kept(&in->probe, &l.id, &out->caps)) {
    /* Never tested: opening the device does it. If that fails, the listing still tells what the driver says. */
    be_device *d = NULL;
    tsr_caps caps;
    tsr_status st = vk_device_open(in, index, NULL, &d, &caps);
    if (!st) st = vk_query(in, in->devices[index], NULL, &f, &l, out); /* with what was found out */
    if (!st) out->caps = caps;
    vk_device_close(d);
    tsr_status_free(st);
  }
  vk_describe(in, in->devices[index], &f, &l, out);
  return vk_must_all(&in->probe, &l.id);
}
