#include "hal/store/common.hpp"

#include <array>
#include <cstring>

namespace rtexec::hal {
namespace {

class HostStore final : public BackingStore {
 public:
  HostStore(Device& device, std::size_t chunks, HostMemoryKind kind, StoreMemory memory)
      : device_(device), chunks_(chunks), kind_(kind), memory_(std::move(memory)) {}

  [[nodiscard]] std::string description() const override {
    return kind_ == HostMemoryKind::page_locked ? "page-locked host memory" : "pageable host memory";
  }
  [[nodiscard]] std::size_t chunks() const override { return chunks_; }

  [[nodiscard]] Result<> fill(std::size_t chunk, std::span<const std::byte> contents) override {
    if (auto possible = check_fill(*this, device_.chunk_size(), chunk, contents); !possible) return possible;
    if (!contents.empty()) std::memcpy(copy_of(chunk), contents.data(), contents.size());
    std::memset(copy_of(chunk) + contents.size(), 0, device_.chunk_size().count - contents.size());
    return {};
  }
  void begin_load(std::size_t chunk, std::byte* window) noexcept override {
    if (may_begin(chunk, window))
      loads_.add({chunk, window}, device_.begin_copy(window, copy_of(chunk), device_.chunk_size()));
  }
  void begin_save(std::size_t chunk, const std::byte* window) noexcept override {
    if (may_begin(chunk, window))
      saves_.add({chunk, window}, device_.begin_copy(copy_of(chunk), window, device_.chunk_size()));
  }
  [[nodiscard]] Status load(std::size_t chunk, std::byte* window, DuringCopy during) noexcept override {
    if (!is_possible(chunk, window)) return bad_transfer(during);
    if (loads_.take({chunk, window})) return end_copy(during);
    return device_.copy(window, copy_of(chunk), device_.chunk_size(), during);
  }
  [[nodiscard]] Status save(std::size_t chunk, const std::byte* window, DuringCopy during) noexcept override {
    if (!is_possible(chunk, window)) return bad_transfer(during);
    if (saves_.take({chunk, window})) return end_copy(during);
    return device_.copy(copy_of(chunk), window, device_.chunk_size(), during);
  }

 private:
  /// Pending transfers of one direction: their copy was begun on the device and has not ended. The device limits their
  /// number.
  class Begun {
   public:
    struct Transfer {
      std::size_t chunk = 0;
      const std::byte* window = nullptr;
      friend bool operator==(const Transfer&, const Transfer&) = default;
    };
    void add(Transfer transfer, Status begun) noexcept {
      if (begun) transfers_[begun_++ % transfers_.size()] = transfer;
    }
    /// If `transfer` is the oldest pending transfer, removes it and returns true.
    [[nodiscard]] bool take(Transfer transfer) noexcept {
      if (begun_ == ended_ || transfers_[ended_ % transfers_.size()] != transfer) return false;
      ++ended_;
      return true;
    }

   private:
    std::array<Transfer, Device::copies_at_once> transfers_{};
    std::size_t begun_ = 0, ended_ = 0;
  };

  [[nodiscard]] bool is_possible(std::size_t chunk, const std::byte* window) const {
    return chunk < chunks_ && window != nullptr;
  }
  /// True if the copy may be begun before load() or save() is called. False for pageable memory, because beginning its
  /// copy would wait for most of the copy.
  [[nodiscard]] bool may_begin(std::size_t chunk, const std::byte* window) const {
    return kind_ == HostMemoryKind::page_locked && is_possible(chunk, window);
  }
  [[nodiscard]] Status end_copy(DuringCopy during) noexcept {
    const Status meanwhile = during();
    const Status done = device_.end_copy();
    return meanwhile ? done : meanwhile;
  }
  [[nodiscard]] std::byte* copy_of(std::size_t chunk) const {
    return memory_.base() + chunk * device_.chunk_size().count;
  }

  Device& device_;
  std::size_t chunks_;
  HostMemoryKind kind_;
  StoreMemory memory_;
  Begun loads_, saves_;
};

} // namespace

Result<std::unique_ptr<BackingStore>> open_host_store(Device& device, std::size_t chunks, HostMemoryKind kind) {
  const auto size = store_size(device, chunks);
  if (!size) return Unexpected(size.error());
  auto memory = StoreMemory::open(device, *size, kind, "a backing store of " + readable(*size) + " in host memory");
  if (!memory) return Unexpected(memory.error());
  return std::make_unique<HostStore>(device, chunks, kind, std::move(*memory));
}

} // namespace rtexec::hal
