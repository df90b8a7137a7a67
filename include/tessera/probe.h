/* tessera/probe.h - a process in which drivers are tried, which may crash or hang there (docs/vulkan.md, "Drivers that
 * crash or hang"). Included by tessera/device.h. */
#ifndef TESSERA_PROBE_H
#define TESSERA_PROBE_H

/* It is to hand argv to tsr_probe_main. Each line of its standard output goes to `line`, without its end; when none
 * came for deadline_ms it is to be killed. */
typedef struct tsr_probe_call {
  const char *const *argv; /* ended by NULL; [0] is "tessera-probe" */
  int deadline_ms;
  void (*line)(void *user, const char *text);
  void *user;
} tsr_probe_call;

/* How such a process ended, where it has no exit status and was not ended by a signal. */
enum { TSR_PROBE_HUNG = -1000, TSR_PROBE_NOT_STARTED = -1001 };

#endif
