#include "rtexec/runtime/channels/latest_mailbox.hpp"

#include <algorithm>
#include <utility>

namespace rtexec::channels {

/// Allocates `kept` + `readers` + 1 slots: one for each of the newest `kept` values, one for each reader, which may
/// still read an older value, and one for the next value.
LatestMailbox::LatestMailbox(std::size_t size, std::size_t readers, std::size_t kept, Where where)
    : size_(size),
      distance_(round_up(Bytes{size}, Bytes{256}).count),
      slots_(kept + readers + 1),
      reading_(readers),
      kept_(kept) {
  if (where == Where::given_memory) return;
  own_.resize(total_size().count);
  use_memory(own_.data());
}

void LatestMailbox::use_memory(std::byte* memory) noexcept {
  for (std::size_t i = 0; i < slots_.size(); ++i) slots_[i].bytes = {memory + i * distance_, size_};
}

/// Returns a slot that no reader reads, and whose value need not be kept. A reader first announces the slot that it
/// will read, and then checks that the slot still has the value. The writer first invalidates the slot, and then checks
/// that no reader has announced it. All these operations are sequentially consistent, so that at least one side sees
/// the other side's first step.
LatestMailbox::Slot& LatestMailbox::free_slot() noexcept {
  const std::uint64_t versions = versions_.load(std::memory_order_relaxed);
  for (;;)
    for (Slot& slot : slots_) {
      const std::uint64_t version = slot.version.load();
      if (version + kept_ > versions && version != 0) continue;
      slot.version.store(0);
      if (!is_read(slot)) return slot;
      slot.version.store(version);
    }
}

std::span<std::byte> LatestMailbox::take() noexcept {
  if (taken_ == nullptr) taken_ = &free_slot();
  return taken_->bytes;
}

void LatestMailbox::publish(const Stamp& stamp) noexcept {
  Slot* const slot = std::exchange(taken_, nullptr);
  if (slot == nullptr) return;
  slot->stamp = stamp;
  slot->visible.store(stamp.visible.time_since_epoch().count(), std::memory_order_relaxed);
  const std::uint64_t version = versions_.load(std::memory_order_relaxed) + 1;
  slot->version.store(version);
  versions_.store(version);
}

bool LatestMailbox::is_read(const Slot& slot) const noexcept {
  return std::ranges::any_of(reading_, [&](const auto& read) { return read.load() == &slot; });
}

/// Searches all slots for the newest visible value. Repeats the search if a value was written meanwhile. The new value
/// may be in a slot that was already searched, and the previous value may have been overwritten.
std::optional<LatestMailbox::Value> LatestMailbox::newest(std::size_t reader, Instant when) noexcept {
  for (;;) {
    const std::uint64_t versions = versions_.load();
    const Slot* found = nullptr;
    std::uint64_t version = 0;
    for (const Slot& slot : slots_)
      if (const std::uint64_t of_slot = slot.version.load();
          of_slot > version && slot.visible.load(std::memory_order_relaxed) <= when.time_since_epoch().count()) {
        found = &slot;
        version = of_slot;
      }
    if (versions_.load() != versions) continue;
    if (found == nullptr) return std::nullopt;
    reading_[reader].store(found);
    if (found->version.load() == version)
      return Value{.version = version, .stamp = found->stamp, .bytes = found->bytes};
  }
}

} // namespace rtexec::channels
