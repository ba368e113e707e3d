#include "tasks/synthetic/synthetic_workload.hpp"

#include "tasks/fingerprint.hpp"

namespace rtexec::tasks {
namespace {

using Clock = std::chrono::steady_clock; // CLOCK_MONOTONIC

Instant end_of(Duration wcet) noexcept { return Clock::now() + wcet * 95 / 100; }

void spin_until(Instant end) noexcept {
  while (Clock::now() < end) {
  }
}

} // namespace

std::string SyntheticWorkload::fingerprint() const {
  Fingerprint fingerprint;
  for (const auto part : {wcet_.before, wcet_.device, wcet_.after}) fingerprint.add(static_cast<std::uint64_t>(part.count()));
  return "synthetic-" + fingerprint.add(footprint_.count).text();
}

Status SyntheticWorkload::before(std::uint64_t) noexcept {
  spin_until(end_of(wcet_.before));
  return {};
}

Status SyntheticWorkload::execute() noexcept {
  constexpr std::size_t page = 4096;
  const auto end = end_of(wcet_.device);
  for (std::size_t at = 0; state_ != nullptr && at < footprint_.count && Clock::now() < end; at += page) {
    auto* word = static_cast<volatile std::byte*>(state_ + at);
    *word = static_cast<std::byte>(static_cast<unsigned>(*word) + 1U);
  }
  spin_until(end);
  return {};
}

Status SyntheticWorkload::after(std::uint64_t) noexcept {
  spin_until(end_of(wcet_.after));
  return {};
}

} // namespace rtexec::tasks
