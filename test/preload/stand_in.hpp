// What test programs and the stand-in driver (libcuda.so.1) agree on beyond CUDA's own interface: a module's image is
// any text, and a kernel of it is an object of this type, which the program exports under the kernel's name.
//
// The stand-in is set by the environment: STAND_IN_MEMORY (bytes of each device), STAND_IN_DEVICES, STAND_IN_SHARED (a
// file by which processes share one device's memory: what they take together is held against its size), STAND_IN_END_MS
// (how long the driver takes to end, at a process's end), STAND_IN_VERSION (of the driver), STAND_IN_DROPS (a launch
// does nothing at all), and STAND_IN_INSTANTIATE_MS (how long the instantiation of a graph takes).
#pragma once

#include <cstddef>

struct StandInKernel {
  void (*run)(void** arguments); // on the stream's thread; `arguments` has the address of each, as cuLaunchKernel has
  std::size_t sizes[8];          // of the arguments; ends with 0
};

/// Told of "kernel" when one begins, and of "load" and "save" when half of a copy to or from mapped chunks is done, on
/// the stream's thread; of whoever is preloaded and has it.
extern "C" [[gnu::weak]] void stand_in_reached(const char* point);
