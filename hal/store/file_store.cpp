#include "config/base/text.hpp"
#include "hal/store/common.hpp"
#include "hal/store/file_transfers.hpp"
#include "hal/store/poll_queue.hpp"
#include "hal/system.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>

namespace rtexec::hal {
namespace {

using Direction = FileTransfers::Direction;
constexpr Bytes MiB{1 << 20};

/// Returns the size of the parts into which a chunk is divided. One part can be copied to or from the device while
/// other parts are read or written.
Bytes part_size(Bytes chunk) {
  constexpr Bytes least{MiB.count / 2}, most = MiB * 4;
  return std::min(chunk, std::clamp(round_up({chunk.count / 8}, page_size()), least, most));
}

std::string advice_for(int error) {
  switch (error) {
  case EEXIST: return "An existing file is never overwritten: name another file, or remove it.";
  case ENOENT:
  case ENOTDIR: return "Create its folder, or name one that exists.";
  case EACCES:
  case EPERM:
  case EROFS: return "Name a file in a folder that this user may write.";
  case ENOSPC:
  case EDQUOT: return "Make room, name a file on a larger disk, or let less memory be swapped.";
  case EFBIG: return "Raise the largest size of a file with `ulimit -f unlimited`, or let less memory be swapped.";
  case EOPNOTSUPP: return "This file system cannot reserve space: name a file on ext4, XFS, Btrfs, F2FS or tmpfs.";
  case EIO: return "The disk or its file system failed: see `dmesg`.";
  default: return {};
  }
}

/// Creates the file with its full size, and removes its name.
Result<FileDescriptor> make_file(const std::filesystem::path& name, Bytes size) {
  const auto failed = [&](const std::string& what) {
    const int error = errno;
    return call_failed(what + " the swap file " + name.string(), error, advice_for(error));
  };
  FileDescriptor file(sys().create(name.c_str(), O_RDWR | O_EXCL | O_CLOEXEC, 0600));
  if (file.number() < 0) return failed("making");
  if (sys().unlink(name.c_str()) != 0) return failed("removing the name of");
  if (sys().fallocate(file.number(), 0, 0, static_cast<off_t>(size.count)) != 0)
    return failed("setting " + readable(size) + " aside for");
  return file;
}

/// Sets O_DIRECT. Returns 0 if the flag is set and a first read succeeds; otherwise the errno.
int bypass_page_cache(int file, std::byte* page) {
  if (sys().set_status_flags(file, O_DIRECT) == 0 && sys().pread(file, page, page_size().count, 0) >= 0) return 0;
  const int error = errno;
  (void)sys().set_status_flags(file, 0);
  return error;
}

/// Returns the part of the pool window that holds the chunks created so far, in regions of at most 1 GiB. 1 GiB is the
/// maximum size of a registered buffer.
std::vector<std::span<std::byte>> window_regions(const Device& device) {
  constexpr std::size_t most = std::size_t(1) << 30;
  const std::size_t chunk = device.chunk_size().count;
  std::vector<std::span<std::byte>> regions;
  for (std::size_t i = 0; i < device.chunks_created(); ++i) {
    std::byte* const at = device.window(Chunk(i));
    const bool next =
        !regions.empty() && std::to_address(regions.back().end()) == at && regions.back().size() + chunk <= most;
    if (next) regions.back() = {regions.back().data(), regions.back().size() + chunk};
    else regions.emplace_back(at, chunk);
  }
  return regions;
}

class FileStore final : public BackingStore {
 public:
  FileStore(Device& device, std::size_t chunks, std::filesystem::path name, FileDescriptor file)
      : device_(device),
        chunks_(chunks),
        chunk_(device.chunk_size()),
        part_(part_size(chunk_)),
        name_(std::move(name)),
        file_(std::move(file)) {}

  /// Makes the buffers and the rings, and writes the whole file once. Called once, before any other function.
  [[nodiscard]] Result<> prepare();

  [[nodiscard]] std::string description() const override {
    const char* how = polled_ ? "polled io_uring" : rings_ ? "io_uring" : "pread and pwrite";
    return name_.string() + ", unlinked, by " + how + (direct_ ? " with O_DIRECT" : "");
  }
  [[nodiscard]] std::string fallback() const override { return fallback_; }
  [[nodiscard]] std::string failure() const override;
  [[nodiscard]] std::size_t chunks() const override { return chunks_; }
  [[nodiscard]] Result<> fill(std::size_t chunk, std::span<const std::byte> contents) override;
  [[nodiscard]] Status load(std::size_t chunk, std::byte* window, DuringCopy during) noexcept override {
    return transfer(reading_, chunk, window, during);
  }
  [[nodiscard]] Status save(std::size_t chunk, const std::byte* window, DuringCopy during) noexcept override {
    return transfer(writing_, chunk, const_cast<std::byte*>(window), during); // the buffer is only read
  }

 private:
  struct Side {
    FileTransfers transfers;
    // One buffer for each slot of `transfers`; empty if the file is read directly into the window or written from it
    StoreMemory buffers;
    std::size_t copies = 0; // pending copies to the device: begun and not ended
  };

  void note(const std::string& line) {
    if (fallback_.find(line) == fallback_.npos) config::add_line(fallback_, line);
  }
  using Rings = std::array<std::unique_ptr<IoRing>, 2>; // one for reading, one for writing
  [[nodiscard]] Expected<Rings, int> rings(Completions completions) const;
  [[nodiscard]] int try_reading(IoRing& ring) const;
  [[nodiscard]] Expected<Rings, int> polled_rings();
  [[nodiscard]] Rings open_rings();
  void use(Rings rings);
  [[nodiscard]] Result<> fill_part(const FilePart& part, std::span<const std::byte> contents);
  [[nodiscard]] FilePart part(std::size_t chunk, std::size_t number, std::byte* window) const noexcept;
  [[nodiscard]] std::byte* buffer(const Side& side, std::size_t number) const noexcept;
  [[nodiscard]] Status transfer(Side& side, std::size_t chunk, std::byte* window, DuringCopy during) noexcept;
  [[nodiscard]] Status begin(Side& side, std::size_t number, const FilePart& part) noexcept;
  [[nodiscard]] Status finish(Side& side, std::size_t number, const FilePart& part, bool last) noexcept;
  [[nodiscard]] Status end_copies(Side& side) noexcept;

  Device& device_;
  std::size_t chunks_;
  Bytes chunk_, part_;
  std::filesystem::path name_;
  FileDescriptor file_;
  bool direct_ = false;
  bool rings_ = false, polled_ = false;
  std::string fallback_;
  StoreMemory filling_; // buffer of one part, for fill()
  Side reading_{{file_.number(), Direction::read}, {}};
  Side writing_{{file_.number(), Direction::write}, {}};
};

// ---- set-up ----

Result<> FileStore::prepare() {
  auto filling = StoreMemory::open(device_, part_, HostMemoryKind::pageable, "filling the swap file " + name_.string());
  if (!filling) return Unexpected(filling.error());
  filling_ = std::move(*filling);
  const int refusal = bypass_page_cache(file_.number(), filling_.base());
  direct_ = refusal == 0;
  if (!direct_)
    note(name_.string() + ": its file system refuses O_DIRECT (" + errno_text(refusal) +
         "): it uses the page cache, which needs memory");
  Rings opened = open_rings();
  if (!device_.capabilities().host_sees_window) {
    for (Side* side : {&reading_, &writing_}) {
      auto buffers = StoreMemory::open(device_, part_ * FileTransfers::depth, HostMemoryKind::page_locked,
                                       "buffers of the swap file " + name_.string());
      if (!buffers) return Unexpected(buffers.error());
      side->buffers = std::move(*buffers);
    }
  }
  if (opened.front()) use(std::move(opened));
  // The first write to allocated space takes longer than later writes
  for (std::size_t chunk = 0; chunk < chunks_; ++chunk) {
    if (auto zeroed = fill(chunk, {}); !zeroed) return zeroed;
  }
  return {};
}

std::string why_no_ring(int error) {
  if (error == ENOSYS) return "the kernel has no io_uring (ENOSYS)";
  if (error == EPERM)
    return "io_uring is not allowed here (EPERM: kernel.io_uring_disabled, or the profile of a container)";
  return "io_uring could not be opened (" + errno_text(error) + ")";
}

/// Opens one ring for reading and one ring for writing. The error is the errno.
Expected<FileStore::Rings, int> FileStore::rings(Completions completions) const {
  Rings opened;
  for (auto& ring : opened) {
    auto each = IoRing::open(file_.number(), FileTransfers::depth, completions);
    if (!each) return Unexpected(each.error());
    ring = std::move(*each);
  }
  return opened;
}

/// Reads one page through the ring. Writes the page first, because reading an unwritten page does not access the disk.
/// Returns 0 or the errno.
int FileStore::try_reading(IoRing& ring) const {
  const FilePart page{filling_.base(), page_size(), Bytes{}};
  if (sys().pwrite(file_.number(), page.at, page.size.count, 0) < 0) return errno;
  if (const int error = ring.begin(false, page, 0); error != 0) return error;
  const auto read = ring.wait();
  if (!read) return read.error();
  return read->result < 0 ? -read->result : 0;
}

/// Opens rings that poll the disk, and tests the rings. The error is the errno, or 0 if the disk has no poll queues.
Expected<FileStore::Rings, int> FileStore::polled_rings() {
  const auto longest = direct_ ? longest_polled_transfer(file_.number()) : std::nullopt;
  if (!longest) return Unexpected(0);
  auto opened = rings(Completions::polled);
  if (!opened) return opened;
  if (const int error = try_reading(*opened->front()); error != 0) return Unexpected(error);
  polled_ = true;
  part_ = std::min(part_, *longest);
  return opened;
}

/// Opens rings that poll the disk. If that fails, opens rings with interrupts. Returns null rings if there is no
/// io_uring.
FileStore::Rings FileStore::open_rings() {
  auto polled = polled_rings();
  if (polled) return std::move(*polled);
  auto opened = rings(Completions::interrupts);
  if (!opened) {
    note(why_no_ring(opened.error()) + ": pread and pwrite instead");
    return {};
  }
  if (polled.error() != 0)
    note(name_.string() + ": its disk has poll queues, but io_uring cannot poll them (" + errno_text(polled.error()) +
         "): it waits for interrupts");
  return std::move(*opened);
}

void FileStore::use(Rings rings) {
  for (std::size_t i = 0; Side * side : {&reading_, &writing_}) {
    auto regions = window_regions(device_);
    if (side->buffers.base() != nullptr) regions = {{side->buffers.base(), side->buffers.size().count}};
    const auto registered = rings[i]->register_memory(std::move(regions));
    if (!registered)
      note("io_uring could not register its buffers (" + errno_text(registered.error()) +
           "): each transfer is slower; `ulimit -l unlimited` may help");
    side->transfers.use(std::move(rings[i++]));
  }
  rings_ = true;
}

Result<> FileStore::fill(std::size_t chunk, std::span<const std::byte> contents) {
  if (auto possible = check_fill(*this, chunk_, chunk, contents); !possible) return possible;
  for (std::size_t number = 0; part_.count * number < chunk_.count; ++number) {
    FilePart each = part(chunk, number, nullptr);
    each.at = filling_.base();
    const auto here = contents.first(std::min<std::size_t>(contents.size(), each.size.count));
    if (auto filled = fill_part(each, here); !filled) return filled;
    contents = contents.subspan(here.size());
  }
  return {};
}

Result<> FileStore::fill_part(const FilePart& part, std::span<const std::byte> contents) {
  if (!contents.empty()) std::memcpy(part.at, contents.data(), contents.size());
  std::memset(part.at + contents.size(), 0, part.size.count - contents.size());
  FileTransfers transfers(file_.number(), Direction::write);
  transfers.begin(0, part);
  if (transfers.finish(0)) return {};
  return call_failed("writing the swap file " + name_.string(), transfers.last_error(),
                     advice_for(transfers.last_error()), Errc::io_error);
}

// ---- transfers ----

FilePart FileStore::part(std::size_t chunk, std::size_t number, std::byte* window) const noexcept {
  const Bytes at = part_ * number;
  return {.at = window + at.count, .size = std::min(part_, chunk_ - at), .offset = chunk_ * chunk + at};
}

std::byte* FileStore::buffer(const Side& side, std::size_t number) const noexcept {
  return side.buffers.base() == nullptr ? nullptr : side.buffers.base() + number % FileTransfers::depth * part_.count;
}

Status FileStore::transfer(Side& side, std::size_t chunk, std::byte* window, DuringCopy during) noexcept {
  if (chunk >= chunks_ || window == nullptr) return bad_transfer(during);
  const std::size_t parts = (chunk_.count + part_.count - 1) / part_.count;
  std::size_t next = 0;
  Status outcome;
  const auto begin_next = [&] {
    outcome = begin(side, next, part(chunk, next, window));
    ++next;
  };
  while (outcome && next < std::min<std::size_t>(parts, FileTransfers::depth)) begin_next();
  const Status meanwhile = during();
  for (std::size_t number = 0; outcome && number < parts; ++number) {
    outcome = finish(side, number, part(chunk, number, window), next == parts);
    if (outcome && next < parts) begin_next();
  }
  side.transfers.end();
  const Status copied = end_copies(side);
  if (outcome) outcome = copied;
  return outcome ? meanwhile : outcome;
}

Status FileStore::begin(Side& side, std::size_t number, const FilePart& part) noexcept {
  FilePart moved = part;
  if (std::byte* const between = buffer(side, number)) {
    moved.at = between;
    if (side.transfers.direction() == Direction::write) {
      if (auto copied = device_.copy(between, part.at, part.size); !copied) return copied;
    }
  }
  side.transfers.begin(number % FileTransfers::depth, moved);
  return {};
}

/// Finishes the transfer of a part. `last`: true if no further part needs the slot of this part. The copy to the device
/// is then begun but not awaited, so that the copies of the last parts follow each other without a gap.
Status FileStore::finish(Side& side, std::size_t number, const FilePart& part, bool last) noexcept {
  static_assert(FileTransfers::depth <= Device::copies_at_once);
  if (auto moved = side.transfers.finish(number % FileTransfers::depth); !moved) return moved;
  std::byte* const between = buffer(side, number);
  if (between == nullptr || side.transfers.direction() == Direction::write) return {};
  if (!last || !device_.begin_copy(part.at, between, part.size)) return device_.copy(part.at, between, part.size);
  ++side.copies;
  return {};
}

Status FileStore::end_copies(Side& side) noexcept {
  Status outcome;
  for (; side.copies > 0; --side.copies) {
    const Status copied = device_.end_copy();
    if (outcome) outcome = copied;
  }
  return outcome;
}

std::string FileStore::failure() const {
  std::string text;
  for (const Side* side : {&reading_, &writing_}) {
    const int error = side->transfers.last_error();
    if (error == 0) continue;
    const std::string what = side->transfers.direction() == Direction::read ? "reading" : "writing";
    config::add_line(text,
                     call_failed(what + " the swap file " + name_.string(), error, advice_for(error)).error().what);
  }
  return text;
}

} // namespace

Result<std::unique_ptr<BackingStore>> open_file_store(Device& device, std::size_t chunks,
                                                      const std::filesystem::path& file) {
  const auto size = store_size(device, chunks);
  if (!size) return Unexpected(size.error());
  auto made = make_file(file, *size);
  if (!made) return Unexpected(made.error());
  auto store = std::make_unique<FileStore>(device, chunks, file, std::move(*made));
  if (auto prepared = store->prepare(); !prepared) return Unexpected(prepared.error());
  return store;
}

Result<> try_file_store(const std::filesystem::path& file, Bytes size) {
  const auto made = make_file(file, size);
  return made ? Result<>() : Unexpected(made.error());
}

} // namespace rtexec::hal
