// Implements rtexec::profile(), also for callers that provide their own device or store.
#pragma once

#include <rtexec/profiler.hpp>
#include "rtexec/runtime/planning/executive_setup.hpp"

#include <functional>

namespace rtexec::executive {

/// Profiles the set like rtexec::profile(). Calls `make_setup` once for each run.
[[nodiscard]] Result<Profile> measure(const TaskSet& tasks, const ProfileOptions& options,
                                      const ProfileObserver& observer,
                                      const std::function<Result<Setup>()>& make_setup);

} // namespace rtexec::executive
