#include "rtexec/runtime/watches/clock_watch.hpp"

#include "hal/thread.hpp"
#include "traces/analysis/analysis.hpp"
#include "traces/emit.hpp"

#include <algorithm>

namespace rtexec::executive {

void ClockWatch::Range::add(Frequency now) noexcept {
  if (now == Frequency{}) return;
  lowest = lowest == Frequency{} ? now : std::min(lowest, now);
  highest = std::max(highest, now);
}

void ClockWatch::watch(const std::set<unsigned>& cores, unsigned compute_core, const hal::Device& device,
                       const std::filesystem::path& root) {
  const std::lock_guard lock(mutex_);
  for (const unsigned core : cores) cores_.push_back({.clock = hal::CoreClock(core, root), .range = {}});
  compute_core_ = compute_core;
  device_ = &device;
}

void ClockWatch::watch_board(const hal::FoundHardware& hardware, const std::vector<hal::LockedClock>& locked,
                             const hal::Machine& machine) {
  const std::lock_guard lock(mutex_);
  board_.watch(hardware, locked, machine);
}

void ClockWatch::look() noexcept {
  const std::lock_guard lock(mutex_);
  if (device_ == nullptr) return;
  const Instant at = hal::now();
  const BoardWatch::Seen board = board_.look();
  of_board_ |= board.limits;
  auto of_device = device_->clocks();
  if (!of_device && !device_->capabilities().computes_on_core && board.gpu > Frequency{})
    of_device = hal::DeviceClocks{.cores = board.gpu, .memory = board.memory, .most = {}, .limits = 0};
  if (of_device) take(*of_device, board, at);
  else if (board.limits != 0) traces::device_clock(at, Frequency{}, Frequency{}, board.limits);
  for (Core& core : cores_) {
    const auto now = core.clock.read();
    if (!now) continue;
    core.range.add(*now);
    traces::core_clock(core.clock.core(), at, *now);
    if (!of_device && core.clock.core() == compute_core_ && device_->capabilities().computes_on_core)
      traces::device_clock(at, *now, Frequency{}, 0);
  }
}

void ClockWatch::take(const hal::DeviceClocks& now, const BoardWatch::Seen& board, Instant at) noexcept {
  of_device_.add(now.cores);
  of_memory_.add(now.memory);
  limits_ |= now.limits;
  traces::device_clock(at, now.cores, now.memory, now.limits | board.limits);
}

std::vector<ClockReport> ClockWatch::seen() const {
  const std::lock_guard lock(mutex_);
  std::vector<ClockReport> all;
  const auto add = [&](std::string of, const Range& range, std::vector<std::string> limits) {
    if (range.highest > Frequency{}) all.push_back({std::move(of), range.lowest, range.highest, std::move(limits)});
  };
  for (const Core& core : cores_) add("core " + std::to_string(core.clock.core()), core.range, {});
  add("device", of_device_, traces::names_of_limits(limits_));
  add("device memory", of_memory_, {});
  if (of_board_ != 0) all.push_back({"board", {}, {}, traces::names_of_limits(of_board_)});
  return all;
}

std::string ClockWatch::invalid() const {
  const std::lock_guard lock(mutex_);
  return of_board_ == 0 ? std::string() : traces::no_wcets(traces::names_of_limits(of_board_));
}

} // namespace rtexec::executive
