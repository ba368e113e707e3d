#include "hal/host/host_device.hpp"

#include "hal/digest_of.hpp"
#include "hal/linux/advice.hpp"
#include "hal/system.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>

namespace rtexec::hal {
namespace {

/// Pending copies of this thread: begun and not ended.
struct BegunCopies {
  struct Copy {
    std::byte* to = nullptr;
    const std::byte* from = nullptr;
    Bytes size;
  };
  std::array<Copy, Device::copies_at_once> copies;
  std::size_t begun = 0, ended = 0;
};
thread_local BegunCopies of_this_thread;

/// The state of the job that executes on this thread.
struct Execution {
  ThreadUse begun;
  Concurrency concurrency = Concurrency::alone;
};
thread_local Execution execution;

} // namespace

Result<std::unique_ptr<HostDevice>> HostDevice::open(Bytes capacity, Bytes chunk, const MemoryCosts& costs) {
  auto memory = HostMemory::open(capacity, chunk);
  if (!memory) return Unexpected(memory.error());
  std::unique_ptr<HostDevice> device(new HostDevice(std::move(*memory), costs));
  for (const auto kind : {EngineKind::compute, EngineKind::copy_in, EngineKind::copy_out})
    if (auto started = device->start_engine(kind); !started) return Unexpected(started.error());
  auto capabilities = probe_host_memory(device->engine(EngineKind::compute));
  if (!capabilities) return Unexpected(capabilities.error());
  device->capabilities_ = std::move(*capabilities);
  device->capabilities_.computes_on_core = true;
  if (device->capacity() >= HostMemory::huge_page)
    device->capabilities_.note("memory in pages of 2 MiB", device->memory_.has_huge_pages(),
                               "it is in small pages, so large networks are slightly slower: run as root, or `echo "
                               "within_size > /sys/kernel/mm/transparent_hugepage/shmem_enabled`");
  return device;
}

Result<> HostDevice::start_engine(EngineKind kind) {
  constexpr std::array<const char*, engine_kinds> names{"compute", "copy-in", "copy-out", "beside"};
  const auto number = static_cast<std::size_t>(kind);
  if (engines_[number] != nullptr) return fail(Errc::bad_input, "The second compute engine is already running.");
  auto engine = copies(kind) ? EngineThread::start(names[number])
                             : EngineThread::start(names[number], EngineThread::compute_stack);
  if (!engine) return Unexpected(engine.error());
  engines_[number] = std::move(*engine);
  return {};
}

Result<> HostDevice::start_secondary_compute() { return start_engine(EngineKind::secondary_compute); }

void HostDevice::begin_execution(Concurrency concurrency) noexcept { execution = {thread_use(), concurrency}; }

Duration HostDevice::executed(Duration passed) noexcept {
  const auto& [begun, concurrency] = execution;
  return concurrency == Concurrency::concurrent ? passed : used_between(begun, thread_use(), passed);
}

HostDevice::~HostDevice() {
  for (const auto each : pinned_.pieces()) (void)sys().munlock(each.data(), each.size());
}

Status HostDevice::copy(std::byte* to, const std::byte* from, Bytes size, DuringCopy during) noexcept {
  if (to == nullptr || from == nullptr) return Unexpected(Errc::bad_input);
  const Status outcome = during();
  std::memcpy(to, from, size.count);
  return outcome;
}

Status HostDevice::begin_copy(std::byte* to, const std::byte* from, Bytes size) noexcept {
  if (to == nullptr || from == nullptr) return Unexpected(Errc::bad_input);
  auto& [copies, begun, ended] = of_this_thread;
  if (begun - ended == copies_at_once) return Unexpected(Errc::out_of_memory);
  copies[begun++ % copies_at_once] = {to, from, size};
  return {};
}

Status HostDevice::end_copy() noexcept {
  auto& [copies, begun, ended] = of_this_thread;
  if (begun == ended) return Unexpected(Errc::bad_input);
  const auto& [to, from, size] = copies[ended++ % copies_at_once];
  std::memcpy(to, from, size.count);
  return {};
}

Status HostDevice::digest(const std::byte* at, Bytes size, Digest& result) noexcept {
  if (!is_digestible(at, size)) return Unexpected(Errc::bad_input);
  result = digest_of(at, size);
  return {};
}

Result<> HostDevice::pin(std::byte* begin, Bytes size) {
  if (auto possible = pinned_.check({begin, size.count}); !possible) return possible;
  if (sys().mlock(begin, size.count) != 0) {
    const int error = errno;
    return call_failed("page-locking " + readable(size) + " of host memory", error,
                       memory_lock_advice("all memory locked at the same time"));
  }
  pinned_.add({begin, size.count});
  return {};
}

Result<> HostDevice::unpin(std::byte* begin) {
  const auto piece = pinned_.find(begin);
  if (!piece) return Unexpected(piece.error());
  if (sys().munlock(begin, piece->size()) != 0)
    return call_failed("unlocking " + readable(Bytes{piece->size()}) + " of host memory", errno);
  pinned_.remove(begin);
  return {};
}

Result<Buffer> HostDevice::allocate(BufferKind kind, Bytes size) {
  if (size.count == 0) return fail(Errc::bad_input, "A buffer of 0 bytes was requested.");
  auto mapping = Mapping::anonymous(round_up(size, page_size()), PROT_READ | PROT_WRITE, MAP_POPULATE, "a buffer");
  if (!mapping) return Unexpected(mapping.error());
  std::byte* const base = mapping->base();
  buffers_.push_back(std::move(*mapping));
  return Buffer{kind, kind == BufferKind::device ? nullptr : base, base, size};
}

Result<> HostDevice::free(const Buffer& buffer) {
  const auto found = std::ranges::find(buffers_, buffer.device, &Mapping::base);
  if (found == buffers_.end())
    return fail(Errc::bad_input, "The freed buffer was not allocated, or was already freed.");
  auto outcome = found->unmap();
  buffers_.erase(found);
  return outcome;
}

Result<MemoryUse> HostDevice::memory_use() const {
  MemoryUse use{chunk_size() * chunks_created(), Bytes{}};
  for (const Mapping& each : buffers_) use.own += each.size();
  return use;
}

} // namespace rtexec::hal
