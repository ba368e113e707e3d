#include <rtexec/bandwidth_lock.hpp>

#include "hal/resources.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <span>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace rtexec {

/// The entry in the page for one BandwidthLocks object; normally each process has one such object. The process that
/// owns the entry also holds a file lock on one byte of the file. The kernel releases this lock when the process ends.
/// Process numbers cannot show that a process has ended, because numbers are reused, and other PID namespaces have
/// their own numbers.
struct alignas(64) BandwidthLocks::Place {
  std::atomic<std::int32_t> process{0}; // the owner; 0: the entry is free
  std::atomic<std::uint32_t> locks{0}, busy{0};
  // The last instants at which `locks` and `busy` became 0, ns on CLOCK_MONOTONIC
  std::atomic<std::int64_t> unlocked_at{0}, left_at{0};

  void clear() noexcept {
    process.store(0);
    locks.store(0);
    busy.store(0);
    unlocked_at.store(0);
    left_at.store(0);
  }
};

/// The contents of the shared file. A new file is all zeros, which is a page without any held lock.
struct BandwidthLocks::Page {
  std::atomic<std::uint64_t> layout{0};
  std::atomic<std::uint32_t> used{0}; // number of entries that were ever used; regulating threads read only these
  std::array<Place, max_processes> places;
};

namespace {

constexpr std::uint64_t this_layout = 0x7274'6578'6563'0003; // "rtexec", version 3

/// Takes or releases the file lock on the byte of an entry. Returns false if another object holds the lock. The lock
/// belongs to the open file instead of the process. Therefore, it also works between two objects in one process.
bool own(int file, std::size_t place, short type) noexcept {
  struct flock range {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  range.l_start = static_cast<off_t>(place);
  range.l_len = 1;
  return ::fcntl(file, F_OFD_SETLK, &range) == 0;
}

Unexpected<Error> failed(const std::filesystem::path& file, const std::string& why) {
  return fail(Errc::refused, "the page of bandwidth locks, " + file.string() + ": " + why);
}

/// Opens the page; returns -1 and sets errno on failure. Opens an existing file without O_CREAT, because
/// fs.protected_regular would refuse O_CREAT to users other than the file's owner.
int open_page(const std::filesystem::path& file) {
  constexpr int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW;
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (const int there = ::open(file.c_str(), flags); there >= 0 || errno != ENOENT) return there;
    const int made = ::open(file.c_str(), flags | O_CREAT | O_EXCL, 0660);
    if (made >= 0) ::fchmod(made, 0660); // makes the mode independent of the umask
    if (made >= 0 || errno != EEXIST) return made;
  }
  return ::open(file.c_str(), flags);
}

/// Returns the reason why the file's owner is not trusted. A user who can write the file can shorten it, and so kill
/// every process that has the file mapped. Returns an empty text if the owner is root or this user. The owner decides
/// who else may write.
std::string mistrust(int file) {
  struct stat found {};
  if (::fstat(file, &found) != 0) return hal::errno_text(errno);
  if (found.st_uid == 0 || found.st_uid == ::geteuid()) return {};
  return "it belongs to user " + std::to_string(found.st_uid) +
         ", who could crash this process by truncating it; stop its users and delete it";
}

/// Allocates the file's memory in advance. Otherwise, if /dev/shm is full, writing to the mapped file would kill the
/// process. Returns 0, or -1 with errno set.
int grow(int file, std::size_t size) {
  if (::fallocate(file, 0, 0, static_cast<off_t>(size)) == 0) return 0;
  struct stat found {};
  if (errno != EOPNOTSUPP || ::fstat(file, &found) != 0) return -1;
  return found.st_size >= static_cast<off_t>(size) ? 0 : ::ftruncate(file, static_cast<off_t>(size));
}

void raise_to(std::atomic<std::uint32_t>& highest, std::uint32_t value) noexcept {
  std::uint32_t now = highest.load();
  while (now < value && !highest.compare_exchange_weak(now, value)) {}
}

void count_down(std::atomic<std::uint32_t>& held, std::atomic<std::int64_t>& ended_at) noexcept {
  std::uint32_t now = held.load(std::memory_order_relaxed);
  // The instant must be stored before other threads can see that the count is 0
  if (now == 1) ended_at.store(std::chrono::steady_clock::now().time_since_epoch().count(), std::memory_order_release);
  while (now > 0 && !held.compare_exchange_weak(now, now - 1, std::memory_order_acq_rel)) {}
}

} // namespace

Result<BandwidthLocks> BandwidthLocks::open(const std::filesystem::path& folder) {
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
  const std::filesystem::path file = folder / "rtexec-bandwidth-locks";
  BandwidthLocks locks;
  locks.file_ = open_page(file);
  if (locks.file_ < 0 && errno == EACCES)
    return failed(file,
                  "this user may not write it; delete it if nobody uses it, or share it: install -m 660 -o root -g "
                  "GROUP /dev/null " +
                      file.string());
  if (locks.file_ < 0) return failed(file, hal::errno_text(errno));
  if (const std::string why = mistrust(locks.file_); !why.empty()) return failed(file, why);
  if (grow(locks.file_, sizeof(Page)) != 0) return failed(file, hal::errno_text(errno));
  void* memory = ::mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, locks.file_, 0);
  if (memory == MAP_FAILED) return failed(file, hal::errno_text(errno));
  locks.page_ = static_cast<Page*>(memory);
  std::uint64_t layout = 0;
  if (!locks.page_->layout.compare_exchange_strong(layout, this_layout) && layout != this_layout)
    return failed(file, "it was made by another version of rtexec; stop its users and delete it");
  for (std::size_t i = 0; i < max_processes; ++i) {
    if (!own(locks.file_, i, F_WRLCK)) continue;
    locks.place_ = &locks.page_->places[i];
    locks.place_->clear(); // removes the contents of a process that died
    raise_to(locks.page_->used, static_cast<std::uint32_t>(i + 1));
    locks.place_->process.store(::getpid());
    locks.forget_dead();
    return locks;
  }
  return failed(file, std::to_string(max_processes) + " processes use all of its slots");
}

BandwidthLocks::~BandwidthLocks() {
  // A forked child has a copy of its parent's object, and must not release the parent's entry.
  if (place_ != nullptr && place_->process.load() == ::getpid()) {
    place_->clear();
    own(file_, static_cast<std::size_t>(place_ - page_->places.data()), F_UNLCK);
  }
  if (page_ != nullptr) ::munmap(page_, sizeof(Page));
  if (file_ >= 0) ::close(file_);
}

BandwidthLocks::BandwidthLocks(BandwidthLocks&& other) noexcept
    : file_(std::exchange(other.file_, -1)),
      page_(std::exchange(other.page_, nullptr)),
      place_(std::exchange(other.place_, nullptr)) {}

BandwidthLocks& BandwidthLocks::operator=(BandwidthLocks&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(page_, other.page_);
  std::swap(place_, other.place_);
  return *this;
}

void BandwidthLocks::lock() noexcept { place_->locks.fetch_add(1, std::memory_order_acq_rel); }
void BandwidthLocks::unlock() noexcept { count_down(place_->locks, place_->unlocked_at); }
void BandwidthLocks::gpu_busy() noexcept { place_->busy.fetch_add(1, std::memory_order_acq_rel); }
void BandwidthLocks::gpu_not_busy() noexcept { count_down(place_->busy, place_->left_at); }

BandwidthHolders BandwidthLocks::holders() const noexcept {
  BandwidthHolders held;
  const std::size_t used = std::min<std::size_t>(page_->used.load(std::memory_order_acquire), max_processes);
  for (const Place& place : std::span(page_->places).first(used)) {
    if (place.process.load(std::memory_order_relaxed) == 0) continue;
    held.locks += place.locks.load(std::memory_order_acquire);
    held.busy += place.busy.load(std::memory_order_acquire);
    held.unlocked = std::max(held.unlocked, Instant(Duration(place.unlocked_at.load(std::memory_order_acquire))));
    held.left = std::max(held.left, Instant(Duration(place.left_at.load(std::memory_order_acquire))));
  }
  return held;
}

void BandwidthLocks::forget_dead() noexcept {
  for (std::size_t i = 0; i < max_processes; ++i) {
    Place& place = page_->places[i];
    if (&place == place_ || place.process.load() == 0 || !own(file_, i, F_WRLCK)) continue;
    place.clear();
    own(file_, i, F_UNLCK);
  }
}

} // namespace rtexec
