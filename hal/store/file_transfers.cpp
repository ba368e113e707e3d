#include "hal/store/file_transfers.hpp"

#include "hal/system.hpp"

#include <cerrno>

namespace rtexec::hal {

void FileTransfers::begin(unsigned slot, const FilePart& part) noexcept {
  slots_[slot] = {.left = part};
  if (ring_) resume(slot);
}

Status FileTransfers::finish(unsigned slot) noexcept {
  Slot& mine = slots_[slot];
  while (mine.left.size.count > 0) {
    if (!ring_) account(mine, transfer(mine.left));
    else wait();
  }
  return mine.failed ? Status(Unexpected(Errc::io_error)) : Status();
}

void FileTransfers::end() noexcept {
  for (unsigned slot = 0; slot < depth; ++slot) {
    if (ring_) (void)finish(slot);
    else slots_[slot] = {};
  }
}

void FileTransfers::resume(unsigned slot) noexcept {
  if (const int error = ring_->begin(direction_ == Direction::write, slots_[slot].left, slot); error != 0)
    give_up(slots_[slot], error);
}

/// Waits for the next completed transfer, in any slot.
void FileTransfers::wait() noexcept {
  const auto completion = ring_->wait();
  if (!completion) {
    for (Slot& each : slots_) {
      if (each.left.size.count > 0) give_up(each, completion.error());
    }
    return;
  }
  Slot& slot = slots_[completion->tag];
  account(slot, completion->result);
  if (slot.left.size.count > 0) resume(completion->tag);
}

/// Transfers `part` by pread or pwrite. Returns the number of bytes, or a negative errno.
long FileTransfers::transfer(const FilePart& part) const noexcept {
  const auto offset = static_cast<off_t>(part.offset.count);
  const ssize_t moved = direction_ == Direction::write ? sys().pwrite(file_, part.at, part.size.count, offset)
                                                       : sys().pread(file_, part.at, part.size.count, offset);
  return moved < 0 ? -errno : moved;
}

void FileTransfers::account(Slot& slot, long result) noexcept {
  constexpr int max_attempts = 100;
  if (result > 0) {
    const Bytes moved{static_cast<std::uint64_t>(result)};
    slot.left = {slot.left.at + moved.count, slot.left.size - moved, slot.left.offset + moved};
    slot.attempts = 0;
  } else if ((result == -EAGAIN || result == -EINTR) && ++slot.attempts < max_attempts) {
    return;
  } else {
    give_up(slot, result == 0 ? EIO : static_cast<int>(-result));
  }
}

void FileTransfers::give_up(Slot& slot, int error) noexcept {
  slot.left.size = {};
  slot.failed = true;
  last_error_.store(error, std::memory_order_relaxed);
}

} // namespace rtexec::hal
