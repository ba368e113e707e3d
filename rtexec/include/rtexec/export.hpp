/* What users of the library may call is marked RTEXEC_API: all else is hidden in librtexec.so. For C and C++. */
#pragma once

#define RTEXEC_API __attribute__((visibility("default")))
