#include "rtexec/channels/task_link.hpp"

#include "hal/thread.hpp"

#include <algorithm>

namespace rtexec::channels {

bool TaskSink::put(const OutputJob& results) noexcept {
  latest_->write({.sampled = results.sampled, .visible = hal::now()},
                 [&](std::span<std::byte> bytes) { output_.copy(results, bytes); });
  return true;
}

Expected<Sample, Errc> TaskSource::fetch(std::uint64_t, Instant, const Tensor& into) noexcept {
  const auto value = latest_->newest(reader_, hal::now());
  if (!value) return Unexpected(Errc::stale);
  const bool fresh = value->version != last_;
  last_ = value->version;
  if (fresh) std::ranges::copy(value->bytes.first(into.bytes.size()), into.bytes.begin());
  return Sample{.sampled = value->stamp.sampled, .fresh = fresh};
}

} // namespace rtexec::channels
