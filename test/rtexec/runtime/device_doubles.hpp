// A device that can be lost or fail to map, and a workload that loses it, over the host device: what a GPU's sticky
// error looks like to the executive.
#pragma once

#include "hal/host/host_device.hpp"
#include "rtexec/runtime/planning/executive_setup.hpp"
#include "test/rtexec/runtime/swap_doubles.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
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

class DeviceDouble final : public hal::Device {
 public:
  DeviceDouble(std::shared_ptr<DeviceState> state, Bytes capacity, Bytes chunk) : state_(std::move(state)) {
    auto device = hal::HostDevice::open(capacity, chunk);
    if (!device) throw std::runtime_error(device.error().what);
    device_ = std::move(*device);
    ++state_->open;
    ++state_->opened;
  }
  ~DeviceDouble() override { --state_->open; }

  std::string name() const override { return state_->name; }
  DeviceKind kind() const noexcept override { return device_->kind(); }
  std::optional<hal::DeviceClocks> clocks() const noexcept override { return state_->clocks; }
  Bytes capacity() const override { return device_->capacity(); }
  Bytes chunk_size() const override { return device_->chunk_size(); }
  const hal::DeviceCapabilities& capabilities() const override { return device_->capabilities(); }
  Result<std::vector<hal::Chunk>> create_chunks(std::size_t count) override { return device_->create_chunks(count); }
  std::byte* window(hal::Chunk chunk) const override { return device_->window(chunk); }
  std::size_t chunks_created() const override { return device_->chunks_created(); }
  Result<hal::AddressRange> reserve(Bytes size) override { return device_->reserve(size); }
  Result<> release(hal::AddressRange range) override { return device_->release(range); }
  Status map(hal::AddressRange range, std::size_t slot, hal::Chunk chunk, hal::Access access) noexcept override {
    if (StoreOrders::take(state_->failing_maps)) return Unexpected(Errc::device_fault);
    return device_->map(range, slot, chunk, access);
  }
  Status unmap(hal::AddressRange range, std::size_t slot) noexcept override {
    if (StoreOrders::take(state_->failing_unmaps)) return Unexpected(Errc::device_fault);
    return device_->unmap(range, slot);
  }
  using Device::copy;
  Status copy(std::byte* to, const std::byte* from, Bytes size, hal::Beside beside) noexcept override {
    return device_->copy(to, from, size, beside);
  }
  Status begin_copy(std::byte* to, const std::byte* from, Bytes size) noexcept override {
    return device_->begin_copy(to, from, size);
  }
  Status end_copy() noexcept override { return device_->end_copy(); }
  Status digest(const std::byte* at, Bytes size, hal::Digest& result) noexcept override {
    return device_->digest(at, size, result);
  }
  Result<> pin(std::byte* begin, Bytes size) override { return device_->pin(begin, size); }
  Result<> unpin(std::byte* begin) override { return device_->unpin(begin); }
  Duration executed(Duration passed) noexcept override { return state_->executed.value_or(passed); }
  hal::Engine& engine(hal::EngineKind kind) override { return device_->engine(kind); }
  Result<> start_beside() override { return device_->start_beside(); }
  Result<Buffer> allocate(BufferKind kind, Bytes size) override { return device_->allocate(kind, size); }
  Result<> free(const Buffer& buffer) override { return device_->free(buffer); }
  Result<hal::MemoryUse> memory_use() const override {
    return hal::MemoryUse{.own = Bytes{600 << 20}, .context = Bytes{400 << 20}};
  }
  std::optional<hal::DeviceFault> fault() const override {
    const std::scoped_lock lock(state_->mutex);
    return state_->fault;
  }

 private:
  std::shared_ptr<DeviceState> state_;
  std::unique_ptr<hal::HostDevice> device_;
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
