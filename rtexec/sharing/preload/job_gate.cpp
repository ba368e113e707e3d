#include "rtexec/sharing/preload/job_gate.hpp"

#include "hal/thread.hpp"

#include <sched.h>

namespace rtexec::preload {
namespace {

/// The number of yields before sleeping. Sleeping is needed because the submitting thread may have a lower priority.
constexpr int yields = 100;
constexpr Duration between_looks = std::chrono::microseconds(200);

} // namespace

bool JobGate::open() noexcept {
  const std::scoped_lock lock(mutex_);
  if (open_.load(std::memory_order_relaxed)) return true;
  if (!device_.begin()) return false;
  open_.store(true, std::memory_order_seq_cst);
  return true;
}

void JobGate::synchronised() noexcept {
  if (!open_.load(std::memory_order_relaxed)) return;
  const std::scoped_lock lock(mutex_);
  if (!open_.load(std::memory_order_relaxed) || own_jobs_ > 0) return;
  open_.store(false, std::memory_order_seq_cst);
  if (submitting_.load(std::memory_order_seq_cst) == 0 && device_.idle()) device_.end();
  else open_.store(true, std::memory_order_seq_cst);
}

void JobGate::give_way(Duration timeout) noexcept {
  const std::scoped_lock lock(mutex_);
  if (!open_.load(std::memory_order_relaxed) || own_jobs_ > 0) return;
  open_.store(false, std::memory_order_seq_cst);
  for (const Instant until = hal::now() + timeout; hal::now() < until; hal::sleep_until(hal::now() + between_looks)) {
    if (submitting_.load(std::memory_order_seq_cst) == 0 && device_.idle()) return device_.end();
  }
  open_.store(true, std::memory_order_seq_cst);
}

bool JobGate::begin() noexcept {
  const std::scoped_lock lock(mutex_);
  if (!open_.load(std::memory_order_relaxed) && !device_.begin()) return false;
  open_.store(true, std::memory_order_seq_cst);
  ++own_jobs_;
  return true;
}

void JobGate::end() noexcept {
  const std::scoped_lock lock(mutex_);
  if (own_jobs_ > 0) --own_jobs_;
  if (own_jobs_ > 0 || !open_.load(std::memory_order_relaxed)) return;
  open_.store(false, std::memory_order_seq_cst);
  await_submissions();
  device_.wait_until_idle();
  device_.end();
}

void JobGate::await_submissions() const noexcept {
  for (int i = 0; submitting_.load(std::memory_order_seq_cst) != 0; ++i)
    i < yields ? static_cast<void>(::sched_yield()) : hal::sleep_until(hal::now() + between_looks);
}

JobGate::Pause::Pause(JobGate& gate) noexcept : gate_(gate), was_open_(gate.open_.load(std::memory_order_relaxed)) {
  gate_.open_.store(false, std::memory_order_seq_cst);
  gate_.await_submissions();
  if (was_open_) gate_.device_.wait_until_idle();
}

JobGate::Pause::~Pause() {
  if (was_open_ && gate_.device_.holds()) gate_.open_.store(true, std::memory_order_seq_cst);
}

} // namespace rtexec::preload
