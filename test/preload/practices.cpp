// What frameworks do with a device, one practice for each first argument; ends with 0 and prints "done", or says what
// went wrong. All of it is right with the driver alone.
//
//   stream-order MIB ROUNDS   memory that is allocated and freed in the order of streams, far ahead of the device
//   ends MIB JOBS             ends with all its memory there, while others want the device
#include "hal/cuda/driver.hpp"
#include "test/preload/stand_in.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

using namespace rtexec::hal::cuda;

extern "C" {
Code cuInit(unsigned);
Code cuDevicePrimaryCtxRetain(Context*, Ordinal);
Code cuCtxSetCurrent(Context);
Code cuCtxSynchronize();
Code cuMemAlloc_v2(DevicePointer*, std::size_t);
Code cuMemFree_v2(DevicePointer);
Code cuMemAllocAsync(DevicePointer*, std::size_t, Stream);
Code cuMemFreeAsync(DevicePointer, Stream);
Code cuStreamCreate(Stream*, unsigned);
Code cuStreamSynchronize(Stream);
Code cuStreamWaitEvent(Stream, Event, unsigned);
Code cuEventCreate(Event*, unsigned);
Code cuEventRecord(Event, Stream);
Code cuEventDestroy_v2(Event);
Code cuLaunchKernel(Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream, void**,
                    void**);
}

namespace {

[[noreturn]] void fail(const std::string& what) {
  std::printf("failed: %s\n", what.c_str());
  std::exit(1);
}
void check(Code code, const char* what) {
  if (code != Code::success) fail(std::string(what) + ": " + std::to_string(static_cast<int>(code)));
}

// ---- kernels ----

std::atomic<int> wrong{0}; // words that were not what they should be

std::uint32_t word(std::uint32_t value, std::uint32_t i) { return value * 2654435761U + i; }
template <class Value> Value argument(void** arguments, int i) { return *static_cast<Value*>(arguments[i]); }

/// (words, count, value, microseconds): slowly, so that who submits is ahead.
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
const StandInKernel fill_kernel{fill, {sizeof(void*), 4, 4, 4}}, compare_kernel{compare, {sizeof(void*), 4, 4, 4}};

void launch(const StandInKernel& kernel, Stream stream, DevicePointer words, std::size_t bytes, std::uint32_t value,
            std::uint32_t microseconds = 0) {
  auto count = static_cast<std::uint32_t>(bytes / 4);
  void* arguments[] = {&words, &count, &value, &microseconds};
  const auto function = reinterpret_cast<Function>(const_cast<StandInKernel*>(&kernel));
  check(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr), "launch");
}

// ---- what all begin and end with ----

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
/// `to` goes on when `from` has come so far.
void order(Stream from, Stream to) {
  Event event = nullptr;
  check(cuEventCreate(&event, 2), "event");
  check(cuEventRecord(event, from), "record");
  check(cuStreamWaitEvent(to, event, 0), "wait");
  check(cuEventDestroy_v2(event), "destroy event");
}

constexpr std::size_t MiB = 1 << 20;

// ---- practices ----

/// As a framework's allocator does it over that of the driver: what one stream used is freed in its order; what several
/// did, in the order of one that waits for all of them.
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

} // namespace

int main(int argc, char** argv) {
  const std::string_view practice(argc > 1 ? argv[1] : "");
  const std::size_t mebibytes = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 1;
  const int count = argc > 3 ? std::atoi(argv[3]) : 1;
  if (practice == "stream-order") return stream_order(mebibytes, count);
  if (practice == "ends") return ends(mebibytes, count);
  fail("no such practice");
}
