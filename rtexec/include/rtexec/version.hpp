/* The version of these headers; the build reads it from here. For C and C++.
 *
 * While MAJOR is 0, a new MINOR may change the interface, and a new PATCH does not change it. The number in the name of
 * librtexec.so changes whenever programs must be compiled again. test/abi describes the interface for this number.
 */
#pragma once

#define RTEXEC_VERSION_MAJOR 0
#define RTEXEC_VERSION_MINOR 1
#define RTEXEC_VERSION_PATCH 0
