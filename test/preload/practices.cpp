// Practices of frameworks with a device; the first argument selects one. Exits with 0 and prints "done", or prints
// what went wrong. All practices work with the driver alone.
//
//   stream-order MIB ROUNDS   memory allocated and freed in stream order, far ahead of the device
//   ends MIB JOBS             ends with all its memory allocated, while others want the device
//   graphs MIB ROUNDS         graphs recorded in every mode while another thread works, and replayed
//   graph-copies MIB ROUNDS   graphs that copy and fill, made while others have the device
//   graph-memory ROUNDS       memory that a graph allocates and frees
//   grows MIB                 memory that grows in small steps, with a job under way all the time
//   restarts MIB              jobs with a pause after each, until there is input; reports when it works
//   forks MIB                 children that end in every way, and one that executes another practice
//   executes MIB              executes another practice, which takes its time
//   resets                    resets a context, which loses everything, twice
//   destroys                  destroys its context
//   contexts ROUNDS           works in two contexts of one device
//   devices                   uses memory of two devices
//   shares                    tries handles for other processes, which it can do without
//   declares                  declares impossible jobs
//   asks                      queries all attributes of pointers
//   pipeline MIB BATCHES      submits the next batch before the last one has ended
//   host-waits                streams of every kind that wait for the program's next action
//   segments MIB ROUNDS       segments that grow and shrink, made of chunks that it maps itself
//   segments-full             creates as many chunks as possible, repeatedly
//   segments-hostile          random calls, some of which a driver refuses
#include "test/preload/driver_functions.hpp"
#include "test/preload/stand_in.hpp"

#include <rtexec/client.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <poll.h>
#include <random>
#include <string>
#include <string_view>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace rtexec::hal::cuda;
using rtexec::test::check;
using rtexec::test::fail;

namespace {

// ---- kernels ----

std::atomic<int> wrong{0}; // words with unexpected contents

std::uint32_t word(std::uint32_t value, std::uint32_t i) { return value * 2654435761U + i; }
template <class Value> Value argument(void** arguments, int i) { return *static_cast<Value*>(arguments[i]); }

/// The kernel fill(words, count, value, microseconds). It takes this time, so that the submitting thread is ahead.
void fill(void** arguments) {
  auto* words = argument<std::uint32_t*>(arguments, 0);
  const auto count = argument<std::uint32_t>(arguments, 1), value = argument<std::uint32_t>(arguments, 2);
  for (std::uint32_t i = 0; i < count; ++i) words[i] = word(value, i);
  std::this_thread::sleep_for(std::chrono::microseconds(argument<std::uint32_t>(arguments, 3)));
}
void compare(void** arguments) {
  const auto* words = argument<std::uint32_t*>(arguments, 0);
  const auto count = argument<std::uint32_t>(arguments, 1), value = argument<std::uint32_t>(arguments, 2);
  for (std::uint32_t i = 0; i < count; ++i) wrong += words[i] != word(value, i);
}
void bump(void** arguments) {
  auto* words = argument<std::uint32_t*>(arguments, 0);
  const auto count = argument<std::uint32_t>(arguments, 1), value = argument<std::uint32_t>(arguments, 2);
  for (std::uint32_t i = 0; i < count; ++i) words[i] += value;
}
const StandInKernel bump_kernel{bump, {sizeof(void*), 4, 4, 4}};
const StandInKernel fill_kernel{fill, {sizeof(void*), 4, 4, 4}}, compare_kernel{compare, {sizeof(void*), 4, 4, 4}};

void launch(const StandInKernel& kernel, Stream stream, DevicePointer words, std::size_t bytes, std::uint32_t value,
            std::uint32_t microseconds = 0) {
  auto count = static_cast<std::uint32_t>(bytes / 4);
  void* arguments[] = {&words, &count, &value, &microseconds};
  const auto function = reinterpret_cast<Function>(const_cast<StandInKernel*>(&kernel));
  check(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr), "launch");
}

// ---- begin and end of all practices ----

Context begin() {
  Context context = nullptr;
  check(cuInit(0), "init");
  check(cuDevicePrimaryCtxRetain(&context, 0), "retain");
  check(cuCtxSetCurrent(context), "set current");
  return context;
}
Stream stream() {
  Stream made = nullptr;
  check(cuStreamCreate(&made, 1), "stream");
  return made;
}
int end() {
  check(cuCtxSynchronize(), "synchronize");
  if (wrong != 0) fail(std::to_string(wrong.load()) + " words are others");
  std::printf("done\n");
  return 0;
}
/// Makes stream `to` wait for the current work of `from`.
void order(Stream from, Stream to) {
  Event event = nullptr;
  check(cuEventCreate(&event, 2), "event");
  check(cuEventRecord(event, from), "record");
  check(cuStreamWaitEvent(to, event, 0), "wait");
  check(cuEventDestroy_v2(event), "destroy event");
}

constexpr std::size_t MiB = 1 << 20;

// ---- practices ----

/// Acts as a framework's allocator does with the driver's. Memory used by one stream is freed in its order; memory used
/// by several, in the order of one that waits for all of them.
int stream_order(std::size_t mebibytes, int rounds) {
  begin();
  const Stream streams[] = {stream(), stream(), nullptr}, unifier = stream();
  DevicePointer kept = 0;
  check(cuMemAllocAsync(&kept, mebibytes * MiB, streams[0]), "allocate");
  launch(fill_kernel, streams[0], kept, mebibytes * MiB, 1);
  check(cuCtxSynchronize(), "synchronize");
  for (int round = 0; round < rounds; ++round) {
    const Stream own = streams[round % 3], other = streams[(round + 1) % 3];
    const auto value = static_cast<std::uint32_t>(round);
    const std::size_t size = (round % 4 == 0 ? 1000000 : 300000 + 4096 * (value % 7)) / 4 * 4;
    DevicePointer pointer = 0;
    check(cuMemAllocAsync(&pointer, size, own), "allocate in stream order");
    launch(fill_kernel, own, pointer, size, value, 300);
    launch(compare_kernel, own, pointer, size, value);
    if (round % 5 == 4) {
      order(own, other);
      launch(compare_kernel, other, pointer, size, value);
      order(own, unifier);
      order(other, unifier);
      check(cuMemFreeAsync(pointer, unifier), "free behind several streams");
    } else {
      check(cuMemFreeAsync(pointer, own), "free in stream order");
    }
    if (round % 50 == 49) {
      launch(compare_kernel, own, kept, mebibytes * MiB, 1);
      check(cuCtxSynchronize(), "synchronize");
    }
  }
  return end();
}

int ends(std::size_t mebibytes, int jobs) {
  begin();
  DevicePointer kept = 0;
  check(cuMemAlloc_v2(&kept, mebibytes * MiB), "allocate");
  launch(fill_kernel, nullptr, kept, mebibytes * MiB, 1);
  for (int job = 0; job < jobs; ++job) {
    launch(compare_kernel, nullptr, kept, mebibytes * MiB, 1);
    check(cuCtxSynchronize(), "synchronize");
  }
  return end();
}

// ---- graphs ----

/// Launches, without synchronising, while another thread records.
class Neighbour {
 public:
  explicit Neighbour(Context context) : thread_([this, context] { work(context); }) {}
  Neighbour(const Neighbour&) = delete;
  Neighbour& operator=(const Neighbour&) = delete;
  ~Neighbour() {
    stopping_ = true;
    thread_.join();
  }

 private:
  void work(Context context) {
    check(cuCtxSetCurrent(context), "set current");
    const Stream own = stream();
    DevicePointer pointer = 0;
    int relaxed = 2;
    check(cuThreadExchangeStreamCaptureMode(&relaxed), "exchange");
    check(cuMemAlloc_v2(&pointer, 300000), "allocate");
    for (std::uint32_t i = 0; !stopping_; ++i) {
      launch(fill_kernel, own, pointer, 300000, i);
      launch(compare_kernel, own, pointer, 300000, i);
      std::this_thread::sleep_for(std::chrono::milliseconds(1 + i % 13)); // so that its job ends from time to time
    }
    check(cuStreamSynchronize(own), "synchronize stream");
  }
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

/// Records kernels on two streams, with memory allocated meanwhile, as a framework's own pool does.
GraphExec record(Stream main, Stream side, int mode, DevicePointer words, std::size_t bytes,
                 std::vector<DevicePointer>& had) {
  GraphHandle graph = nullptr;
  GraphExec executable = nullptr;
  DevicePointer pool = 0;
  check(cuStreamBeginCapture_v2(main, mode), "begin capture");
  launch(bump_kernel, main, words, bytes, 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  int relaxed = 2;
  check(cuThreadExchangeStreamCaptureMode(&relaxed), "exchange");
  check(cuMemAlloc_v2(&pool, 700000), "allocate while a stream records");
  check(cuThreadExchangeStreamCaptureMode(&relaxed), "exchange");
  order(main, side);
  launch(fill_kernel, side, pool, 700000, 7);
  launch(compare_kernel, side, pool, 700000, 7);
  order(side, main);
  launch(bump_kernel, main, words, bytes, 1);
  check(cuStreamEndCapture(main, &graph), "end capture");
  check(cuGraphInstantiateWithFlags(&executable, graph, 0), "instantiate");
  check(cuGraphDestroy(graph), "destroy");
  had.push_back(pool);
  return executable;
}

int graphs(std::size_t mebibytes, int rounds) {
  const Context context = begin();
  const Stream main = stream(), side = stream();
  const std::size_t bytes = mebibytes * MiB;
  DevicePointer words = 0;
  check(cuMemAlloc_v2(&words, bytes), "allocate");
  launch(fill_kernel, main, words, bytes, 1);
  check(cuCtxSynchronize(), "synchronize");
  std::uint32_t bumped = 0;
  std::vector<GraphExec> recorded;
  std::vector<DevicePointer> had;
  for (int round = 0; round < rounds; ++round) {
    {
      const Neighbour neighbour(context);
      recorded.push_back(record(main, side, round % 3, words, bytes, had));
    }
    check(cuGraphUpload(recorded.back(), main), "upload");
    for (const auto executable : recorded) { // including the old ones
      check(cuGraphLaunch(executable, main), "launch a graph");
      bumped += 2;
      check(cuStreamSynchronize(main), "synchronize stream");
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  std::vector<std::uint32_t> found(bytes / 4);
  check(cuMemcpyDtoH_v2(found.data(), words, bytes), "copy out");
  for (std::uint32_t i = 0; i < found.size(); ++i) wrong += found[i] != word(1, i) + bumped;
  // A failed or finished capture does not count as one.
  GraphHandle none = nullptr;
  if (cuStreamEndCapture(main, &none) == Code::success) fail("a capture that was none ended");
  const Stream short_lived = stream();
  check(cuStreamBeginCapture_v2(short_lived, 0), "begin capture");
  check(cuStreamDestroy_v2(short_lived), "destroy");
  for (const auto executable : recorded) check(cuGraphExecDestroy(executable), "destroy");
  for (const auto pool : had) check(cuMemFree_v2(pool), "free");
  return end();
}

/// Records copies and fills and instantiates them while others have the device: the driver checks the addresses that
/// they name.
int graph_copies(std::size_t mebibytes, int rounds) {
  const Context context = begin();
  const Stream main = stream();
  const std::size_t bytes = mebibytes * MiB;
  DevicePointer words = 0, copies = 0;
  check(cuMemAlloc_v2(&words, bytes), "allocate");
  check(cuMemAlloc_v2(&copies, bytes), "allocate");
  for (int round = 0; round < rounds; ++round) {
    const auto value = static_cast<std::uint32_t>(round);
    GraphHandle recorded = nullptr, built = nullptr;
    GraphExec executables[2] = {};
    void* node = nullptr;
    const FillParameters fill{.to = words, .pitch = 0, .value = value, .element_size = 4, .width = 1, .height = 1};
    std::this_thread::sleep_for(std::chrono::milliseconds(15));
    check(cuStreamBeginCapture_v2(main, round % 3), "begin capture");
    launch(fill_kernel, main, words, bytes, value);
    if (round % 2 == 0) check(cuMemcpyDtoDAsync_v2(copies, words, bytes, main), "record a copy");
    else check(cuMemcpyAsync(copies, words, bytes, main), "record a copy whose kind is found out");
    std::this_thread::sleep_for(std::chrono::milliseconds(15));
    check(cuMemsetD8Async(words, 0, bytes, main), "record a fill");
    check(cuStreamEndCapture(main, &recorded), "end capture");
    std::this_thread::sleep_for(std::chrono::milliseconds(15));
    check(cuGraphCreate(&built, 0), "make a graph");
    check(cuGraphAddMemsetNode(&node, built, nullptr, 0, &fill, context), "put a fill into a graph");
    check(cuGraphInstantiateWithFlags(&executables[0], recorded, 0), "instantiate");
    check(cuGraphInstantiateWithFlags(&executables[1], built, 0), "instantiate");
    for (const auto executable : executables) check(cuGraphLaunch(executable, main), "launch a graph");
    launch(compare_kernel, main, copies, bytes, value);
    std::vector<std::uint32_t> found(2);
    check(cuStreamSynchronize(main), "synchronize stream");
    check(cuMemcpyDtoH_v2(found.data(), words, 8), "copy out");
    wrong += found != std::vector<std::uint32_t>{value, 0};
    std::this_thread::sleep_for(std::chrono::milliseconds(15));
    check(cuStreamWaitValue32_v2(main, words, value, 0), "wait for a value");
    check(cuStreamSynchronize(main), "synchronize stream");
    for (const auto executable : executables) check(cuGraphExecDestroy(executable), "destroy");
    for (const auto graph : {recorded, built}) check(cuGraphDestroy(graph), "destroy");
  }
  return end();
}

int graph_memory(int rounds) {
  begin();
  const Stream main = stream();
  GraphHandle graph = nullptr;
  GraphExec executable = nullptr;
  DevicePointer pointer = 0;
  check(cuStreamBeginCapture_v2(main, 0), "begin capture");
  check(cuMemAllocAsync(&pointer, 100000, main), "allocate in a graph");
  launch(fill_kernel, main, pointer, 100000, 5);
  launch(compare_kernel, main, pointer, 100000, 5);
  check(cuMemFreeAsync(pointer, main), "free in a graph");
  check(cuStreamEndCapture(main, &graph), "end capture");
  check(cuGraphInstantiateWithFlags(&executable, graph, 0), "instantiate");
  for (int round = 0; round < rounds; ++round) check(cuGraphLaunch(executable, main), "launch a graph");
  check(cuStreamSynchronize(main), "synchronize stream");
  check(cuGraphExecDestroy(executable), "destroy");
  check(cuGraphDestroy(graph), "destroy");
  return end();
}

// ---- a program's own mappings ----

constexpr std::size_t KiB = 1 << 10;

/// Creates a handle as frameworks do: for the fabric, and if there is none, as a descriptor.
Code create(AllocationHandle& handle, std::size_t size) {
  AllocationProperties properties{};
  properties.requested_handle_types = 8;
  const Code code = cuMemCreate(&handle, size, &properties, 0);
  if (code == Code::success || code == Code::out_of_memory) return code;
  properties.requested_handle_types = file_descriptor_handle;
  properties.flags.gpu_direct_rdma_capable = 1;
  return cuMemCreate(&handle, size, &properties, 0);
}

/// Reserves far more addresses than there is memory. A part of them is mapped, in pieces of one size.
class Segment {
 public:
  explicit Segment(std::size_t piece) : piece_(piece), pieces_(64 * MiB / piece) {
    check(cuMemAddressReserve(&begin_, pieces_.size() * piece_, 0, 0, 0), "reserve");
  }
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;
  ~Segment() {
    for (std::size_t i = 0; i < pieces_.size(); ++i)
      if (pieces_[i].handle != 0) unmap(i);
    check(cuMemAddressFree(begin_, pieces_.size() * piece_), "free addresses");
  }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] std::size_t pieces() const { return pieces_.size(); }
  [[nodiscard]] bool has(std::size_t i) const { return pieces_[i].handle != 0; }
  /// Creates all pieces before it maps any.
  [[nodiscard]] Code map(std::size_t first, std::size_t count, std::uint32_t value) {
    std::vector<AllocationHandle> handles(count);
    for (std::size_t i = 0; i < count; ++i) {
      const Code code = create(handles[i], piece_);
      if (code == Code::success) continue;
      for (std::size_t made = 0; made < i; ++made) check(cuMemRelease(handles[made]), "release");
      return code;
    }
    for (std::size_t i = 0; i < count; ++i) {
      check(cuMemMap(address(first + i), piece_, 0, handles[i], 0), "map");
      pieces_[first + i] = {handles[i], value + static_cast<std::uint32_t>(i)};
    }
    AccessDescriptor access{};
    access.flags = AccessFlags::read_write;
    check(cuMemSetAccess(address(first), count * piece_, &access, 1), "set access");
    for (std::size_t i = first; i < first + count; ++i)
      launch(fill_kernel, nullptr, address(i), piece_, pieces_[i].value);
    bytes_ += count * piece_;
    return Code::success;
  }
  /// Unmaps a piece. The device must be idle.
  void unmap(std::size_t i) {
    check(cuMemUnmap(address(i), piece_), "unmap");
    check(cuMemRelease(pieces_[i].handle), "release");
    pieces_[i] = {};
    bytes_ -= piece_;
  }
  void compare() const {
    for (std::size_t i = 0; i < pieces_.size(); ++i)
      if (has(i)) launch(compare_kernel, nullptr, address(i), piece_, pieces_[i].value);
  }

 private:
  struct Piece {
    AllocationHandle handle = 0;
    std::uint32_t value = 0;
  };
  [[nodiscard]] DevicePointer address(std::size_t i) const { return begin_ + i * piece_; }
  std::size_t piece_, bytes_ = 0;
  DevicePointer begin_ = 0;
  std::vector<Piece> pieces_;
};

int segments(std::size_t mebibytes, int rounds) {
  begin();
  {
    Segment small(256 * KiB), large(1280 * KiB);
    std::mt19937 engine{11};
    for (int round = 0; round < rounds; ++round) {
      Segment& segment = round % 3 == 0 ? large : small;
      const auto value = static_cast<std::uint32_t>(round) * 100;
      const std::size_t first = engine() % (segment.pieces() / 12), count = 1 + engine() % 3;
      bool free = true;
      for (std::size_t i = first; i < first + count; ++i) free = free && !segment.has(i);
      if (free && small.bytes() + large.bytes() < mebibytes * MiB) {
        check(segment.map(first, count, value), "segment");
      } else {
        check(cuCtxSynchronize(), "synchronize");
        for (std::size_t i = 0; i < segment.pieces(); ++i)
          if (segment.has(i) && engine() % 3 == 0) segment.unmap(i);
      }
      if (round % 4 == 0) {
        DevicePointer pointer = 0; // memory outside the segment
        check(cuMemAlloc_v2(&pointer, 300 * KiB), "allocate");
        launch(fill_kernel, nullptr, pointer, 300 * KiB, value);
        launch(compare_kernel, nullptr, pointer, 300 * KiB, value);
        check(cuMemFree_v2(pointer), "free");
      }
      if (round % 2 == 0) {
        small.compare();
        large.compare();
        check(cuCtxSynchronize(), "synchronize");
      }
    }
    check(cuCtxSynchronize(), "synchronize");
  }
  return end();
}

/// Creates as many chunks as possible, repeatedly. The available memory limits their number, to the same one each time,
/// and all of them work.
int segments_full() {
  begin();
  std::size_t before = 0;
  for (int round = 0; round < 3; ++round) {
    Segment segment(256 * KiB);
    std::size_t free = 0, total = 0, i = 0;
    check(cuMemGetInfo_v2(&free, &total), "memory info");
    if (free < 2 * MiB || free > 8 * MiB || total > 8 * MiB) fail("memory info: " + std::to_string(free));
    while (i < segment.pieces() && segment.map(i, 1, static_cast<std::uint32_t>(i)) == Code::success) ++i;
    if (segment.bytes() > total || segment.bytes() + 256 * KiB < free) fail(std::to_string(i) + " pieces");
    if (round > 0 && i != before) fail("another number of pieces: " + std::to_string(i));
    before = i;
    segment.compare();
    check(cuCtxSynchronize(), "synchronize");
  }
  return end();
}

/// Compares with a list of what is mapped.
int segments_hostile() {
  begin();
  constexpr std::size_t unit = 64 * KiB, size = 6 * MiB + unit;
  std::mt19937 engine{3};
  DevicePointer range = 0;
  check(cuMemAddressReserve(&range, size, 0, 0, 0), "reserve");
  struct Chunk {
    std::size_t size;
    DevicePointer at;
    bool held;
  };
  std::map<AllocationHandle, Chunk> chunks;
  std::map<DevicePointer, AllocationHandle> mapped;
  const auto overlaps = [&](DevicePointer at, std::size_t bytes) {
    return std::ranges::any_of(mapped, [&](const auto& each) {
      return each.first < at + bytes && at < each.first + chunks[each.second].size;
    });
  };
  const auto any = [&]() { // a handle, usually a valid one
    if (chunks.empty() || engine() % 8 == 0) return AllocationHandle{0};
    return std::next(chunks.begin(), static_cast<std::ptrdiff_t>(engine() % chunks.size()))->first;
  };
  const auto expect = [](Code code, bool good, const char* what) {
    if ((code == Code::success) != good) fail(std::string(what) + ": " + std::to_string(static_cast<int>(code)));
  };
  for (int step = 0; step < 4000; ++step) {
    const DevicePointer at = range + engine() % 100 * unit + (engine() % 16 == 0 ? 512 : 0);
    const std::size_t bytes = (1 + engine() % 20) * unit;
    switch (engine() % 6) {
    case 0: {
      if (chunks.size() > 8) break;
      AllocationHandle handle = 0;
      const bool odd = engine() % 10 == 0;
      const Code code = create(handle, odd ? bytes + 1 : bytes);
      expect(code, !odd, "create");
      if (code == Code::success) chunks[handle] = {bytes, 0, true};
      break;
    }
    case 1: {
      const auto handle = any();
      if (handle == 0 || !chunks[handle].held) break;
      expect(cuMemRelease(handle), true, "release");
      chunks[handle].held = false;
      if (chunks[handle].at == 0) chunks.erase(handle);
      break;
    }
    case 2: {
      const auto handle = any();
      if (handle == 0 || !chunks[handle].held || chunks[handle].at != 0 || at % unit != range % unit) break;
      const std::size_t wanted = engine() % 6 == 0 ? chunks[handle].size + unit : chunks[handle].size;
      const std::size_t offset = engine() % 8 == 0 ? unit : 0;
      const bool good =
          offset == 0 && wanted == chunks[handle].size && at + wanted <= range + size && !overlaps(at, wanted);
      expect(cuMemMap(at, wanted, offset, handle, 0), good, "map");
      if (!good) break;
      mapped[at] = handle;
      chunks[handle].at = at;
      AccessDescriptor access{};
      access.flags = AccessFlags::read_write;
      expect(cuMemSetAccess(at, wanted, &access, 1), true, "set access");
      launch(fill_kernel, nullptr, at, wanted, static_cast<std::uint32_t>(step));
      launch(compare_kernel, nullptr, at, wanted, static_cast<std::uint32_t>(step));
      check(cuCtxSynchronize(), "synchronize");
      break;
    }
    case 3: {
      std::vector<DevicePointer> whole;
      DevicePointer next = at;
      while (mapped.contains(next) && next < at + bytes) {
        whole.push_back(next);
        next += chunks[mapped[next]].size;
      }
      const bool good = next == at + bytes;
      AccessDescriptor access{};
      access.flags = AccessFlags::read_write;
      expect(cuMemSetAccess(at, bytes, &access, 1), good, "set access");
      expect(cuMemUnmap(at, bytes), good, "unmap");
      for (const auto each : whole) {
        if (!good) break;
        const auto handle = mapped[each];
        mapped.erase(each);
        chunks[handle].at = 0;
        if (!chunks[handle].held) chunks.erase(handle);
      }
      break;
    }
    case 4: {
      if (mapped.empty()) break;
      const auto [where, handle] = *std::next(mapped.begin(), static_cast<std::ptrdiff_t>(engine() % mapped.size()));
      expect(cuMemUnmap(where, chunks[handle].size), true, "unmap");
      mapped.erase(where);
      chunks[handle].at = 0;
      if (!chunks[handle].held) chunks.erase(handle);
      break;
    }
    default:
      expect(cuMemAddressFree(range, size - unit), false, "free a part of a range");
      expect(cuMemAddressFree(range + unit, size), false, "free no range");
      if (!mapped.empty()) {
        expect(cuMemAddressFree(range, size), false, "free a range that is used");
      } else if (engine() % 4 == 0) {
        expect(cuMemAddressFree(range, size), true, "free a range");
        check(cuMemAddressReserve(&range, size, 0, 0, 0), "reserve");
      }
    }
  }
  return end();
}

// ---- processes, contexts, devices ----

/// A block whose words must equal what `value` says; this is checked from time to time.
class Block {
 public:
  explicit Block(std::size_t size, std::uint32_t value = 1) : size_(size), value_(value) {
    check(cuMemAlloc_v2(&pointer_, size_), "allocate");
    launch(fill_kernel, nullptr, pointer_, size_, value_);
  }
  void compare() const {
    launch(compare_kernel, nullptr, pointer_, size_, value_);
    check(cuCtxSynchronize(), "synchronize");
  }
  [[nodiscard]] DevicePointer pointer() const { return pointer_; }

 private:
  DevicePointer pointer_ = 0;
  std::size_t size_;
  std::uint32_t value_;
};

int restarts(std::size_t mebibytes) {
  begin();
  const Block block(mebibytes * MiB);
  block.compare();
  std::puts("at work");
  std::fflush(stdout);
  pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  while (::poll(&input, 1, 10) == 0) block.compare();
  block.compare();
  return end();
}

int grows(std::size_t mebibytes) {
  begin();
  const Stream own = stream();
  std::vector<Block> blocks;
  for (std::uint32_t i = 0; i < mebibytes * 8; ++i) {
    blocks.emplace_back(MiB / 8, i);
    launch(fill_kernel, own, blocks.back().pointer(), MiB / 8, i, 25000);
    launch(compare_kernel, own, blocks[i / 2].pointer(), MiB / 8, i / 2);
  }
  for (const auto& block : blocks) block.compare();
  return end();
}

int forks(std::size_t mebibytes) {
  begin();
  const Block block(mebibytes * MiB);
  block.compare();
  const std::string size = std::to_string(mebibytes);
  for (int way = 0; way < 4; ++way) {
    launch(compare_kernel, nullptr, block.pointer(), 4096, 1); // with work under way
    const pid_t child = ::fork();
    if (child == 0) {
      std::size_t free = 0, total = 0;
      if (way < 2) (void)cuMemGetInfo_v2(&free, &total);
      if (way == 0) std::exit(0);
      if (way == 1) ::_exit(0);
      if (way == 2) ::raise(SIGKILL);
      ::execl("/proc/self/exe", "practices", "ends", size.c_str(), "2", nullptr);
      ::_exit(1);
    }
    int status = 0;
    if (::waitpid(child, &status, 0) != child || status != (way == 2 ? SIGKILL : 0))
      fail("child " + std::to_string(way) + ": " + std::to_string(status));
    block.compare();
  }
  return end();
}

int executes(std::size_t mebibytes) {
  begin();
  const Block block(mebibytes * MiB);
  block.compare();
  launch(compare_kernel, nullptr, block.pointer(), mebibytes * MiB, 1);
  ::execl("/proc/self/exe", "practices", "pipeline", std::to_string(mebibytes).c_str(), "250", nullptr);
  fail("exec");
}

int goes(bool reset) {
  const Context context = begin();
  const Block block(5 * MiB);
  block.compare();
  launch(compare_kernel, nullptr, block.pointer(), 5 * MiB, 1);
  for (int i = 0; i < (reset ? 2 : 1); ++i)
    check(reset ? cuDevicePrimaryCtxReset_v2(0) : cuCtxDestroy_v2(context), "the context's end");
  if (reset) {
    check(cuCtxSetCurrent(begin()), "set current");
    const Block other(MiB);
    other.compare();
    check(cuMemFree_v2(other.pointer()), "free");
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(1500)); // others want the memory that it had
  if (wrong != 0) fail("words are others");
  std::printf("done\n");
  return 0;
}

int devices() {
  const Context first = begin();
  Context second = nullptr;
  const Block block(2 * MiB, 1);
  check(cuDevicePrimaryCtxRetain(&second, 1), "retain");
  check(cuCtxSetCurrent(second), "set current");
  DevicePointer pointer = 0;
  std::size_t free = 0, total = 0;
  check(cuMemGetInfo_v2(&free, &total), "memory info");
  if (total != 256 * MiB) fail("the second device has " + std::to_string(total));
  check(cuMemAlloc_v2(&pointer, 100 * MiB), "allocate more than the limit of the first device");
  AllocationHandle handle = 0;
  AllocationProperties properties{};
  properties.location.id = 1;
  check(cuMemCreate(&handle, 1 * MiB, &properties, 0), "create");
  check(cuMemRelease(handle), "release");
  check(cuMemFree_v2(pointer), "free");
  check(cuCtxSetCurrent(first), "set current");
  block.compare();
  return end();
}

int shares() {
  begin();
  const Block block(MiB);
  char handle[64];
  (void)cuIpcGetMemHandle(handle, block.pointer());
  DevicePointer managed = 0;
  unsigned type = 0;
  check(cuMemAllocManaged(&managed, MiB, 1), "allocate managed memory");
  launch(fill_kernel, nullptr, managed, MiB, 9);
  launch(compare_kernel, nullptr, managed, MiB, 9);
  check(cuPointerGetAttribute(&type, 2, managed), "type of memory");
  check(cuCtxSynchronize(), "synchronize");
  check(cuMemFree_v2(managed), "free managed memory");
  block.compare();
  return end();
}

/// Works in two contexts. Synchronising one waits for its own work only.
int contexts(int rounds) {
  const Context first = begin();
  Context second = nullptr;
  constexpr std::size_t size = 3 * MiB;
  DevicePointer words = 0, more = 0;
  check(cuMemAlloc_v2(&words, size), "allocate");
  check(cuCtxCreate_v2(&second, 0, 0), "create");
  const Stream named = stream();
  for (int round = 0; round < rounds; ++round) {
    const auto value = static_cast<std::uint32_t>(round);
    const Stream used = round % 2 == 0 ? nullptr : named;
    check(cuCtxSetCurrent(second), "set current");
    launch(fill_kernel, used, words, size, value, 60'000);
    launch(compare_kernel, used, words, size, value);
    check(cuCtxSetCurrent(first), "set current");
    check(cuCtxSynchronize(), "synchronize the other context");
    if (round == 3) check(cuMemAlloc_v2(&more, MiB), "allocate more");
    std::this_thread::sleep_for(std::chrono::milliseconds(90));
    check(cuCtxSetCurrent(second), "set current");
    check(cuStreamSynchronize(used), "synchronize stream");
  }
  DevicePointer freed = 0;
  check(cuMemAllocAsync(&freed, 100000, named), "allocate in stream order");
  launch(fill_kernel, nullptr, words, size, 1, 1000);
  launch(fill_kernel, named, freed, 100000, 1, 1000);
  check(cuMemFreeAsync(freed, named), "free in stream order");
  check(cuCtxDestroy_v2(second), "destroy");
  check(cuCtxSetCurrent(first), "set current");
  check(cuMemFree_v2(more), "free");
  check(cuMemAlloc_v2(&more, 100000), "allocate");
  launch(compare_kernel, nullptr, words, size, 1);
  return end();
}

int declares() {
  begin();
  const rtexec_job_declaration right{100'000'000, 100'000'000, 10'000'000, 0, RTEXEC_OVERRUN_TELL};
  for (const std::int32_t answer : {-1, 3, 256, 257}) {
    rtexec_job_declaration wrong_answer = right;
    wrong_answer.on_overrun = answer;
    const int code = rtexec_job_declare(&wrong_answer, nullptr);
    if (code != RTEXEC_CLIENT_ABSENT && code != RTEXEC_CLIENT_REFUSED) fail("on_overrun " + std::to_string(answer));
  }
  return end();
}

int asks() {
  begin();
  DevicePointer pointers[2] = {}, base = 0, begin_of = 0;
  std::size_t pitch = 0, size = 0, asked_size = 0;
  check(cuMemAlloc_v2(&pointers[0], 10000), "allocate");
  check(cuMemAllocPitch_v2(&pointers[1], &pitch, 1000, 10, 4), "allocate pitched");
  if (pitch < 1000) fail("pitch");
  DevicePointer none = 0;
  // times 512 it overflows to a small value
  for (const std::size_t height : {(std::size_t{1} << 55) + 1, std::size_t{1} << 62})
    if (cuMemAllocPitch_v2(&none, &pitch, 1, height, 4) == Code::success) fail("more than there can be");
  for (const DevicePointer pointer : pointers) {
    check(cuMemGetAddressRange_v2(&base, &size, pointer + 5000), "address range");
    int attributes[] = {11, 12};
    void* answers[] = {&begin_of, &asked_size};
    check(cuPointerGetAttributes(2, attributes, answers, pointer + 5000), "attributes");
    if (base != pointer || begin_of != pointer || size < 10000 || asked_size != size || size > 11000) fail("range");
  }
  if (cuMemGetAddressRange_v2(&base, &size, pointers[0] + (std::size_t{1} << 40)) == Code::success) fail("no range");
  check(cuMemFree_v2(pointers[0]), "free");
  if (cuMemFree_v2(pointers[0]) == Code::success || cuMemFree_v2(pointers[1] + 512) == Code::success)
    fail("freed what is not there");
  check(cuMemFree_v2(pointers[1]), "free");
  check(cuMemFree_v2(0), "free nothing");
  return end();
}

// ---- work that is always under way ----

int pipeline(std::size_t mebibytes, int batches) {
  begin();
  const Stream own = stream();
  DevicePointer kept = 0;
  Event ended[2] = {};
  for (auto& event : ended) check(cuEventCreate(&event, 2), "event");
  check(cuMemAlloc_v2(&kept, mebibytes * MiB), "allocate");
  for (int batch = 0; batch < batches; ++batch) {
    const auto value = static_cast<std::uint32_t>(batch);
    launch(fill_kernel, own, kept, mebibytes * MiB, value, 5000);
    launch(compare_kernel, own, kept, mebibytes * MiB, value);
    check(cuEventRecord(ended[batch % 2], own), "record");
    if (batch > 0) check(cuEventSynchronize(ended[(batch + 1) % 2]), "synchronize event");
  }
  return end();
}

/// A host function that waits for open().
class Barrier {
 public:
  void queue(Stream stream) { check(cuLaunchHostFunc(stream, wait, this), "host function"); }
  void queue_own() { check(cuLaunchHostFunc_ptsz(nullptr, wait, this), "host function"); }
  void open() { open_ = true; }

 private:
  static void wait(void* self) {
    while (!static_cast<Barrier*>(self)->open_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::atomic<bool> open_{false};
};

/// Checks that neither a query, nor a pause in which a job might end, nor the end of a stream waits for work that waits
/// for this program.
int host_waits() {
  constexpr std::size_t size = 4 << 10;
  ::alarm(300);
  const Context context = begin();
  DevicePointer words = 0;
  check(cuMemAlloc_v2(&words, 500 * size), "allocate");
  std::vector<Stream> streams(400); // more than fit
  for (std::size_t i = 0; i < streams.size(); ++i) {
    streams[i] = stream();
    launch(fill_kernel, streams[i], words + i * size, size, static_cast<std::uint32_t>(i));
  }
  Barrier barrier;
  barrier.queue(streams.back());
  launch(compare_kernel, streams.back(), words + 399 * size, size, 399);
  std::thread other([&] { // has a stream of its own, which other threads cannot query
    check(cuCtxSetCurrent(context), "set current");
    DevicePointer own = words + 400 * size;
    std::uint32_t count = size / 4, value = 5, microseconds = 0;
    void* arguments[] = {&own, &count, &value, &microseconds};
    const auto function = reinterpret_cast<Function>(const_cast<StandInKernel*>(&fill_kernel));
    check(cuLaunchKernel_ptsz(function, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr), "launch");
    barrier.queue_own();
  });
  other.join();
  const Stream short_lived = stream();
  launch(fill_kernel, short_lived, words + 401 * size, size, 6);
  barrier.queue(short_lived);
  launch(bump_kernel, short_lived, words + 401 * size, size, 0);
  check(cuStreamDestroy_v2(short_lived), "destroy");
  Event event = nullptr;
  check(cuEventCreate(&event, 2), "event");
  check(cuEventRecord(event, streams[0]), "record");
  while (cuEventQuery(event) != Code::success) {}
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  launch(compare_kernel, streams[0], words, size, 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  barrier.open();
  check(cuCtxSynchronize(), "synchronize");
  launch(compare_kernel, streams[1], words + 400 * size, size, 5);
  launch(compare_kernel, streams[1], words + 401 * size, size, 6);
  check(cuStreamSynchronize(streams[1]), "synchronize stream");
  for (const auto each : streams) check(cuStreamDestroy_v2(each), "destroy");
  return end();
}

} // namespace

int main(int argc, char** argv) {
  const std::string_view practice(argc > 1 ? argv[1] : "");
  const std::size_t mebibytes = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 1;
  const int count = argc > 3 ? std::atoi(argv[3]) : 1;
  if (practice == "stream-order") return stream_order(mebibytes, count);
  if (practice == "graphs") return graphs(mebibytes, count);
  if (practice == "graph-copies") return graph_copies(mebibytes, count);
  if (practice == "graph-memory") return graph_memory(static_cast<int>(mebibytes));
  if (practice == "grows") return grows(mebibytes);
  if (practice == "restarts") return restarts(mebibytes);
  if (practice == "forks") return forks(mebibytes);
  if (practice == "executes") return executes(mebibytes);
  if (practice == "resets" || practice == "destroys") return goes(practice == "resets");
  if (practice == "devices") return devices();
  if (practice == "shares") return shares();
  if (practice == "contexts") return contexts(static_cast<int>(mebibytes));
  if (practice == "declares") return declares();
  if (practice == "asks") return asks();
  if (practice == "segments") return segments(mebibytes, count);
  if (practice == "segments-full") return segments_full();
  if (practice == "segments-hostile") return segments_hostile();
  if (practice == "pipeline") return pipeline(mebibytes, count);
  if (practice == "host-waits") return host_waits();
  if (practice == "ends") return ends(mebibytes, count);
  fail("no such practice");
}
