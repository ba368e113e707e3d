/* The version of these headers; the build reads it from here. For C and C++.
 *
 * While MAJOR is 0, a new MINOR may change the interface, and a new PATCH does not. The number in the name of
 * librtexec.so changes whenever programs must be compiled anew. test/abi describes the interface that belongs to this
 * number.
 */
#pragma once

#define RTEXEC_VERSION_MAJOR 0
#define RTEXEC_VERSION_MINOR 1
#define RTEXEC_VERSION_PATCH 0
