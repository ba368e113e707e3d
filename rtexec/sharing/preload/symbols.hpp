// Finds the two versions of each function of the table: the driver's own function, and the function that this library
// exports.
//
// This library never loads the driver. It only finds the driver after the program has loaded the driver. Any thread.
// Functions return null on failure.
#pragma once

#include "rtexec/sharing/preload/call_table.hpp"

namespace rtexec::preload {

using DlSym = void* (*)(void* handle, const char* name);
/// Returns the C library's dlsym. If this library calls it with RTLD_NEXT, the search begins after this library.
[[nodiscard]] DlSym real_dlsym() noexcept;

/// Returns the handle of libcuda.so.1 if the program has loaded it, otherwise null.
[[nodiscard]] void* driver_library() noexcept;
/// Returns the driver's own function. Returns null if there is no driver, or if the driver has no function of this
/// name.
[[nodiscard]] void* real_function(Id id) noexcept;
/// Returns the function that this library exports under that name.
[[nodiscard]] void* exported_function(Id id) noexcept;

} // namespace rtexec::preload
