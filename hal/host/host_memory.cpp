#include "hal/host/host_memory.hpp"

#include "hal/system.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace rtexec::hal {
namespace {

constexpr int window_access = PROT_READ | PROT_WRITE;
constexpr int in_place = MAP_SHARED | MAP_FIXED | MAP_POPULATE;

off_t offset(Bytes size) { return static_cast<off_t>(size.count); }

/// Returns the alignment of a mapping: the kernel uses huge pages only at addresses that are multiples of their size.
Bytes alignment_of(Bytes size) { return size < HostMemory::huge_page ? page_size() : HostMemory::huge_page; }

/// Reserves addresses without memory. At least `size` bytes follow the aligned address aligned(mapping, size).
Result<Mapping> reserve_addresses(Bytes size, std::string_view what) {
  return Mapping::anonymous(size + alignment_of(size) - page_size(), PROT_NONE, MAP_NORESERVE, what);
}

std::byte* aligned(const Mapping& mapping, Bytes size) {
  const Bytes address{reinterpret_cast<std::uintptr_t>(mapping.base())};
  return mapping.base() + (round_up(address, alignment_of(size)) - address).count;
}

} // namespace

Result<HostMemory> HostMemory::open(Bytes capacity, Bytes chunk) {
  if (chunk.count == 0 || chunk.count % page_size().count != 0) {
    return fail(Errc::bad_input, "A chunk of " + to_string(chunk) + " is not a multiple of the page size, " +
                                     to_string(page_size()) + ".");
  }
  const Bytes whole{capacity.count / chunk.count * chunk.count};
  if (whole.count == 0)
    return fail(Errc::bad_input,
                "A capacity of " + to_string(capacity) + " holds no chunk of " + to_string(chunk) + ".");
  HostMemory memory;
  memory.chunk_ = chunk;
  memory.capacity_ = whole;
  if (whole >= huge_page) memory.file_ = FileDescriptor(sys().huge_page_file());
  if (memory.file_.number() < 0) memory.file_ = FileDescriptor(sys().memfd_create("rtexec-device", MFD_CLOEXEC));
  if (memory.file_.number() < 0)
    return call_failed("memfd_create for device memory", errno, "Needs a free file descriptor (`ulimit -n`).");
  if (sys().ftruncate(memory.file_.number(), offset(whole)) != 0) {
    return call_failed("sizing device memory to " + readable(whole), errno, "Ask for less capacity.",
                       Errc::out_of_memory);
  }
  auto window = reserve_addresses(whole, "the pool window");
  if (!window) return Unexpected(window.error());
  memory.window_ = std::move(*window);
  memory.first_ = aligned(memory.window_, whole);
  return memory;
}

Result<std::vector<Chunk>> HostMemory::create_chunks(std::size_t count) {
  const std::size_t left = capacity().count / chunk_.count - created_;
  if (count > left) {
    return fail(Errc::out_of_memory, std::to_string(count) + " chunks of " + readable(chunk_) + " were requested, " +
                                         std::to_string(left) + " are left of a capacity of " + readable(capacity()) +
                                         ".");
  }
  if (count == 0) return std::vector<Chunk>{};
  const Bytes begin = chunk_ * created_;
  const Bytes size = chunk_ * count;
  const auto refused = [&](const char* what) {
    return call_failed(what + readable(size) + " of device memory", errno, "Ask for less capacity, or free memory.",
                       Errc::out_of_memory);
  };
  if (sys().fallocate(file_.number(), 0, offset(begin), offset(size)) != 0) return refused("allocating ");
  if (sys().mmap(first_ + begin.count, size.count, window_access, in_place, file_.number(), offset(begin)) ==
      MAP_FAILED) {
    auto error = refused("mapping ");
    (void)sys().fallocate(file_.number(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset(begin), offset(size));
    return error;
  }
  std::vector<Chunk> chunks(count);
  for (Chunk& chunk : chunks) chunk = Chunk(created_++);
  return chunks;
}

Result<AddressRange> HostMemory::reserve(Bytes size) {
  if (size.count == 0) return fail(Errc::bad_input, "A range of 0 bytes cannot be reserved.");
  const Bytes whole = round_up(size, chunk_);
  auto addresses = reserve_addresses(whole, "an address range");
  if (!addresses) return Unexpected(addresses.error());
  const AddressRange range{aligned(*addresses, whole), whole};
  ranges_.emplace_back(std::move(*addresses), range, chunk_);
  return ranges_.back().addresses();
}

Result<> HostMemory::release(AddressRange range) {
  Range* found = find_range(ranges_, range);
  if (found == nullptr) return fail(Errc::bad_input, "The released range was not reserved, or was already released.");
  auto outcome = found->mapping.unmap();
  ranges_.erase(ranges_.begin() + (found - ranges_.data()));
  return outcome;
}

Status HostMemory::map(AddressRange range, std::size_t slot, Chunk chunk, Access access) noexcept {
  Range* found = find_range(ranges_, range);
  if (found == nullptr || !found->is_vacant(slot)) return Unexpected(Errc::bad_input);
  if (index(chunk) >= created_ || access == Access::none) return Unexpected(Errc::bad_input);
  const int protection = access == Access::read ? PROT_READ : PROT_READ | PROT_WRITE;
  if (sys().mmap(found->address(slot), chunk_.count, protection, in_place, file_.number(),
                 offset(chunk_ * index(chunk))) == MAP_FAILED) {
    (void)close(*found, slot); // makes the slot inaccessible again: a failed MAP_FIXED may have unmapped it
    return Unexpected(Errc::device_fault);
  }
  found->set_mapped(slot, true);
  return {};
}

Status HostMemory::unmap(AddressRange range, std::size_t slot) noexcept {
  Range* found = find_range(ranges_, range);
  if (found == nullptr || !found->is_mapped(slot)) return Unexpected(Errc::bad_input);
  if (!close(*found, slot)) return Unexpected(Errc::device_fault);
  found->set_mapped(slot, false);
  return {};
}

bool HostMemory::has_huge_pages() const noexcept {
  struct stat status;
  return sys().fstat(file_.number(), &status) == 0 && status.st_blksize >= offset(huge_page);
}

bool HostMemory::writable(std::byte* to) const noexcept { return ::pread(file_.number(), to, 1, 0) == 1; }

bool HostMemory::close(const Range& range, std::size_t slot) noexcept {
  constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  return sys().mmap(range.address(slot), chunk_.count, PROT_NONE, flags, -1, 0) != MAP_FAILED;
}

} // namespace rtexec::hal
