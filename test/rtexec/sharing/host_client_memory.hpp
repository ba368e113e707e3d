// Simulates a client's memory. Frames are memory files mapped at the arena's addresses, so a touch of an absent slot is
// a real fault.
#pragma once

#include "rtexec/sharing/client/client_memory.hpp"

#include <cstddef>
#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <sys/mman.h>
#include <utility>
#include <vector>

namespace rtexec::client::test {

class HostClientMemory final : public ClientMemory {
 public:
  HostClientMemory(std::uint32_t slots, std::size_t chunk)
      : chunk_(chunk),
        size_(slots * chunk),
        base_(static_cast<std::byte*>(
            ::mmap(nullptr, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))),
        saved_(slots),
        stands_(slots) {}
  ~HostClientMemory() override { ::munmap(base_, size_); }

  [[nodiscard]] std::byte* slot(std::uint32_t number) const { return base_ + number * chunk_; }
  [[nodiscard]] std::size_t chunk() const { return chunk_; }

  Result<> adopt(std::uint32_t frame, config::Descriptor chunk) override {
    frames_[frame] = std::move(chunk);
    return {};
  }
  Result<> forget_frames() override {
    for (std::uint32_t slot = 0; slot < stands_.size(); ++slot)
      if (stands_[slot]) empty(slot);
    frames_.clear();
    return {};
  }

  Status begin_load(std::uint32_t slot, std::uint32_t frame) noexcept override {
    if (slot >= stands_.size() || stands_[slot] || !frames_.contains(frame)) return Unexpected(Errc::bad_input);
    if (::mmap(this->slot(slot), chunk_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, frames_[frame].get(), 0) ==
        MAP_FAILED)
      return Unexpected(Errc::out_of_memory);
    if (saved_[slot].empty()) std::memset(this->slot(slot), 0, chunk_);
    else std::memcpy(this->slot(slot), saved_[slot].data(), chunk_);
    stands_[slot] = true;
    return {};
  }
  Status finish_load() noexcept override { return {}; }
  Status begin_save(std::uint32_t slot) noexcept override {
    if (slot >= stands_.size() || !stands_[slot]) return Unexpected(Errc::bad_input);
    saving_.push_back(slot);
    return {};
  }
  Status finish_save() noexcept override {
    empty(saving_.front());
    saving_.pop_front();
    return {};
  }

 private:
  void empty(std::uint32_t number) {
    saved_[number].assign(slot(number), slot(number) + chunk_);
    (void)::mmap(slot(number), chunk_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    stands_[number] = false;
  }

  std::size_t chunk_, size_;
  std::byte* base_;
  std::map<std::uint32_t, config::Descriptor> frames_;
  std::vector<std::vector<std::byte>> saved_;
  std::vector<bool> stands_;
  std::deque<std::uint32_t> saving_;
};

} // namespace rtexec::client::test
