#include "hal/idle_states.hpp"

#include "hal/linux/advice.hpp"
#include "hal/system.hpp"

#include <cerrno>
#include <cstdint>
#include <fcntl.h>

namespace rtexec::hal {

namespace {

constexpr const char* control = "/dev/cpu_dma_latency";

void spin_until(const std::atomic<bool>& ending) noexcept {
  while (!ending.load(std::memory_order_relaxed)) pause_core();
}

} // namespace

Result<ShallowIdle> ShallowIdle::hold() {
  ShallowIdle held;
  held.file_ = FileDescriptor(sys().open(control, O_RDWR | O_CLOEXEC));
  const int file = held.file_.number();
  const int error = errno;
  if (file < 0 && (error == ENOENT || error == ENODEV || error == ENXIO))
    return fail(Errc::unsupported, std::string(control) + " does not exist");
  if (file < 0)
    return call_failed(std::string("disabling deep idle states: opening ") + control, error, idle_states_advice());
  const std::int32_t wanted = 0;
  if (sys().write(file, &wanted, sizeof wanted) != sizeof wanted)
    return call_failed(std::string("disabling deep idle states: writing ") + control, errno);
  std::int32_t in_force = -1;
  if (sys().read(file, &in_force, sizeof in_force) != sizeof in_force || in_force != wanted)
    return fail(Errc::refused, std::string("disabling deep idle states: ") + control + " reads " +
                                   std::to_string(in_force) + " us after 0 us was written");
  return held;
}

Result<KeepAwake> KeepAwake::hold(std::span<const unsigned> cores, CpusetPartition* partition) {
  KeepAwake held;
  held.ending_ = std::make_unique<std::atomic<bool>>(false);
  for (const unsigned core : cores) {
    auto thread = Thread::start(giving_way("awake/" + std::to_string(core), core, partition),
                                [&ending = *held.ending_] { spin_until(ending); });
    if (!thread) return Unexpected(thread.error());
    held.threads_.push_back(std::move(*thread));
  }
  return held;
}

KeepAwake& KeepAwake::operator=(KeepAwake&& other) noexcept {
  end();
  ending_ = std::move(other.ending_);
  threads_ = std::move(other.threads_);
  return *this;
}

KeepAwake::~KeepAwake() { end(); }

void KeepAwake::end() noexcept {
  if (ending_) ending_->store(true, std::memory_order_relaxed);
  threads_.clear(); // joins
}

} // namespace rtexec::hal
