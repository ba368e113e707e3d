// One set of rules for every backing store, and errors of files.
#include "test/hal/device_rule_tests.hpp"
#include "test/hal/failing_system.hpp"
#include "test/hal/forwarding_device.hpp"
#include "test/support/file_size_limit.hpp"
#include "test/support/test_files.hpp"
#include "test/support/sanitized.hpp"

#include "hal/backing_store.hpp"
#include "hal/host/host_device.hpp"

#include <cstring>
#include <fcntl.h>
#include <liburing.h>
#include <random>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

namespace rtexec::hal::test {
namespace {

constexpr Bytes page{4096};
constexpr Bytes large{(4 << 20) + 4096}; // moves in parts, more than may be in flight, the last one of an odd size
constexpr int parts = 8, depth = 4;

/// A host device for which a test chooses whether the host sees its window. Its copies can be watched and made to fail.
class WatchedDevice final : public ForwardingDevice {
 public:
  WatchedDevice(std::size_t chunks, Bytes chunk, bool host_sees_window)
      : ForwardingDevice(chunk * chunks, chunk), capabilities_(ForwardingDevice::capabilities()) {
    capabilities_.host_sees_window = host_sees_window;
  }
  std::string name() const override { return "watched"; }
  const DeviceCapabilities& capabilities() const override { return capabilities_; }
  using Device::copy;
  Status copy(std::byte* to, const std::byte* from, Bytes size, DuringCopy during) noexcept override {
    if (++copies == failing_copy) return Unexpected(Errc::device_fault);
    if (on_copy != nullptr) on_copy();
    return ForwardingDevice::copy(to, from, size, during);
  }
  Status begin_copy(std::byte* to, const std::byte* from, Bytes size) noexcept override {
    if (++begins == failing_begin) return Unexpected(Errc::device_fault);
    if (on_copy != nullptr) on_copy();
    return ForwardingDevice::begin_copy(to, from, size);
  }
  Status end_copy() noexcept override {
    const Status ended = ForwardingDevice::end_copy();
    return ++ends == failing_end ? Unexpected(Errc::device_fault) : ended;
  }
  Result<> pin(std::byte* begin, Bytes size) override {
    if (!allows_pinning) return fail(Errc::refused, "page-locking: not today");
    auto outcome = ForwardingDevice::pin(begin, size);
    pinned += outcome.has_value();
    return outcome;
  }
  Result<> unpin(std::byte* begin) override {
    --pinned;
    return ForwardingDevice::unpin(begin);
  }

  std::atomic<int> copies = 0;
  std::atomic<int> begins = 0, ends = 0;                    // halves of copies
  int failing_copy = 0, failing_begin = 0, failing_end = 0; // counted from 1
  void (*on_copy)() = nullptr;
  bool allows_pinning = true;
  int pinned = 0;

 private:
  DeviceCapabilities capabilities_;
};

/// While it lives, the system is modified by `change`.
class Without {
 public:
  explicit Without(void (*change)(System&))
      : override_((table_ = linux_system(), change == nullptr ? void() : change(table_), table_)) {}

 private:
  static inline System table_;
  SystemOverride override_;
};

int refuse(int error) {
  errno = error;
  return -1;
}
void no_io_uring(System& system) {
  system.ring_open = [](unsigned, io_uring*, unsigned) { return refuse(ENOSYS); };
}
void io_uring_not_allowed(System& system) {
  system.ring_open = [](unsigned, io_uring*, unsigned) { return refuse(EPERM); };
}
void no_registered_file(System& system) {
  system.ring_register_file = [](io_uring*, int) { return refuse(EMFILE); };
}
void no_registered_buffers(System& system) {
  system.ring_register_buffers = [](io_uring*, const iovec*, unsigned) { return refuse(ENOMEM); };
}
void no_direct(System& system) {
  system.set_status_flags = [](int file, int flags) {
    return (flags & O_DIRECT) != 0 ? refuse(EINVAL) : linux_system().set_status_flags(file, flags);
  };
}
void no_direct_reads(System& system) { // the flag is accepted, but each transfer then fails
  system.pread = [](int file, void* to, std::size_t size, off_t offset) -> ssize_t {
    return (::fcntl(file, F_GETFL) & O_DIRECT) != 0 ? refuse(EINVAL) : linux_system().pread(file, to, size, offset);
  };
}
void neither(System& system) {
  no_io_uring(system);
  no_direct(system);
}

// ---- disks with poll queues ----

/// Returns a kernel-like file that contains one number.
int tells(const char* number) {
  const int file = ::memfd_create("says", MFD_CLOEXEC);
  if (::pwrite(file, number, std::strlen(number), 0) < 0) return -1;
  return file;
}
const char* poll_queues = "1\n"; // the contents of io_poll
bool on_partition = false;
std::atomic<int> polled_rings, open_rings;

/// Makes rings on this disk poll, although it works as any other does.
void poll_queue(System& system) {
  system.open = [](const char* path, int flags) {
    const std::string_view name(path);
    if (!name.starts_with("/sys/dev/block/")) return linux_system().open(path, flags);
    if (on_partition && name.find("/../queue/") == name.npos) return refuse(ENOENT);
    return tells(name.ends_with("/io_poll")          ? poll_queues
                 : name.ends_with("/max_sectors_kb") ? "512\n"
                 : name.ends_with("/max_segments")   ? "127\n"
                                                     : "no number\n");
  };
  system.ring_open = [](unsigned entries, io_uring* ring, unsigned flags) {
    polled_rings += (flags & IORING_SETUP_IOPOLL) != 0;
    const int opened = linux_system().ring_open(entries, ring, flags & ~unsigned(IORING_SETUP_IOPOLL));
    open_rings += opened == 0;
    return opened;
  };
  system.ring_close = [](io_uring* ring) {
    --open_rings;
    linux_system().ring_close(ring);
  };
}
constexpr Bytes longest_polled{64 * 4096}; // the largest power of two within this disk's limit

/// Returns contents that differ in every word for each seed.
Contents contents_of(unsigned seed, Bytes size) {
  Contents contents(size.count);
  std::uint64_t word = seed * 0x9e3779b97f4a7c15U + 1;
  for (std::size_t at = 0; at + sizeof word <= contents.size(); at += sizeof word) {
    word = word * 6364136223846793005U + 1442695040888963407U;
    std::memcpy(contents.data() + at, &word, sizeof word);
  }
  return contents;
}

/// Counts the work done during a transfer.
struct Counted {
  int times = 0;
  Status answer = {};
  [[nodiscard]] DuringCopy during() {
    return {[](void* self) noexcept -> Status {
              ++static_cast<Counted*>(self)->times;
              return static_cast<Counted*>(self)->answer;
            },
            this};
  }
};

/// A device with frames and a store, and transfers on the engines' threads.
struct Bench {
  explicit Bench(Bytes chunk_size, bool host_sees_window = true, std::size_t frame_count = 3)
      : chunk(chunk_size), device(frame_count, chunk, host_sees_window) {
    const auto created = device.create_chunks(frame_count);
    EXPECT_TRUE(created) << problem(created);
    for (const Chunk each : *created) frames.push_back(device.window(each));
  }
  void open_file(std::size_t chunks) { take(open_file_store(device, chunks, file)); }
  void take(Result<std::unique_ptr<BackingStore>> opened) {
    ASSERT_TRUE(opened) << problem(opened);
    store = std::move(*opened);
  }
  Status load(std::size_t stored, std::size_t frame, DuringCopy during = {}) {
    return on_engine(device.engine(EngineKind::copy_in),
                     [&]() noexcept { return store->load(stored, frames[frame], during); });
  }
  Status save(std::size_t stored, std::size_t frame, DuringCopy during = {}) {
    return on_engine(device.engine(EngineKind::copy_out),
                     [&]() noexcept { return store->save(stored, frames[frame], during); });
  }
  void write(std::size_t frame, unsigned seed) { std::ranges::copy(contents_of(seed, chunk), frames[frame]); }
  [[nodiscard]] bool holds(std::size_t frame, const Contents& contents) const {
    return std::memcmp(frames[frame], contents.data(), contents.size()) == 0;
  }
  [[nodiscard]] bool holds(std::size_t frame, unsigned seed) const { return holds(frame, contents_of(seed, chunk)); }
  /// Copies the stored chunk into the last frame. Returns true if it holds the contents of `seed`.
  [[nodiscard]] bool stores(std::size_t stored, unsigned seed) {
    std::memset(frames.back(), 0xff, chunk.count);
    return load(stored, frames.size() - 1) && holds(frames.size() - 1, seed);
  }

  Bytes chunk;
  ScratchFolder folder;
  std::filesystem::path file = folder / "swap";
  WatchedDevice device;
  std::vector<std::byte*> frames;
  std::unique_ptr<BackingStore> store;
};

// ---- rules of every store ----

struct Kind {
  const char* name;
  Bytes chunk;
  bool host_sees_window = true;
  std::optional<HostMemoryKind> host = std::nullopt; // nullopt: a file
  void (*without)(System&) = nullptr;
  const char* folder = nullptr; // for the file; null: the system's folder for temporary files
  friend std::ostream& operator<<(std::ostream& out, const Kind& kind) { return out << kind.name; }
};

class StoreRules : public testing::TestWithParam<Kind>, public Without {
 protected:
  static constexpr std::size_t chunks = 4;
  StoreRules() : Without(GetParam().without) {}

  void SetUp() override {
    if (GetParam().folder != nullptr) {
      if (::access(GetParam().folder, W_OK) != 0) GTEST_SKIP() << "this machine has no " << GetParam().folder;
      bench.file = std::filesystem::path(GetParam().folder) / bench.folder.path().filename();
    }
    auto opened = GetParam().host ? open_host_store(bench.device, chunks, *GetParam().host)
                                  : open_file_store(bench.device, chunks, bench.file);
    if (!opened && opened.error().what.find("ulimit -l") != std::string::npos) GTEST_SKIP() << opened.error().what;
    bench.take(std::move(opened));
  }

  Bench bench{GetParam().chunk, GetParam().host_sees_window};
  BackingStore& store() { return *bench.store; }
};

TEST_P(StoreRules, ChunksStartZeroed) {
  EXPECT_EQ(store().chunks(), chunks);
  EXPECT_EQ(store().failure(), "");
  for (std::size_t stored = 0; stored < chunks; ++stored) {
    bench.write(0, 1);
    ASSERT_TRUE(bench.load(stored, 0));
    EXPECT_TRUE(bench.holds(0, Contents(bench.chunk.count))) << stored;
  }
}

TEST_P(StoreRules, FillReplacesWholeChunk) {
  const Contents whole = contents_of(1, bench.chunk);
  for (std::size_t stored = 0; stored < chunks; ++stored) ASSERT_TRUE(store().fill(stored, whole));
  const Contents odd = contents_of(2, bench.chunk);
  for (const std::size_t size : {std::size_t(0), std::size_t(1), bench.chunk.count / 2 + 3, bench.chunk.count - 1}) {
    ASSERT_TRUE(store().fill(2, std::span(odd).subspan(odd.size() - size))); // at an odd address
    Contents expected(bench.chunk.count);
    std::copy(odd.end() - std::ptrdiff_t(size), odd.end(), expected.begin());
    ASSERT_TRUE(bench.load(2, 0));
    EXPECT_TRUE(bench.holds(0, expected)) << size;
  }
  for (const std::size_t stored : {0u, 1u, 3u}) EXPECT_TRUE(bench.stores(stored, 1)) << stored;
}

TEST_P(StoreRules, RejectsInvalidChunksSizesAndPointers) {
  const Contents contents(bench.chunk.count + 1);
  EXPECT_TRUE(fails(store().fill(chunks, {}), Errc::bad_input, "has 4 chunks"));
  EXPECT_TRUE(fails(store().fill(0, contents), Errc::bad_input, "chunks of " + readable(bench.chunk)));
  Counted counted;
  EXPECT_TRUE(fails(bench.load(chunks, 0, counted.during()), Errc::bad_input));
  EXPECT_TRUE(fails(bench.save(std::size_t(-1), 0, counted.during()), Errc::bad_input));
  EXPECT_TRUE(fails(store().load(0, nullptr, counted.during()), Errc::bad_input));
  EXPECT_TRUE(fails(store().save(0, nullptr, counted.during()), Errc::bad_input));
  EXPECT_EQ(counted.times, 4);
  EXPECT_TRUE(bench.load(0, 0));
  EXPECT_TRUE(bench.holds(0, Contents(bench.chunk.count)));
}

// Compares a long random history with a model of two lists.
TEST_P(StoreRules, RandomLoadsAndSavesMatchReferenceModel) {
  std::vector<unsigned> stored(chunks), framed(bench.frames.size());
  std::mt19937 random(7);
  unsigned last_seed = 0;
  for (std::size_t i = 0; i < chunks; ++i)
    ASSERT_TRUE(store().fill(i, contents_of(stored[i] = ++last_seed, bench.chunk)));
  for (std::size_t i = 0; i < framed.size(); ++i) bench.write(i, framed[i] = ++last_seed);
  const int steps = bench.chunk > page ? 100 : 400;
  for (int step = 0; step < steps; ++step) {
    const std::size_t chunk = random() % chunks;
    const std::size_t frame = random() % framed.size();
    switch (random() % 3) {
    case 0:
      ASSERT_TRUE(bench.save(chunk, frame));
      stored[chunk] = framed[frame];
      break;
    case 1:
      ASSERT_TRUE(bench.load(chunk, frame));
      framed[frame] = stored[chunk];
      ASSERT_TRUE(bench.holds(frame, framed[frame])) << "step " << step;
      break;
    default: bench.write(frame, framed[frame] = ++last_seed);
    }
  }
  for (std::size_t i = 0; i < framed.size(); ++i) EXPECT_TRUE(bench.holds(i, framed[i])) << "frame " << i;
  for (std::size_t i = 0; i < chunks; ++i) EXPECT_TRUE(bench.stores(i, stored[i])) << "chunk " << i;
}

TEST_P(StoreRules, LoadsAndSavesRunConcurrently) {
  const std::size_t rounds = bench.chunk > page ? 20 : 300;
  ASSERT_TRUE(store().fill(0, contents_of(10, bench.chunk)));
  ASSERT_TRUE(store().fill(1, contents_of(11, bench.chunk)));
  bench.write(2, 12);
  std::size_t failed_saves = 0;
  std::thread saving([&] {
    for (std::size_t round = 0; round < rounds; ++round) failed_saves += !bench.save(2 + round % 2, 2);
  });
  std::size_t bad_loads = 0;
  for (std::size_t round = 0; round < rounds; ++round)
    bad_loads += !bench.load(round % 2, 0) || !bench.holds(0, unsigned(10 + round % 2));
  saving.join();
  EXPECT_EQ(bad_loads, 0u);
  EXPECT_EQ(failed_saves, 0u);
  for (const std::size_t stored : {2u, 3u}) EXPECT_TRUE(bench.stores(stored, 12)) << stored;
}

TEST_P(StoreRules, RunsConcurrentWorkOnceAndReturnsItsError) {
  bench.write(0, 1);
  Counted counted;
  EXPECT_TRUE(bench.save(0, 0, counted.during()));
  EXPECT_EQ(counted.times, 1);
  EXPECT_TRUE(bench.load(0, 1, counted.during()));
  EXPECT_EQ(counted.times, 2);
  counted.answer = Unexpected(Errc::device_fault);
  bench.write(0, 2);
  EXPECT_TRUE(fails(bench.save(0, 0, counted.during()), Errc::device_fault));
  EXPECT_TRUE(fails(bench.load(0, 1, counted.during()), Errc::device_fault));
  EXPECT_EQ(counted.times, 4);
  EXPECT_TRUE(bench.holds(1, 2)) << "the transfers have ended all the same";
  EXPECT_EQ(store().failure(), "");
}

/// Announces transfers, then executes them on the engine's thread, with an unannounced one in between.
TEST_P(StoreRules, AnnouncedTransfersMoveRequestedChunksDespiteOthersBetween) {
  for (std::size_t stored = 0; stored < chunks; ++stored)
    ASSERT_TRUE(store().fill(stored, contents_of(unsigned(10 + stored), bench.chunk)));
  for (const std::size_t first : {0u, 1u, 2u}) {
    Counted counted;
    EXPECT_TRUE(on_engine(bench.device.engine(EngineKind::copy_in), [&]() noexcept -> Status {
      for (const std::size_t frame : {0u, 1u}) store().begin_load(first + frame, bench.frames[frame]);
      for (const auto& [stored, frame] : {std::pair(first, 0), {3 - first, 2}, {first + 1, 1}})
        if (const Status loaded = store().load(stored, bench.frames[std::size_t(frame)], counted.during()); !loaded)
          return loaded;
      return {};
    }));
    EXPECT_EQ(counted.times, 3);
    EXPECT_TRUE(bench.holds(0, unsigned(10 + first)));
    EXPECT_TRUE(bench.holds(1, unsigned(11 + first)));
    EXPECT_TRUE(bench.holds(2, unsigned(13 - first)));
  }
  for (std::size_t frame = 0; frame < 3; ++frame) bench.write(frame, unsigned(20 + frame));
  EXPECT_TRUE(on_engine(bench.device.engine(EngineKind::copy_out), [&]() noexcept -> Status {
    for (const std::size_t each : {0u, 1u}) store().begin_save(each, bench.frames[each]);
    for (const std::size_t each : {0u, 2u, 1u})
      if (const Status saved = store().save(each, bench.frames[each], {}); !saved) return saved;
    return {};
  }));
  for (const std::size_t each : {0u, 1u, 2u}) EXPECT_TRUE(bench.stores(each, unsigned(20 + each))) << each;
}

TEST_P(StoreRules, AnnouncedTransfersReturnErrorOfConcurrentWork) {
  Counted counted{.answer = Unexpected(Errc::device_fault)};
  bench.write(0, 1);
  EXPECT_TRUE(fails(on_engine(bench.device.engine(EngineKind::copy_out),
                              [&]() noexcept {
                                store().begin_save(1, bench.frames[0]);
                                return store().save(1, bench.frames[0], counted.during());
                              }),
                    Errc::device_fault));
  EXPECT_TRUE(fails(on_engine(bench.device.engine(EngineKind::copy_in),
                              [&]() noexcept {
                                store().begin_load(1, bench.frames[1]);
                                return store().load(1, bench.frames[1], counted.during());
                              }),
                    Errc::device_fault));
  EXPECT_EQ(counted.times, 2);
  EXPECT_TRUE(bench.holds(1, 1)) << "the transfers have ended all the same";
  EXPECT_TRUE(bench.stores(1, 1));
}

/// Announces more than may be begun at once, and transfers that do not exist.
TEST_P(StoreRules, AcceptsExcessAndInvalidAnnouncements) {
  for (std::size_t stored = 0; stored < chunks; ++stored)
    ASSERT_TRUE(store().fill(stored, contents_of(unsigned(10 + stored), bench.chunk)));
  for (int round = 0; round < 3; ++round)
    EXPECT_TRUE(on_engine(bench.device.engine(EngineKind::copy_in), [&]() noexcept -> Status {
      store().begin_load(chunks, bench.frames[0]);
      store().begin_load(0, nullptr);
      for (std::size_t i = 0; i < 3 * Device::copies_at_once; ++i) store().begin_load(i % chunks, bench.frames[i % 2]);
      for (std::size_t i = 0; i < 3 * Device::copies_at_once; ++i) {
        if (const Status loaded = store().load(i % chunks, bench.frames[i % 2], {}); !loaded) return loaded;
        if (!bench.holds(i % 2, unsigned(10 + i % chunks))) return Unexpected(Errc::corrupted);
      }
      return {};
    })) << round;
}

TEST_P(StoreRules, TransfersNeitherAllocateNorPageFault) {
  struct Spent {
    std::uint64_t allocations = 0;
    long faults = 0;
  };
  const auto spent = [] {
    rusage usage{};
    ::getrusage(RUSAGE_THREAD, &usage);
    return Spent{allocations(), usage.ru_minflt + usage.ru_majflt};
  };
  for (const auto kind : {EngineKind::copy_in, EngineKind::copy_out}) {
    Spent before, after;
    const auto announce = [&](std::size_t round) {
      if (kind == EngineKind::copy_in) return store().begin_load(round % chunks, bench.frames[round % 2]);
      store().begin_save(round % chunks, bench.frames[round % 2]);
    };
    const auto transfers = [&]() noexcept -> Status {
      Status outcome;
      for (std::size_t round = 0; round < 9 && outcome; ++round) {
        if (round == 1) before = spent(); // code and stack of the first transfer are resident
        if (round % 2 == 0) announce(round);
        outcome = kind == EngineKind::copy_in ? store().load(round % chunks, bench.frames[round % 2], {})
                                              : store().save(round % chunks, bench.frames[round % 2], {});
      }
      after = spent();
      return outcome;
    };
    ASSERT_TRUE(on_engine(bench.device.engine(kind), transfers));
    EXPECT_EQ(after.allocations, before.allocations);
    if (!sanitized) { EXPECT_LT(after.faults - before.faults, 8) << "in 8 transfers of " << readable(bench.chunk); }
  }
}

TEST_P(StoreRules, DestructionReleasesAllResources) {
  bench.store.reset();
  EXPECT_EQ(bench.device.pinned, 0);
  const Held before = held();
  for (int round = 0; round < 3; ++round) {
    auto opened = GetParam().host ? open_host_store(bench.device, chunks, *GetParam().host)
                                  : open_file_store(bench.device, chunks, bench.file);
    bench.take(std::move(opened));
    EXPECT_TRUE(bench.load(0, 0));
    EXPECT_TRUE(bench.save(0, 0));
    bench.store.reset();
  }
  EXPECT_TRUE(eventually([&] { return held() == before; })) << held() << " instead of " << before;
  EXPECT_EQ(bench.device.pinned, 0);
  EXPECT_FALSE(std::filesystem::exists(bench.file));
}

constexpr auto locked = HostMemoryKind::page_locked, pageable = HostMemoryKind::pageable;
const Kind kinds[] = {
    {.name = "PageLocked", .chunk = page, .host = locked},
    {.name = "PageLockedLarge", .chunk = large, .host = locked},
    {.name = "Pageable", .chunk = page, .host = pageable},
    {.name = "PageableLarge", .chunk = large, .host_sees_window = false, .host = pageable},
    {.name = "File", .chunk = page},
    {.name = "FileLarge", .chunk = large},
    {.name = "FileHidden", .chunk = page, .host_sees_window = false},
    {.name = "FileHiddenLarge", .chunk = large, .host_sees_window = false},
    {.name = "FileWithoutRing", .chunk = page, .without = no_io_uring},
    {.name = "FileWithoutRingLarge", .chunk = large, .without = no_io_uring},
    {.name = "FileWithoutRingHiddenLarge", .chunk = large, .host_sees_window = false, .without = no_io_uring},
    {.name = "FileUnregistered", .chunk = page, .without = no_registered_buffers},
    {.name = "FileUnregisteredHiddenLarge",
     .chunk = large,
     .host_sees_window = false,
     .without = no_registered_buffers},
    {.name = "FilePolled", .chunk = page, .without = poll_queue},
    {.name = "FilePolledLarge", .chunk = large, .without = poll_queue},
    {.name = "FilePolledHiddenLarge", .chunk = large, .host_sees_window = false, .without = poll_queue},
    {.name = "FileCached", .chunk = page, .without = no_direct},
    {.name = "FileCachedHiddenLarge", .chunk = large, .host_sees_window = false, .without = no_direct},
    {.name = "FileWithNeither", .chunk = large, .without = neither},
    {.name = "FileInMemory", .chunk = large, .folder = "/dev/shm"},
    {.name = "FileInMemoryCachedHidden",
     .chunk = large,
     .host_sees_window = false,
     .without = no_direct,
     .folder = "/dev/shm"},
};
INSTANTIATE_TEST_SUITE_P(All, StoreRules, testing::ValuesIn(kinds), [](const auto& test) { return test.param.name; });

// ---- host memory ----

TEST(HostStore, ReportsKindOfHostMemory) {
  Bench bench(page);
  bench.take(open_host_store(bench.device, 2, locked));
  EXPECT_EQ(bench.store->description(), "page-locked host memory");
  EXPECT_EQ(bench.device.pinned, 1);
  bench.take(open_host_store(bench.device, 2, pageable));
  EXPECT_EQ(bench.store->description(), "pageable host memory");
  EXPECT_EQ(bench.device.pinned, 0);
  EXPECT_EQ(bench.store->fallback(), "");
}

TEST(HostStore, RejectsInvalidSizesAndReportsFailedPinning) {
  Bench bench(page);
  EXPECT_TRUE(fails(open_host_store(bench.device, 0, locked), Errc::bad_input, "0 chunks"));
  EXPECT_TRUE(fails(open_host_store(bench.device, std::size_t(-1), locked), Errc::bad_input, "chunks of 4.00 KiB"));
  EXPECT_TRUE(
      fails(open_host_store(bench.device, std::size_t(1) << 50, pageable), Errc::out_of_memory, "backing store"));
  bench.device.allows_pinning = false;
  EXPECT_TRUE(fails(open_host_store(bench.device, 2, locked), Errc::refused, "host memory: page-locking: not today"));
  EXPECT_TRUE(open_host_store(bench.device, 2, pageable));
}

TEST(HostStore, ReturnsDeviceErrorOfFailedCopy) {
  Bench bench(page);
  bench.take(open_host_store(bench.device, 2, locked));
  bench.device.failing_copy = 1;
  EXPECT_TRUE(fails(bench.load(0, 0), Errc::device_fault));
  EXPECT_TRUE(bench.load(0, 0));
}

TEST(HostStore, OnlyPageLockedLoadBeginsCopyAtAnnouncement) {
  for (const HostMemoryKind kind : {locked, pageable}) {
    Bench bench(page);
    bench.take(open_host_store(bench.device, 2, kind));
    const int begun = kind == locked ? 2 : 0;
    EXPECT_TRUE(on_engine(bench.device.engine(EngineKind::copy_in), [&]() noexcept -> Status {
      for (const std::size_t each : {0u, 1u}) bench.store->begin_load(each, bench.frames[each]);
      EXPECT_EQ(bench.device.begins, begun);
      for (const std::size_t each : {0u, 1u})
        if (const Status loaded = bench.store->load(each, bench.frames[each], {}); !loaded) return loaded;
      return {};
    }));
    EXPECT_EQ(bench.device.ends, begun);
    EXPECT_EQ(bench.device.copies, 2 - begun) << "none is made twice";
  }
}

TEST(HostStore, FallsBackToWholeCopyIfBeginCopyFails) {
  for (const int failing : {1, 2, 3}) {
    Bench bench(page);
    bench.take(open_host_store(bench.device, 3, locked));
    for (unsigned each = 0; each < 3; ++each) ASSERT_TRUE(bench.store->fill(each, contents_of(10 + each, page)));
    bench.device.failing_begin = failing;
    EXPECT_TRUE(on_engine(bench.device.engine(EngineKind::copy_in), [&]() noexcept -> Status {
      for (const std::size_t each : {0u, 1u, 2u}) bench.store->begin_load(each, bench.frames[each]);
      for (const std::size_t each : {0u, 1u, 2u})
        if (const Status loaded = bench.store->load(each, bench.frames[each], {}); !loaded) return loaded;
      return {};
    }));
    for (unsigned each = 0; each < 3; ++each) EXPECT_TRUE(bench.holds(each, 10 + each)) << each;
    EXPECT_EQ(bench.device.copies, 1);
  }
}

TEST(HostStore, ReturnsDeviceErrorOfFailedEndCopy) {
  Bench bench(page);
  bench.take(open_host_store(bench.device, 2, locked));
  bench.device.failing_end = 1;
  Counted counted;
  EXPECT_TRUE(on_engine(bench.device.engine(EngineKind::copy_out), [&]() noexcept -> Status {
    for (const std::size_t each : {0u, 1u}) bench.store->begin_save(each, bench.frames[each]);
    EXPECT_TRUE(fails(bench.store->save(0, bench.frames[0], counted.during()), Errc::device_fault));
    return bench.store->save(1, bench.frames[1], counted.during());
  }));
  EXPECT_EQ(counted.times, 2);
}

// ---- opening a file ----

TEST(FileStore, UnlinksFileOnceOpen) {
  Bench bench(page);
  bench.open_file(2);
  EXPECT_FALSE(std::filesystem::exists(bench.file));
  EXPECT_TRUE(bench.store->description().starts_with(bench.file.string() + ", unlinked, by "))
      << bench.store->description();
}

TEST(FileStore, NeverOverwritesExistingFile) {
  Bench bench(page);
  write_text(bench.file, "mine");
  EXPECT_TRUE(fails(open_file_store(bench.device, 2, bench.file), Errc::refused, bench.file.string()));
  EXPECT_TRUE(fails(open_file_store(bench.device, 2, bench.file), Errc::refused, "name another file"));
  EXPECT_EQ(read_text(bench.file), "mine");
}

TEST(FileStore, RejectsInvalidSizesAndMissingFolder) {
  Bench bench(page);
  EXPECT_TRUE(fails(open_file_store(bench.device, 0, bench.file), Errc::bad_input, "0 chunks"));
  EXPECT_TRUE(
      fails(open_file_store(bench.device, std::size_t(1) << 60, bench.file), Errc::bad_input, "chunks of 4.00 KiB"));
  EXPECT_TRUE(
      fails(open_file_store(bench.device, 2, bench.folder / "nowhere/swap"), Errc::refused, "Create its folder"));
  EXPECT_TRUE(std::filesystem::is_empty(bench.folder.path()));
}

TEST(FileStore, RefusesFolderWithoutWritePermission) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  Bench bench(page);
  std::filesystem::permissions(bench.folder.path(),
                               std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  EXPECT_TRUE(fails(open_file_store(bench.device, 2, bench.file), Errc::refused, "this user may write"));
  std::filesystem::permissions(bench.folder.path(), std::filesystem::perms::owner_all);
}

TEST(FileStore, RefusesFileBeyondSizeLimitAndLeavesNothing) {
  Bench bench(page);
  const Held before = held();
  {
    const FileSizeLimit limit(page.count * 3);
    EXPECT_TRUE(fails(open_file_store(bench.device, 4, bench.file), Errc::refused, bench.file.string()));
    EXPECT_TRUE(fails(open_file_store(bench.device, 4, bench.file), Errc::refused, "ulimit -f"));
    bench.open_file(3);
    bench.store.reset();
  }
  EXPECT_EQ(held(), before);
  EXPECT_TRUE(std::filesystem::is_empty(bench.folder.path()));
}

template <auto Member>
void expect_open_fails(int error, Errc code, const std::string& part, int nth = 1, bool host_sees_window = true) {
  Bench bench(page, host_sees_window);
  const Held before = held();
  {
    const Failing<Member> failing(error, nth);
    const auto opened = open_file_store(bench.device, 2, bench.file);
    EXPECT_TRUE(fails(opened, code, part));
    EXPECT_TRUE(fails(opened, code, bench.file.string()));
  }
  EXPECT_TRUE(eventually([&] { return held() == before; })) << held() << " instead of " << before;
  EXPECT_EQ(bench.device.pinned, 0);
}

TEST(FileStoreFaults, ReportsEachFailedCallAndLeaksNothing) {
  expect_open_fails<&System::create>(EACCES, Errc::refused, "this user may write");
  expect_open_fails<&System::create>(EROFS, Errc::refused, "this user may write");
  expect_open_fails<&System::unlink>(EIO, Errc::refused, "removing the name");
  expect_open_fails<&System::fallocate>(ENOSPC, Errc::refused, "Make room");
  expect_open_fails<&System::fallocate>(EOPNOTSUPP, Errc::refused, "ext4");
  expect_open_fails<&System::mmap>(ENOMEM, Errc::out_of_memory, "filling");
  expect_open_fails<&System::mmap>(ENOMEM, Errc::out_of_memory, "buffers", 3, false);
  expect_open_fails<&System::mlock>(ENOMEM, Errc::refused, "page-locking", 2, false);
  expect_open_fails<&System::pwrite>(EIO, Errc::io_error, "dmesg", 2);
}

/// Returns the fallback of a store on a machine changed by `change`.
std::string fallback_without(void (*change)(System&), bool host_sees_window = true) {
  const Without without(change);
  Bench bench(page, host_sees_window);
  bench.open_file(2);
  return bench.store ? bench.store->fallback() + " | " + bench.store->description() : "not opened";
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

/// Returns why this machine does not give the store all it needs, without modifications, or an empty text.
std::string why_less() {
  static const std::string text = [] {
    Bench bench(page);
    bench.open_file(1);
    return bench.store ? bench.store->fallback() : "it does not open";
  }();
  return text;
}

TEST(FileStoreFallback, IsEmptyIfIoUringAndDirectIoWork) {
  if (!why_less().empty()) GTEST_SKIP() << why_less();
  for (const bool seen : {true, false}) {
    const std::string text = fallback_without(nullptr, seen);
    EXPECT_TRUE(text.starts_with(" | ")) << text;
    EXPECT_TRUE(text.ends_with(", unlinked, by io_uring with O_DIRECT")) << text;
  }
}

TEST(FileStoreFallback, ReportsEachMissingFeatureWithReason) {
  if (!why_less().empty()) GTEST_SKIP() << why_less();
  for (const bool seen : {true, false}) {
    std::string text = fallback_without(no_io_uring, seen);
    EXPECT_TRUE(text.starts_with("the kernel has no io_uring (ENOSYS): pread and pwrite instead | ")) << text;
    EXPECT_TRUE(text.ends_with(", unlinked, by pread and pwrite with O_DIRECT")) << text;
    text = fallback_without(io_uring_not_allowed, seen);
    EXPECT_TRUE(has(text, "kernel.io_uring_disabled") && text.ends_with("by pread and pwrite with O_DIRECT")) << text;
    text = fallback_without(no_registered_file, seen);
    EXPECT_TRUE(has(text, "Too many open files") && text.ends_with("by pread and pwrite with O_DIRECT")) << text;
    text = fallback_without(no_registered_buffers, seen);
    EXPECT_TRUE(has(text, "could not register its buffers") && !has(text, "\n") &&
                text.ends_with("by io_uring with O_DIRECT"))
        << text;
    for (const auto change : {no_direct, no_direct_reads}) {
      text = fallback_without(change, seen);
      EXPECT_TRUE(has(text, "refuses O_DIRECT (Invalid argument)") && text.ends_with("by io_uring")) << text;
    }
    text = fallback_without(neither, seen);
    EXPECT_TRUE(has(text, "O_DIRECT") && has(text, "\nthe kernel has no io_uring") &&
                text.ends_with("by pread and pwrite"))
        << text;
  }
}

// ---- polled transfers ----

class FileStorePolled : public testing::Test {
 protected:
  void SetUp() override {
    if (!why_less().empty()) GTEST_SKIP() << why_less();
    poll_queues = "1\n";
    on_partition = false;
    polled_rings = 0;
    ASSERT_EQ(open_rings, 0);
  }
  void TearDown() override {
    poll_queues = "1\n";
    on_partition = false;
  }
};

TEST_F(FileStorePolled, PollsIfDiskHasPollQueues) {
  for (const bool partition : {false, true}) {
    on_partition = partition;
    for (const bool seen : {true, false}) {
      polled_rings = 0;
      const std::string text = fallback_without(poll_queue, seen);
      EXPECT_TRUE(text.starts_with(" | ") && text.ends_with(", unlinked, by polled io_uring with O_DIRECT")) << text;
      EXPECT_EQ(polled_rings, 2);
      EXPECT_EQ(open_rings, 0) << "after its end";
    }
  }
}

TEST_F(FileStorePolled, DoesNotPollWithoutPollQueuesOrDirectIo) {
  for (const char* none : {"0\n", "", "perhaps\n"}) {
    poll_queues = none;
    const std::string text = fallback_without(poll_queue);
    EXPECT_TRUE(text.starts_with(" | ") && text.ends_with(", unlinked, by io_uring with O_DIRECT")) << text;
  }
  poll_queues = "1\n";
  EXPECT_TRUE(fallback_without([](System& system) {
                poll_queue(system);
                no_direct(system);
              }).ends_with("by io_uring"));
  EXPECT_TRUE(fallback_without([](System& system) {
                poll_queue(system);
                system.fstat = [](int, struct stat*) { return refuse(EIO); };
              }).ends_with("by io_uring with O_DIRECT"));
  EXPECT_EQ(polled_rings, 0);
}

/// Checks what a store reports and stores on a machine that refuses to poll because of `change`.
void expect_interrupts(void (*change)(System&), std::string_view reason) {
  {
    const Without without(change);
    Bench bench(large);
    bench.open_file(2);
    const std::string text = bench.store->fallback() + " | " + bench.store->description();
    EXPECT_TRUE(has(text, "its disk has poll queues, but io_uring cannot poll them (" + std::string(reason) + ")"))
        << text;
    EXPECT_FALSE(has(text, "\n")) << text;
    EXPECT_TRUE(text.ends_with("by io_uring with O_DIRECT")) << text;
    EXPECT_EQ(open_rings, 2);
    EXPECT_TRUE(bench.load(0, 0));
    EXPECT_TRUE(bench.holds(0, Contents(large.count))) << "a page of it was tried";
    bench.write(0, 1);
    EXPECT_TRUE(bench.save(1, 0));
    EXPECT_TRUE(bench.stores(1, 1));
  }
  EXPECT_EQ(open_rings, 0);
}

TEST_F(FileStorePolled, FallsBackToInterruptsAndReportsWhyIfPollingFails) {
  expect_interrupts(
      [](System& system) { // only recent kernels answer the first read like this
        poll_queue(system);
        system.ring_poll = [](io_uring* ring, io_uring_cqe** completion) {
          const int outcome = linux_system().ring_poll(ring, completion);
          if (outcome == 0) (*completion)->res = -EOPNOTSUPP;
          return outcome;
        };
      },
      "Operation not supported");
  expect_interrupts(
      [](System& system) {
        poll_queue(system);
        system.ring_open = [](unsigned entries, io_uring* ring, unsigned flags) {
          if ((flags & IORING_SETUP_IOPOLL) != 0) return refuse(EINVAL);
          const int opened = linux_system().ring_open(entries, ring, flags);
          open_rings += opened == 0;
          return opened;
        };
      },
      "Invalid argument");
  expect_interrupts(
      [](System& system) {
        poll_queue(system);
        system.ring_poll = [](io_uring*, io_uring_cqe**) { return refuse(EIO); };
      },
      "Input/output error");
}

TEST_F(FileStorePolled, DoesNotMentionPollingWithoutIoUring) {
  const std::string text = fallback_without([](System& system) {
    poll_queue(system);
    no_io_uring(system);
  });
  EXPECT_TRUE(text.starts_with("the kernel has no io_uring (ENOSYS): pread and pwrite instead | ")) << text;
}

std::atomic<std::uint32_t> longest_submitted;

TEST_F(FileStorePolled, SplitsTransfersAtDiskRequestLimit) {
  const Without without([](System& system) {
    poll_queue(system);
    system.ring_submit = [](io_uring* ring) {
      const std::uint32_t length = ring->sq.sqes[(ring->sq.sqe_tail - 1) & *ring->sq.kring_mask].len;
      longest_submitted = std::max<std::uint32_t>(longest_submitted, length);
      return linux_system().ring_submit(ring);
    };
  });
  for (const bool seen : {true, false}) {
    Bench bench(large, seen);
    bench.open_file(2);
    longest_submitted = 0;
    EXPECT_TRUE(bench.save(0, 0));
    EXPECT_EQ(longest_submitted, longest_polled.count);
  }
}

std::atomic<int> naps, empty_looks;

TEST_F(FileStorePolled, SleepsBetweenPollsUnderSchedDeadline) {
  Bench bench(page);
  const auto never_at_once = [](System& system) {
    poll_queue(system);
    system.ring_poll = [](io_uring* ring, io_uring_cqe** completion) {
      return ++empty_looks % 3 != 0 ? refuse(EAGAIN) : linux_system().ring_poll(ring, completion);
    };
    system.sched_getattr = [](pid_t, SchedulingAttributes* attributes, unsigned, unsigned) {
      attributes->policy = SCHED_DEADLINE;
      return 0;
    };
    system.clock_nanosleep = [](clockid_t clock, int flags, const timespec* request, timespec* remaining) {
      ++naps;
      return linux_system().clock_nanosleep(clock, flags, request, remaining);
    };
  };
  const Without without(never_at_once);
  bench.open_file(2);
  bench.write(0, 1);
  naps = empty_looks = 0;
  EXPECT_TRUE(bench.save(0, 0));
  EXPECT_GE(naps, 2);
  EXPECT_EQ(naps, empty_looks - 1) << "between two looks, each time";
  EXPECT_TRUE(bench.stores(0, 1));
}

TEST(FileStoreFallback, SavesAndLoadsIfSecondRingCannotOpen) {
  if (!why_less().empty()) GTEST_SKIP() << why_less();
  Bench bench(page);
  const Failing<&System::ring_open> failing(ENOMEM, 2);
  bench.open_file(2);
  EXPECT_TRUE(has(bench.store->fallback(), "Cannot allocate memory")) << bench.store->fallback();
  bench.write(0, 1);
  EXPECT_TRUE(bench.save(0, 0));
  EXPECT_TRUE(bench.stores(0, 1));
}

TEST(FileStoreFallback, TransfersChunksCreatedAfterOpening) {
  auto device = HostDevice::open(page * 2, page);
  ASSERT_TRUE(device) << problem(device);
  const ScratchFolder folder;
  const auto store = open_file_store(**device, 2, folder / "swap");
  ASSERT_TRUE(store) << problem(store);
  const auto chunks = (*device)->create_chunks(2).value();
  std::byte* const from = (*device)->window(chunks[0]);
  std::byte* const to = (*device)->window(chunks[1]);
  std::memset(from, 42, page.count);
  EXPECT_TRUE(
      on_engine((*device)->engine(EngineKind::copy_out), [&]() noexcept { return (*store)->save(1, from, {}); }));
  EXPECT_TRUE(on_engine((*device)->engine(EngineKind::copy_in), [&]() noexcept { return (*store)->load(1, to, {}); }));
  EXPECT_EQ(std::memcmp(from, to, page.count), 0);
}

// ---- errors of transfers ----

/// Changes the kernel's results of transfers, through io_uring or not. One instance at a time.
class Disturbed {
 public:
  /// A function that returns the result of transfer `number` (from 1), which moved `moved` bytes: a negative error
  /// number, or fewer bytes.
  using Answer = long (*)(int number, long moved);
  explicit Disturbed(Answer answer, bool ring, bool polled = false)
      : override_((prepare(answer, ring, polled), table_)) {}
  [[nodiscard]] static int transfers() { return transfers_; }

 private:
  static void prepare(Answer answer, bool ring, bool polled) {
    answer_ = answer;
    transfers_ = 0;
    table_ = linux_system();
    if (polled) poll_queue(table_);
    if (!ring) table_.ring_open = [](unsigned, io_uring*, unsigned) { return refuse(ENOSYS); };
    table_.ring_wait = [](io_uring* waited, io_uring_cqe** completion) {
      const int outcome = linux_system().ring_wait(waited, completion);
      if (outcome == 0) (*completion)->res = static_cast<int>(answer_.load()(++transfers_, (*completion)->res));
      return outcome;
    };
    table_.ring_poll = [](io_uring* polled_ring, io_uring_cqe** completion) {
      const int outcome = linux_system().ring_poll(polled_ring, completion);
      if (outcome == 0) (*completion)->res = static_cast<int>(answer_.load()(++transfers_, (*completion)->res));
      return outcome;
    };
    table_.pread = [](int file, void* to, std::size_t size, off_t offset) {
      return as_call(linux_system().pread(file, to, size, offset));
    };
    table_.pwrite = [](int file, const void* from, std::size_t size, off_t offset) {
      return as_call(linux_system().pwrite(file, from, size, offset));
    };
  }
  static ssize_t as_call(ssize_t moved) {
    const long answer = answer_.load()(++transfers_, moved);
    return answer < 0 ? refuse(static_cast<int>(-answer)) : answer;
  }
  static inline System table_;
  static inline std::atomic<Answer> answer_;
  static inline std::atomic<int> transfers_;
  SystemOverride override_;
};

struct Path {
  const char* name;
  bool ring, host_sees_window, polled = false;
  friend std::ostream& operator<<(std::ostream& out, const Path& path) { return out << path.name; }
};
class FileStoreErrors : public testing::TestWithParam<Path> {
 protected:
  void SetUp() override {
    const Disturbed fallback([](int, long moved) { return moved; }, GetParam().ring, GetParam().polled);
    bench.open_file(3);
    ASSERT_TRUE(bench.store);
    if (GetParam().ring && !has(bench.store->description(), "io_uring")) GTEST_SKIP() << bench.store->fallback();
    ASSERT_EQ(has(bench.store->description(), "polled"), GetParam().polled);
    for (unsigned i = 0; i < 3; ++i) ASSERT_TRUE(bench.store->fill(i, contents_of(i + 1, bench.chunk)));
  }
  [[nodiscard]] Disturbed disturbed(Disturbed::Answer answer) const {
    return Disturbed(answer, GetParam().ring, GetParam().polled);
  }

  Bench bench{large, GetParam().host_sees_window};
};

TEST_P(FileStoreErrors, LoadErrorAffectsOnlyThatLoad) {
  Counted counted;
  {
    const auto failing = disturbed([](int number, long moved) { return number == 3 ? -EIO : moved; });
    EXPECT_TRUE(fails(bench.load(1, 0, counted.during()), Errc::io_error));
  }
  EXPECT_EQ(counted.times, 1);
  EXPECT_TRUE(
      has(bench.store->failure(), "reading the swap file " + bench.file.string() + " failed: Input/output error"))
      << bench.store->failure();
  EXPECT_TRUE(has(bench.store->failure(), "dmesg"));
  EXPECT_FALSE(has(bench.store->failure(), "writing"));
  for (unsigned i = 0; i < 3; ++i) EXPECT_TRUE(bench.stores(i, i + 1)) << i;
}

TEST_P(FileStoreErrors, SaveErrorLeavesFrameAndOtherChunksIntact) {
  bench.write(0, 9);
  Counted counted;
  {
    const auto failing = disturbed([](int number, long moved) { return number == 3 ? -ENOSPC : moved; });
    EXPECT_TRUE(fails(bench.save(1, 0, counted.during()), Errc::io_error));
  }
  EXPECT_EQ(counted.times, 1);
  EXPECT_TRUE(
      has(bench.store->failure(), "writing the swap file " + bench.file.string() + " failed: No space left on device"))
      << bench.store->failure();
  EXPECT_TRUE(bench.holds(0, 9));
  for (const unsigned i : {0u, 2u}) EXPECT_TRUE(bench.stores(i, i + 1)) << i;
  EXPECT_TRUE(bench.save(1, 0)) << "a torn copy is mended by the next save";
  EXPECT_TRUE(bench.stores(1, 9));
}

TEST_P(FileStoreErrors, LoadReportsEarlyEndOfFile) {
  {
    const auto failing = disturbed([](int number, long moved) { return number == 2 ? 0 : moved; });
    EXPECT_TRUE(fails(bench.load(0, 0), Errc::io_error));
  }
  EXPECT_TRUE(bench.stores(0, 1));
}

TEST_P(FileStoreErrors, FillReportsFileOnWriteError) {
  const auto failing = disturbed([](int number, long) { return number == 2 ? -long(EIO) : 4096L; });
  EXPECT_TRUE(fails(bench.store->fill(0, contents_of(1, bench.chunk)), Errc::io_error,
                    "writing the swap file " + bench.file.string() + " failed"));
}

TEST_P(FileStoreErrors, ContinuesShortAndInterruptedTransfers) {
  bench.write(0, 9);
  const auto unsteady = disturbed([](int number, long moved) {
    if (number % 5 == 1) return -long(EINTR);
    if (number % 5 == 2) return -long(EAGAIN);
    return moved > 8192 ? moved / 3 / 4096 * 4096 : moved;
  });
  Counted counted;
  EXPECT_TRUE(bench.save(1, 0, counted.during()));
  const int needed = Disturbed::transfers();
  EXPECT_GT(needed, 20);
  EXPECT_TRUE(bench.load(1, 1, counted.during()));
  EXPECT_GT(Disturbed::transfers(), needed + 20);
  EXPECT_TRUE(bench.holds(1, 9));
  EXPECT_EQ(counted.times, 2);
  EXPECT_EQ(bench.store->failure(), "");
  for (const unsigned i : {0u, 2u}) EXPECT_TRUE(bench.stores(i, i + 1)) << i;
}

TEST_P(FileStoreErrors, GivesUpOnFileThatIsNeverReady) {
  const auto never = disturbed([](int, long) { return -long(EAGAIN); });
  Counted counted;
  EXPECT_TRUE(fails(bench.load(0, 0, counted.during()), Errc::io_error));
  EXPECT_EQ(counted.times, 1);
  EXPECT_TRUE(has(bench.store->failure(), "temporarily unavailable")) << bench.store->failure();
}

class FileStoreThroughBuffers : public FileStoreErrors {};

TEST_P(FileStoreThroughBuffers, ReturnsDeviceErrorAndEndsTransferIfCopyFails) {
  Counted counted;
  for (const int failing : {1, parts - depth}) {
    bench.device.copies = 0;
    bench.device.failing_copy = failing;
    EXPECT_TRUE(fails(bench.load(0, 0, counted.during()), Errc::device_fault)) << failing;
  }
  bench.device.failing_copy = 0;
  for (const int failing : {1, depth}) {
    bench.device.ends = 0;
    bench.device.failing_end = failing;
    EXPECT_TRUE(fails(bench.load(0, 0, counted.during()), Errc::device_fault)) << failing;
    EXPECT_EQ(bench.device.ends, depth) << "each copy that was begun";
  }
  for (const int failing : {1, depth, depth + 1, parts}) {
    bench.device.copies = 0;
    bench.device.failing_copy = failing;
    EXPECT_TRUE(fails(bench.save(1, 0, counted.during()), Errc::device_fault)) << failing;
  }
  EXPECT_EQ(counted.times, 8);
  bench.device.failing_copy = 0;
  EXPECT_EQ(bench.store->failure(), "") << "of the device, not of the file";
  for (const unsigned i : {0u, 2u}) EXPECT_TRUE(bench.stores(i, i + 1)) << i;
  bench.write(0, 9);
  EXPECT_TRUE(bench.save(1, 0));
  EXPECT_TRUE(bench.stores(1, 9));
}

TEST_P(FileStoreThroughBuffers, LoadBeginsCopiesOfLastPartsBackToBack) {
  bench.device.copies = bench.device.begins = bench.device.ends = 0;
  EXPECT_TRUE(bench.load(1, 0));
  EXPECT_EQ(bench.device.begins, depth);
  EXPECT_EQ(bench.device.ends, depth);
  EXPECT_GE(bench.device.copies, parts - depth) << "those whose buffers are needed again";
  EXPECT_TRUE(bench.holds(0, 2));
}

TEST_P(FileStoreThroughBuffers, FallsBackToWholeCopyIfBeginCopyFails) {
  for (const int failing : {1, depth}) {
    bench.device.begins = bench.device.ends = 0;
    bench.device.failing_begin = failing;
    EXPECT_TRUE(bench.load(2, 0)) << failing;
    EXPECT_EQ(bench.device.begins, depth);
    EXPECT_EQ(bench.device.ends, depth - 1);
    EXPECT_TRUE(bench.holds(0, 3)) << failing;
    bench.write(0, 9);
  }
}

TEST_P(FileStoreThroughBuffers, EndsBegunCopiesIfReadFails) {
  {
    const auto failing = disturbed([](int number, long moved) { return number == parts ? -EIO : moved; });
    bench.device.begins = bench.device.ends = 0;
    EXPECT_TRUE(fails(bench.load(1, 0), Errc::io_error));
    EXPECT_EQ(bench.device.begins, bench.device.ends);
  }
  EXPECT_TRUE(bench.load(1, 0));
  EXPECT_TRUE(bench.holds(0, 2));
}

constexpr Path straight[] = {{"Ring", true, true}, {"Polled", true, true, true}, {"Plain", false, true}};
constexpr Path through_buffers[] = {{"Ring", true, false}, {"Polled", true, false, true}, {"Plain", false, false}};
constexpr auto name_of = [](const auto& test) { return test.param.name; };
INSTANTIATE_TEST_SUITE_P(Straight, FileStoreErrors, testing::ValuesIn(straight), name_of);
INSTANTIATE_TEST_SUITE_P(ThroughBuffers, FileStoreErrors, testing::ValuesIn(through_buffers), name_of);
INSTANTIATE_TEST_SUITE_P(All, FileStoreThroughBuffers, testing::ValuesIn(through_buffers), name_of);

template <auto Member> void expect_lane_ends(bool host_sees_window) {
  if (!why_less().empty()) GTEST_SKIP() << why_less();
  Bench bench(large, host_sees_window);
  bench.open_file(2);
  ASSERT_TRUE(bench.store->fill(0, contents_of(1, bench.chunk)));
  Counted counted;
  {
    const Failing<Member> failing(EBADF, 3);
    EXPECT_TRUE(fails(bench.load(0, 0, counted.during()), Errc::io_error));
  }
  EXPECT_TRUE(fails(bench.load(0, 0, counted.during()), Errc::io_error)) << "whatever the ring would do now";
  EXPECT_EQ(counted.times, 2);
  EXPECT_TRUE(has(bench.store->failure(), "reading")) << bench.store->failure();
  bench.write(1, 2);
  EXPECT_TRUE(bench.save(1, 1)) << "the other direction has a ring of its own";
}

TEST(FileStoreFaults, NeverReusesFailedRing) {
  for (const bool seen : {true, false}) {
    expect_lane_ends<&System::ring_submit>(seen);
    expect_lane_ends<&System::ring_wait>(seen);
  }
}

TEST(FileStoreFaults, RetriesBusyAndInterruptedRingCalls) {
  if (!why_less().empty()) GTEST_SKIP() << why_less();
  for (const int error : {EAGAIN, EBUSY, EINTR}) {
    Bench bench(large);
    bench.open_file(2);
    ASSERT_TRUE(bench.store->fill(0, contents_of(1, bench.chunk)));
    const Failing<&System::ring_submit> failing(error, 2);
    EXPECT_TRUE(bench.stores(0, 1)) << error;
  }
  Bench bench(large);
  bench.open_file(2);
  const Failing<&System::ring_wait> failing(EINTR, 2);
  EXPECT_TRUE(bench.load(0, 0));
}

TEST(FileStore, TransfersUseRegisteredFileAndBuffers) {
  if (!why_less().empty()) GTEST_SKIP() << why_less();
  static std::atomic<int> registered;
  System table = linux_system();
  table.ring_submit = [](io_uring* ring) {
    const io_uring_sqe& last = ring->sq.sqes[(ring->sq.sqe_tail - 1) & *ring->sq.kring_mask];
    registered += (last.flags & IOSQE_FIXED_FILE) != 0 &&
                  (last.opcode == IORING_OP_READ_FIXED || last.opcode == IORING_OP_WRITE_FIXED);
    return linux_system().ring_submit(ring);
  };
  const SystemOverride override(table);
  for (const auto& [chunk, seen] :
       {std::pair(page, true), std::pair(page, false), std::pair(large, true), std::pair(large, false)}) {
    Bench bench(chunk, seen);
    bench.open_file(2);
    if (chunk > page && !bench.store->fallback().empty()) continue; // this machine cannot register so much
    registered = 0;
    for (std::size_t frame = 0; frame < bench.frames.size(); ++frame)
      EXPECT_TRUE(bench.load(1, frame) && bench.save(0, frame));
    EXPECT_EQ(registered, 2 * (chunk > page ? parts : 1) * int(bench.frames.size()));
  }
}

// ---- overlap ----

std::atomic<int> submitted, min_ahead, copied;

TEST(FileStore, LoadReadsAheadWhilePartsAreCopied) {
  if (!why_less().empty()) GTEST_SKIP() << why_less();
  System table = linux_system();
  table.ring_submit = [](io_uring* ring) {
    ++submitted;
    return linux_system().ring_submit(ring);
  };
  const SystemOverride override(table);
  Bench bench(large, false);
  bench.open_file(1);
  bench.device.on_copy = [] {
    ++copied;
    min_ahead = std::min<int>(min_ahead, submitted - std::min<int>(parts, depth + copied - 1));
  };
  submitted = copied = min_ahead = 0;
  EXPECT_TRUE(bench.load(0, 0));
  EXPECT_EQ(submitted, parts);
  EXPECT_EQ(copied, parts);
  EXPECT_EQ(min_ahead, 0) << "at the n-th copy, n + 3 reads have been begun";
}

TEST(FileStore, ConcurrentWorkRunsDuringFileTransfer) {
  if (!why_less().empty()) GTEST_SKIP() << why_less();
  System table = linux_system();
  table.ring_submit = [](io_uring* ring) {
    ++submitted;
    return linux_system().ring_submit(ring);
  };
  table.ring_wait = [](io_uring* ring, io_uring_cqe** completion) {
    ++copied;
    return linux_system().ring_wait(ring, completion);
  };
  const SystemOverride override(table);
  Bench bench(large);
  bench.open_file(1);
  submitted = copied = 0;
  const DuringCopy during{
      [](void*) noexcept -> Status { return submitted > 0 && copied == 0 ? Status() : Unexpected(Errc::missed); },
      nullptr};
  EXPECT_TRUE(bench.load(0, 0, during));
  submitted = copied = 0;
  EXPECT_TRUE(bench.save(0, 0, during));
}

} // namespace
} // namespace rtexec::hal::test
