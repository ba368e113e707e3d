// Back ends of BandwidthCounter.
#pragma once

#include "hal/bandwidth_counter.hpp"

#include <memory>

namespace rtexec::hal {

[[nodiscard]] Result<std::unique_ptr<BandwidthCounter>> open_core_counter(const CounterSettings& settings);
[[nodiscard]] Result<std::unique_ptr<BandwidthCounter>> open_thread_counter(const CounterSettings& settings);

} // namespace rtexec::hal
