#include "hal/store/io_ring.hpp"

#include "hal/system.hpp"
#include "hal/thread.hpp"

#include <algorithm>
#include <cerrno>
#include <sched.h>
#include <sys/uio.h>

namespace rtexec::hal {
namespace {

constexpr int the_file = 0; // index among the registered files

bool contains(std::span<const std::byte> region, const FilePart& part) {
  return region.data() <= part.at && part.at + part.size.count <= region.data() + region.size();
}

bool runs_under_reservation() {
  SchedulingAttributes attributes;
  return sys().sched_getattr(0, &attributes, sizeof attributes, 0) == 0 && attributes.policy == SCHED_DEADLINE;
}

/// A pause between two polls of the disk. The engines of both directions may share one core and one priority, so each
/// engine's thread yields to the other. Sleeps if spinning would use up a reservation. Also sleeps after 10 ms, because
/// the completion may need a thread of lower priority on this core.
class Pause {
 public:
  void operator()() noexcept {
    using namespace std::chrono_literals;
    constexpr Duration max_spun = 10ms, nap = 50us;
    if (const Instant time = now(); reserved_ || time > begin_ + max_spun) sleep_until(time + nap);
    else ::sched_yield();
  }

 private:
  const bool reserved_ = runs_under_reservation();
  const Instant begin_ = now();
};

} // namespace

Expected<std::unique_ptr<IoRing>, int> IoRing::open(int file, unsigned depth, Completions completions) {
  std::unique_ptr<IoRing> ring(new IoRing(completions));
  if (sys().ring_open(depth, &ring->ring_, completions == Completions::polled ? IORING_SETUP_IOPOLL : 0) != 0) {
    const int error = errno;
    ring->ring_.ring_fd = -1;
    return Unexpected(error);
  }
  if (sys().ring_register_file(&ring->ring_, file) != 0) return Unexpected(errno);
  return ring;
}

IoRing::~IoRing() {
  if (ring_.ring_fd >= 0) sys().ring_close(&ring_);
}

Expected<void, int> IoRing::register_memory(std::vector<std::span<std::byte>> regions) {
  std::vector<iovec> buffers;
  for (const auto region : regions) buffers.push_back({region.data(), region.size()});
  if (sys().ring_register_buffers(&ring_, buffers.data(), static_cast<unsigned>(buffers.size())) != 0)
    return Unexpected(errno);
  regions_ = std::move(regions);
  return {};
}

int IoRing::begin(bool write, const FilePart& part, unsigned tag) noexcept {
  if (error_ != 0) return error_;
  io_uring_sqe* const entry = ::io_uring_get_sqe(&ring_);
  if (entry == nullptr) return error_ = EBUSY;
  prepare(*entry, write, part);
  entry->flags |= IOSQE_FIXED_FILE;
  ::io_uring_sqe_set_data64(entry, tag);
  return error_ = submit();
}

void IoRing::prepare(io_uring_sqe& entry, bool write, const FilePart& part) const noexcept {
  const auto size = static_cast<unsigned>(part.size.count);
  const auto region = std::ranges::find_if(regions_, [&](const auto& each) { return contains(each, part); });
  if (region == regions_.end()) {
    if (write) ::io_uring_prep_write(&entry, the_file, part.at, size, part.offset.count);
    else ::io_uring_prep_read(&entry, the_file, part.at, size, part.offset.count);
    return;
  }
  const auto number = static_cast<int>(region - regions_.begin());
  if (write) ::io_uring_prep_write_fixed(&entry, the_file, part.at, size, part.offset.count, number);
  else ::io_uring_prep_read_fixed(&entry, the_file, part.at, size, part.offset.count, number);
}

int IoRing::submit() noexcept {
  constexpr int max_attempts = 100; // for a temporary shortage of memory in the kernel
  int error = EAGAIN;
  for (int attempt = 0; attempt < max_attempts && (error == EAGAIN || error == EBUSY || error == EINTR); ++attempt) {
    const int submitted = sys().ring_submit(&ring_);
    if (submitted > 0) return 0;
    error = submitted < 0 ? errno : EAGAIN;
  }
  return error;
}

int IoRing::sleep(io_uring_cqe*& completion) noexcept {
  while (sys().ring_wait(&ring_, &completion) != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

int IoRing::poll(io_uring_cqe*& completion) noexcept {
  for (Pause pause; sys().ring_poll(&ring_, &completion) != 0; pause()) {
    if (errno != EAGAIN && errno != EINTR) return errno;
  }
  return 0;
}

Expected<IoRing::Completion, int> IoRing::wait() noexcept {
  io_uring_cqe* completion = nullptr;
  if (const int error = completions_ == Completions::polled ? poll(completion) : sleep(completion); error != 0)
    return Unexpected(error_ = error);
  const Completion found{static_cast<unsigned>(::io_uring_cqe_get_data64(completion)), completion->res};
  ::io_uring_cqe_seen(&ring_, completion);
  return found;
}

} // namespace rtexec::hal
