/* RTEXEC_API marks the functions that users of the library may call. All other functions are hidden in
 * librtexec.so. For C and C++. */
#pragma once

#define RTEXEC_API __attribute__((visibility("default")))
