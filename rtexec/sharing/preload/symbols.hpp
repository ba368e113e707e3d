// The two sides of each function of the table: the driver's own, and the one that this library exports.
//
// The driver is never opened by this library, only found where the program has opened it, early or late. Any thread; no
// function here fails but by null.
#pragma once

#include "rtexec/sharing/preload/call_table.hpp"

namespace rtexec::preload {

using DlSym = void* (*)(void* handle, const char* name);
/// The C library's. Called from this library it searches, under RTLD_NEXT, behind this library.
[[nodiscard]] DlSym real_dlsym() noexcept;

/// libcuda.so.1 as the program has it, or null as long as it has not.
[[nodiscard]] void* driver_library() noexcept;
/// Its own function; null where there is no driver, or it has none of that name.
[[nodiscard]] void* real_function(Id id) noexcept;
/// What this library exports under that name.
[[nodiscard]] void* exported_function(Id id) noexcept;

} // namespace rtexec::preload
