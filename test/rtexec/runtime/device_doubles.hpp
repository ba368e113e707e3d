// A device that can be lost or fail to map, and a workload that loses it, over the host device: what a GPU's sticky
// error looks like to the executive.
#pragma once

#include "rtexec/runtime/planning/executive_setup.hpp"
#include "test/hal/forwarding_device.hpp"
#include "test/rtexec/runtime/swap_doubles.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace rtexec::test {

/// What device, workloads and test share.
struct DeviceState {
  std::string name = "double";
  std::atomic<int> open{0};
  std::atomic<int> opened{0};
  std::atomic<bool> lost{false};
  std::vector<Bytes> asked;                            // capacities
  std::atomic<int> failing_maps{0}, failing_unmaps{0}; // what comes next; each is counted down

  void lose(const std::string& what) {
    const std::scoped_lock lock(mutex);
    fault = hal::DeviceFault{what};
    lost.store(true);
  }
  std::mutex mutex;
  std::optional<hal::DeviceFault> fault;
  std::optional<hal::DeviceClocks> clocks;
  std::optional<Duration> executed; // what it says that a job did
};

class DeviceDouble final : public hal::test::ForwardingDevice {
 public:
  DeviceDouble(std::shared_ptr<DeviceState> state, Bytes capacity, Bytes chunk)
      : ForwardingDevice(capacity, chunk), state_(std::move(state)) {
    ++state_->open;
    ++state_->opened;
  }
  ~DeviceDouble() override { --state_->open; }

  std::string name() const override { return state_->name; }
  std::optional<hal::DeviceClocks> clocks() const noexcept override { return state_->clocks; }
  Status map(hal::AddressRange range, std::size_t slot, hal::Chunk chunk, hal::Access access) noexcept override {
    if (StoreOrders::take(state_->failing_maps)) return Unexpected(Errc::device_fault);
    return ForwardingDevice::map(range, slot, chunk, access);
  }
  Status unmap(hal::AddressRange range, std::size_t slot) noexcept override {
    if (StoreOrders::take(state_->failing_unmaps)) return Unexpected(Errc::device_fault);
    return ForwardingDevice::unmap(range, slot);
  }
  Duration executed(Duration passed) noexcept override { return state_->executed.value_or(passed); }
  Result<hal::MemoryUse> memory_use() const override {
    return hal::MemoryUse{.own = Bytes{600 << 20}, .context = Bytes{400 << 20}};
  }
  std::optional<hal::DeviceFault> fault() const override {
    const std::scoped_lock lock(state_->mutex);
    return state_->fault;
  }

 private:
  std::shared_ptr<DeviceState> state_;
};

/// Opens doubles; where nothing is asked for, one of `whole`.
inline executive::OpenDevice opener(const std::shared_ptr<DeviceState>& state, Bytes whole = Bytes{64 << 20}) {
  return [=](Bytes capacity, Bytes chunk) -> Result<std::unique_ptr<hal::Device>> {
    state->asked.push_back(capacity);
    return std::make_unique<DeviceDouble>(state, capacity == Bytes{0} ? whole : capacity, chunk);
  };
}

/// What a workload of the doubles saw, and how it is to behave.
struct WorkloadState {
  std::string fingerprint = "double 1";
  std::optional<std::uint64_t> loses_device; // the job that does; number 0 of the rehearsal as well
  std::optional<std::uint64_t> faults;       // the job that reports a fault, and leaves the device whole
  std::optional<std::uint64_t> finds_lost;   // the job that reports a lost device, whatever the device says
  std::string bind_error;                    // empty: none
  std::vector<std::string> known_tuning;     // what tune() tells and use() accepts
  std::vector<std::string> used;             // what use() was given
  int tuned = 0, bound = 0;
  bool observed_before_bind = false;
  int left_device_behind = 0; // destroyed after the device that it was bound to
};

class WorkloadDouble final : public Workload {
 public:
  WorkloadDouble(std::shared_ptr<DeviceState> device, std::shared_ptr<WorkloadState> state)
      : device_(std::move(device)), state_(std::move(state)) {}
  ~WorkloadDouble() override {
    if (bound_ && device_->open.load() == 0) ++state_->left_device_behind;
  }

  MemoryDemand memory() const override {
    return {
        .constant = Bytes{16}, .scratch = Bytes{used_ ? std::uint64_t{5} << 20 : std::uint64_t{64}}, .state = Bytes{8}};
  }
  std::span<const std::byte> constants() const override { return constants_; }
  std::string fingerprint() const override { return state_->fingerprint; }
  std::span<const std::string> layers() const override { return layers_; }

  Result<> use(std::span<const std::string> tuning) override {
    state_->used.assign(tuning.begin(), tuning.end());
    if (state_->used != state_->known_tuning) return fail(Errc::bad_input, "no layer 'x' here");
    used_ = true;
    return {};
  }
  Result<std::vector<std::string>> tune(Device& device, const TuningProgress& progress) override {
    if (device.name() != device_->name) return fail(Errc::refused, "not the device");
    for (std::size_t done = 0; done <= 3; ++done)
      if (!progress(done, 3)) return fail(Errc::cancelled, "tuning was cancelled");
    ++state_->tuned;
    return state_->known_tuning;
  }
  void observe(const LayerObserver& observer) override {
    observer_ = observer;
    state_->observed_before_bind = !bound_;
  }
  Result<> bind(Device&, const Memory&) override {
    if (!state_->bind_error.empty()) return fail(Errc::unsupported, state_->bind_error);
    bound_ = true;
    ++state_->bound;
    return {};
  }

  Status before(std::uint64_t job) noexcept override {
    job_ = job;
    return {};
  }
  Status execute() noexcept override {
    if (device_->lost.load()) return Unexpected(Errc::device_lost);
    if (state_->loses_device == job_) {
      device_->lose("ILLEGAL_ADDRESS (a kernel wrote to constants)");
      return Unexpected(Errc::device_fault);
    }
    if (state_->faults == job_) return Unexpected(Errc::device_fault);
    if (state_->finds_lost == job_) return Unexpected(Errc::device_lost);
    return {};
  }
  Status after(std::uint64_t) noexcept override { return {}; }

 private:
  std::shared_ptr<DeviceState> device_;
  std::shared_ptr<WorkloadState> state_;
  std::vector<std::byte> constants_ = std::vector<std::byte>(16, std::byte{42});
  std::vector<std::string> layers_{"one"};
  LayerObserver observer_;
  std::uint64_t job_ = 0;
  bool used_ = false, bound_ = false;
};

} // namespace rtexec::test
