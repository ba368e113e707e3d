#include "rtexec/runtime/channels/task_link.hpp"

#include "hal/thread.hpp"
#include "rtexec/runtime/channels/bytes.hpp"

#include <algorithm>

namespace rtexec::channels {
namespace {

LatestMailbox::Stamp stamp_of(const OutputJob& results, std::optional<Duration> appears_after) noexcept {
  const Instant now = hal::now();
  return {.sampled = results.sampled, .visible = appears_after ? std::max(results.release + *appears_after, now) : now};
}

} // namespace

std::size_t values_to_keep(Communication communication, const Task& writer, const Task& reader) {
  if (communication == Communication::immediate) return 1;
  return static_cast<std::size_t>((reader.deadline + writer.period - Duration(1)) / writer.period) + 2;
}

bool TaskSink::put(const OutputJob& results) noexcept {
  latest_->write(stamp_of(results, appears_after_), [&](std::span<std::byte> bytes) { output_.copy(results, bytes); });
  return true;
}

/// Under logical execution time, reads the newest value that was visible at the release. Under immediate communication,
/// reads the newest of all values, because the value that was visible at the release may already have been replaced.
Expected<Sample, Errc> TaskSource::fetch(std::uint64_t, Instant release, const Tensor& into) noexcept {
  const auto value = latest_->newest(reader_, communication_ == Communication::let ? release : Instant::max());
  if (!value) return Unexpected(Errc::stale);
  const bool fresh = value->version != last_;
  last_ = value->version;
  take(*value, fresh, into);
  return Sample{.sampled = value->stamp.sampled, .fresh = fresh};
}

void TaskSource::take(const LatestMailbox::Value& value, bool fresh, const Tensor& into) noexcept {
  if (fresh) copy_bytes(value.bytes.first(into.bytes.size()), into.bytes);
}

bool DeviceSink::put(const OutputJob& results) noexcept {
  latest_->publish(stamp_of(results, appears_after_));
  return true;
}

Result<> DeviceSource::open() {
  workload_.take_input(input_, latest().blank().data());
  return {};
}

void DeviceSource::take(const LatestMailbox::Value& value, bool, const Tensor&) noexcept {
  workload_.take_input(input_, value.bytes.data());
}

} // namespace rtexec::channels
