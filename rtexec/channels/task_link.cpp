#include "rtexec/channels/task_link.hpp"

#include "hal/thread.hpp"
#include "rtexec/channels/bytes.hpp"

#include <algorithm>

namespace rtexec::channels {

std::size_t values_to_keep(Communication communication, const Task& writer, const Task& reader) {
  if (communication == Communication::immediate) return 1;
  return static_cast<std::size_t>((reader.deadline + writer.period - Duration(1)) / writer.period) + 2;
}

bool TaskSink::put(const OutputJob& results) noexcept {
  const Instant now = hal::now();
  const Instant visible = appears_after_ ? std::max(results.release + *appears_after_, now) : now;
  latest_->write({.sampled = results.sampled, .visible = visible},
                 [&](std::span<std::byte> bytes) { output_.copy(results, bytes); });
  return true;
}

Expected<Sample, Errc> TaskSource::fetch(std::uint64_t, Instant release, const Tensor& into) noexcept {
  const auto value = latest_->newest(reader_, communication_ == Communication::let ? release : hal::now());
  if (!value) return Unexpected(Errc::stale);
  const bool fresh = value->version != last_;
  last_ = value->version;
  if (fresh) copy_bytes(value->bytes.first(into.bytes.size()), into.bytes);
  return Sample{.sampled = value->stamp.sampled, .fresh = fresh};
}

} // namespace rtexec::channels
