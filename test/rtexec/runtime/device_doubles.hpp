// A device that can be lost or fail to map, and a workload that loses it, built over the host device. They show the
// executive what a GPU's sticky error looks like.
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

/// State shared by the device, the workloads and the test.
struct DeviceState {
  std::string name = "double";
  std::atomic<int> open{0};
  std::atomic<int> opened{0};
  std::atomic<bool> lost{false};
  std::vector<Bytes> asked;                            // the requested capacities
  std::atomic<int> failing_maps{0}, failing_unmaps{0}; // how many of the next calls fail

  void lose(const std::string& what) {
    const std::scoped_lock lock(mutex);
    fault = hal::DeviceFault{what};
    lost.store(true);
  }
  std::mutex mutex;
  std::optional<hal::DeviceFault> fault;
  std::optional<hal::DeviceClocks> clocks;
  std::optional<Duration> executed; // execution time that the device reports for a job
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

/// Returns a function that opens doubles of the requested capacity, or of `whole` if that is 0.
inline executive::OpenDevice opener(const std::shared_ptr<DeviceState>& state, Bytes whole = Bytes{64 << 20}) {
  return [=](Bytes capacity, Bytes chunk) -> Result<std::unique_ptr<hal::Device>> {
    state->asked.push_back(capacity);
    return std::make_unique<DeviceDouble>(state, capacity == Bytes{0} ? whole : capacity, chunk);
  };
}

/// The observations of a workload double, and how it must behave.
struct WorkloadState {
  std::string fingerprint = "double 1";
  // The number of the job that loses the device; a warm-up counts as job 0.
  std::optional<std::uint64_t> loses_device;
  std::optional<std::uint64_t> faults;     // the job that reports a fault although the device is intact
  std::optional<std::uint64_t> finds_lost; // the job that reports a lost device, regardless of the device
  std::string bind_error;                  // empty: none
  std::vector<std::string> known_tuning;   // the tuning that tune() returns and use() accepts
  std::vector<std::string> used;           // the tuning passed to use()
  int tuned = 0, bound = 0;
  bool observed_before_bind = false;
  int left_device_behind = 0; // how many were destroyed after their device
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
