// A device in plain memory, without threads or system calls, for tests with very many events. Mappings are a table,
// engines work at once on the caller's thread, and any call of a run may fail at random. Not thread-safe.
#pragma once

#include "hal/device_interface.hpp"
#include "hal/digest_of.hpp"
#include "hal/thread.hpp"

#include <array>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace rtexec::test {

class PlainDevice final : public hal::Device {
 public:
  static constexpr Bytes chunk{64};
  /// The chunk mapped in a slot of a range.
  struct Mapping {
    std::optional<hal::Chunk> chunk{};
    hal::Access access = hal::Access::none;
    bool unmapping_failed = false; // it is unknown whether it can still be accessed
    friend bool operator==(const Mapping&, const Mapping&) = default;
  };
  using Table = std::vector<std::vector<Mapping>>; // by range, in the order of reserve()

  PlainDevice(std::size_t chunks, std::uint64_t seed) : random_(seed), memory_(chunks * chunk.count) {
    capabilities_.shared_mapping = capabilities_.remap_under_load = true;
    capabilities_.digest = capabilities_.computes_on_core = true;
  }

  /// From now on one call in `failing` fails, and one copy in `flipping` to the device silently flips a bit. 0 disables
  /// either.
  void inject(unsigned failing, unsigned flipping) {
    failing_ = failing;
    flipping_ = flipping;
  }
  /// Returns the number of faults so far, including flips.
  [[nodiscard]] std::uint64_t faults() const { return faults_; }
  [[nodiscard]] std::uint64_t flips() const { return flips_; }
  [[nodiscard]] const Table& mappings() const { return mappings_; }
  /// Calls `work` as if on the thread of that engine.
  template <class Work> auto on(hal::EngineKind kind, Work work) {
    thread_of_ = kind;
    return work();
  }

  std::string name() const override { return "plain"; }
  DeviceKind kind() const noexcept override { return DeviceKind::host; }
  Bytes capacity() const override { return Bytes{memory_.size()}; }
  Bytes chunk_size() const override { return chunk; }
  const hal::DeviceCapabilities& capabilities() const override { return capabilities_; }
  Result<std::vector<hal::Chunk>> create_chunks(std::size_t count) override {
    if ((created_ + count) * chunk.count > memory_.size())
      return fail(Errc::out_of_memory, "the test made its device too small");
    std::vector<hal::Chunk> chunks(count);
    for (hal::Chunk& each : chunks) each = hal::Chunk(created_++);
    return chunks;
  }
  std::byte* window(hal::Chunk of) const override {
    return const_cast<std::byte*>(memory_.data()) + index(of) * chunk.count;
  }
  std::size_t chunks_created() const override { return created_; }

  Result<hal::AddressRange> reserve(Bytes size) override {
    mappings_.emplace_back(size.count / chunk.count);
    return hal::AddressRange{reinterpret_cast<std::byte*>(mappings_.size() * range_distance), size};
  }
  Result<> release(hal::AddressRange) override { return {}; }
  Status map(hal::AddressRange range, std::size_t slot, hal::Chunk of, hal::Access access) noexcept override {
    Mapping& mapping = at(range, slot);
    if (mapping.chunk || index(of) >= created_) return Unexpected(Errc::bad_input);
    if (fails()) return Unexpected(Errc::device_fault);
    mapping = {.chunk = of, .access = access};
    return {};
  }
  Status unmap(hal::AddressRange range, std::size_t slot) noexcept override {
    Mapping& mapping = at(range, slot);
    if (!mapping.chunk) return Unexpected(Errc::bad_input);
    if (fails()) return mapping.unmapping_failed = true, Unexpected(Errc::device_fault);
    mapping = {};
    return {};
  }

  using Device::copy;
  Status copy(std::byte* to, const std::byte* from, Bytes size, hal::DuringCopy beside) noexcept override {
    if (fails()) return Unexpected(Errc::device_fault); // the copy does not begin
    const Status meanwhile = beside();
    const Status moved = move({to, from, size});
    return meanwhile ? moved : meanwhile;
  }
  /// The copy takes place at some time before its end.
  Status begin_copy(std::byte* to, const std::byte* from, Bytes size) noexcept override {
    auto& begun = begun_[static_cast<std::size_t>(thread_of_)];
    if (begun.count == copies_at_once) return Unexpected(Errc::out_of_memory);
    if (fails()) return Unexpected(Errc::device_fault);
    if (random_() % 2 == 0) std::memcpy(to, from, size.count);
    begun.copies[(begun.first + begun.count++) % copies_at_once] = {to, from, size};
    return {};
  }
  Status end_copy() noexcept override {
    auto& begun = begun_[static_cast<std::size_t>(thread_of_)];
    if (begun.count == 0) return Unexpected(Errc::bad_input);
    --begun.count;
    return move(begun.copies[begun.first++ % copies_at_once]);
  }
  Status digest(const std::byte* of, Bytes size, hal::Digest& result) noexcept override {
    if (fails()) return Unexpected(Errc::device_fault);
    result = hal::digest_of(of, size);
    return {};
  }
  Result<> pin(std::byte*, Bytes) override { return {}; }
  Result<> unpin(std::byte*) override { return {}; }
  hal::Engine& engine(hal::EngineKind kind) override { return engines_[static_cast<std::size_t>(kind)]; }
  Result<> start_secondary_compute() override { return fail(Errc::unsupported, "one compute engine here"); }
  Result<Buffer> allocate(BufferKind, Bytes) override { return fail(Errc::unsupported, "no buffers here"); }
  Result<> free(const Buffer&) override { return fail(Errc::unsupported, "no buffers here"); }
  Result<hal::MemoryUse> memory_use() const override { return hal::MemoryUse{}; }
  std::optional<hal::DeviceFault> fault() const override { return std::nullopt; }

 private:
  /// An engine that does its work while it is submitted.
  struct Engine final : hal::Engine {
    PlainDevice* device = nullptr;
    hal::EngineKind kind{};

    Engine(PlainDevice& of, hal::EngineKind as) : device(&of), kind(as) {}
    Status submit(const hal::Work& work) noexcept override {
      device->thread_of_ = kind;
      const Instant begin = hal::now();
      if (work.begin != nullptr) work.begin(work.context);
      work.done(work.context, work.run(work.context), begin, hal::now());
      return {};
    }
    Result<> configure(const hal::ThreadSettings&) override { return {}; }
    int kernel_id() const override { return 0; }
  };
  struct Copy {
    std::byte* to = nullptr;
    const std::byte* from = nullptr;
    Bytes size;
  };
  struct Begun {
    std::array<Copy, copies_at_once> copies{};
    std::size_t first = 0, count = 0;
  };

  /// Ranges are addresses that are never accessed.
  static constexpr std::uintptr_t range_distance = std::uintptr_t{1} << 32;
  Mapping& at(hal::AddressRange range, std::size_t slot) {
    return mappings_[reinterpret_cast<std::uintptr_t>(range.base) / range_distance - 1][slot];
  }

  bool one_in(unsigned so_many) noexcept {
    if (so_many == 0 || random_() % so_many != 0) return false;
    ++faults_;
    return true;
  }
  bool fails() noexcept { return one_in(failing_); }
  /// Copies. A failed copy leaves random data.
  Status move(const Copy& copy) noexcept {
    const bool failed = fails();
    if (failed) std::memset(copy.to, 0xEE, copy.size.count / 2);
    else std::memcpy(copy.to, copy.from, copy.size.count);
    const bool inwards = copy.to >= memory_.data() && copy.to < memory_.data() + memory_.size();
    if (inwards && !failed && one_in(flipping_)) {
      copy.to[random_() % copy.size.count] ^= std::byte{16};
      ++flips_;
    }
    return failed ? Unexpected(Errc::device_fault) : Status();
  }

  std::mt19937_64 random_;
  std::vector<std::byte> memory_;
  std::size_t created_ = 0;
  Table mappings_;
  std::array<Begun, 3> begun_{}; // by EngineKind
  hal::EngineKind thread_of_ = hal::EngineKind::copy_in;
  unsigned failing_ = 0, flipping_ = 0;
  std::uint64_t faults_ = 0, flips_ = 0;
  hal::DeviceCapabilities capabilities_;
  std::array<Engine, 3> engines_{Engine{*this, hal::EngineKind::compute}, Engine{*this, hal::EngineKind::copy_in},
                                 Engine{*this, hal::EngineKind::copy_out}};
};

} // namespace rtexec::test
