/* core/profile/chrome_trace.h - a log as a trace that Chromium's viewer and Perfetto open: the JSON object format of
 * "Trace Event Format" with complete ("X") and metadata ("M") events; a device is a process, a stream a thread, times
 * in microseconds. */
#ifndef CORE_PROFILE_CHROME_TRACE_H
#define CORE_PROFILE_CHROME_TRACE_H
#include "core/base/str.h"
#include "core/profile/profile.h"

TSR_MUST_USE tsr_status chrome_trace(const prof_log *l, strb *out);
#endif
