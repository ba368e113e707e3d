// The interface between test programs and the stand-in driver (libcuda.so.1) beyond CUDA's own. A module's image is any
// text. A kernel of it is an object of the type below, which the program exports under the kernel's name.
//
// The environment configures the stand-in: STAND_IN_MEMORY (bytes of each device), STAND_IN_DEVICES, STAND_IN_SHARED (a
// file through which processes share one device's memory: the sum of their use is limited to its size), STAND_IN_END_MS
// (the duration of the driver's end when a process ends), STAND_IN_VERSION (of the driver), STAND_IN_DROPS (launches do
// nothing), and STAND_IN_INSTANTIATE_MS (the duration of a graph's instantiation).
#pragma once

#include <cstddef>

struct StandInKernel {
  // called on the stream's thread; `arguments` holds the address of each, as in cuLaunchKernel
  void (*run)(void** arguments);
  std::size_t sizes[8]; // of the arguments, terminated by 0
};

/// Called on the stream's thread with "kernel" when one begins, and with "load" or "save" when half of a copy to or
/// from mapped chunks is done. A preloaded library may define it.
extern "C" [[gnu::weak]] void stand_in_reached(const char* point);
