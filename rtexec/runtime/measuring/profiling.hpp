// Implements rtexec::profile(), for callers that provide a device or a store of their own.
#pragma once

#include <rtexec/profiler.hpp>
#include "rtexec/runtime/planning/executive_setup.hpp"

#include <functional>

namespace rtexec::executive {

/// Profiles the set like rtexec::profile(); `make_setup` is called anew for each of the runs.
[[nodiscard]] Result<Profile> measure(const TaskSet& tasks, const ProfileOptions& options,
                                      const ProfileObserver& observer,
                                      const std::function<Result<Setup>()>& make_setup);

} // namespace rtexec::executive
