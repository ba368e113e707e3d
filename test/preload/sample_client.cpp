// A program whose jobs each use all of its device memory: sample_client MIB JOBS [PERIOD_MS [WCET_MS]]
//
// Its blocks come from every way to allocate, and have sizes of every kind; some are freed and allocated again between
// jobs. Each job adds to every word of every block, by kernels on two streams, a graph, and copies from the host. At
// the end, and from time to time, the program compares the contents with its own counts. It prints a digest, and
// reports errors. With a period it declares itself, and prints how long its jobs took from their release.
#include "test/preload/driver_functions.hpp"
#include "test/preload/stand_in.hpp"

#include <rtexec/client.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>
#include <vector>

using namespace rtexec::hal::cuda;
using rtexec::test::check;
using rtexec::test::fail;

namespace {

void add(void** arguments) {
  auto* words = *static_cast<std::uint32_t**>(arguments[0]);
  const auto count = *static_cast<std::uint32_t*>(arguments[1]);
  const auto value = *static_cast<std::uint32_t*>(arguments[2]);
  for (std::uint32_t i = 0; i < count; ++i) words[i] += value;
}
const StandInKernel add_kernel{add, {sizeof(std::uint32_t*), sizeof(std::uint32_t), sizeof(std::uint32_t)}};

struct Block {
  DevicePointer pointer = 0;
  std::uint32_t words = 0;
  bool in_stream_order = false;
  std::uint32_t first = 0; // word i is first + i, since all words change alike
};

class Client {
 public:
  explicit Client(std::size_t bytes) : bytes_(bytes) {
    Context context = nullptr;
    check(cuInit(0), "init");
    check(cuDevicePrimaryCtxRetain(&context, 0), "retain");
    check(cuCtxSetCurrent(context), "set current");
    for (auto& stream : streams_) check(cuStreamCreate(&stream, 1), "stream");
    while (used_ < bytes_) blocks_.push_back(allocate());
    look_at_memory();
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client() {
    for (auto& block : blocks_) free(block);
    for (auto stream : streams_) check(cuStreamDestroy_v2(stream), "destroy");
  }

  void job(int number) {
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      auto& block = blocks_[i];
      if (number % 3 == 0) launch_in_graph(block);
      else launch(block, streams_[i % 2]);
    }
    for (auto stream : streams_) check(cuStreamSynchronize(stream), "synchronize stream");
    check(cuCtxSynchronize(), "synchronize");
  }
  void exchange_some() {
    for (int i = 0; i < 2; ++i) {
      auto& block = blocks_[engine_() % blocks_.size()];
      free(block);
      block = allocate();
    }
  }
  void verify() {
    std::vector<std::uint32_t> words;
    for (const auto& block : blocks_) {
      words.resize(block.words);
      check(cuMemcpyDtoH_v2(words.data(), block.pointer, words.size() * 4), "copy out");
      for (std::uint32_t i = 0; i < block.words; ++i) {
        if (words[i] != block.first + i) fail("word " + std::to_string(i) + " of a block is another");
        digest_ = (digest_ ^ words[i]) * 1099511628211U;
      }
    }
  }
  [[nodiscard]] std::uint64_t digest() const { return digest_; }

 private:
  std::size_t size() {
    switch (engine_() % 4) {
    case 0: return 4 * (1 + engine_() % 1000);
    case 1: return 65536;
    case 2: return 4 * (1 + engine_() % 262144);
    default: return 3U << 20;
    }
  }
  Block allocate() {
    Block block;
    std::size_t bytes = size(), pitch = 0;
    block.in_stream_order = engine_() % 3 == 0;
    if (block.in_stream_order) {
      check(cuMemAllocAsync(&block.pointer, bytes, streams_[0]), "allocate in stream order");
    } else if (engine_() % 3 == 0) {
      check(cuMemAllocPitch_v2(&block.pointer, &pitch, bytes / 4, 4, 4), "allocate pitched");
      if (pitch % 512 != 0 || pitch < bytes / 4) fail("pitch");
      bytes = bytes / 4 * 4;
    } else {
      check(cuMemAlloc_v2(&block.pointer, bytes), "allocate");
    }
    used_ += bytes;
    block.words = static_cast<std::uint32_t>(bytes / 4);
    block.first = static_cast<std::uint32_t>(engine_());
    std::vector<std::uint32_t> words(block.words);
    for (std::uint32_t i = 0; i < block.words; ++i) words[i] = block.first + i;
    check(cuStreamSynchronize(streams_[0]), "synchronize stream");
    check(cuMemcpyHtoD_v2(block.pointer, words.data(), words.size() * 4), "copy in");
    return block;
  }
  void free(const Block& block) {
    used_ -= block.words * std::size_t{4};
    if (block.in_stream_order) check(cuMemFreeAsync(block.pointer, streams_[0]), "free in stream order");
    else check(cuMemFree_v2(block.pointer), "free");
  }
  void launch(Block& block, Stream stream) {
    std::uint32_t value = static_cast<std::uint32_t>(engine_() % 1000);
    block.first += value;
    void* arguments[] = {&block.pointer, &block.words, &value};
    check(cuLaunchKernel(function(), 1, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr), "launch");
  }
  void launch_in_graph(Block& block) {
    GraphHandle graph = nullptr;
    GraphExec executable = nullptr;
    check(cuStreamBeginCapture_v2(streams_[0], 2), "begin capture");
    launch(block, streams_[0]);
    launch(block, streams_[0]);
    check(cuStreamEndCapture(streams_[0], &graph), "end capture");
    check(cuGraphInstantiateWithFlags(&executable, graph, 0), "instantiate");
    check(cuGraphLaunch(executable, streams_[0]), "launch a graph");
    check(cuStreamSynchronize(streams_[0]), "synchronize stream");
    check(cuGraphExecDestroy(executable), "destroy");
    check(cuGraphDestroy(graph), "destroy");
  }
  void look_at_memory() {
    std::size_t free = 0, total = 0;
    check(cuMemGetInfo_v2(&free, &total), "memory info");
    if (free + used_ > total) fail("memory info");
    check(cuMemGetInfo_v2(nullptr, nullptr), "memory info without a place for it");
    for (const auto& block : blocks_) {
      DevicePointer base = 0, begin = 0;
      std::size_t size = 0;
      unsigned type = 0;
      check(cuMemGetAddressRange_v2(&base, &size, block.pointer + block.words * 4ULL - 1), "address range");
      if (base != block.pointer || size < block.words * 4ULL) fail("address range");
      check(cuPointerGetAttribute(&type, 2, block.pointer), "type of memory");
      check(cuPointerGetAttribute(&begin, 11, block.pointer + 4), "begin of a range");
      if (type != 2 || begin != block.pointer) fail("attributes");
    }
  }
  static Function function() { return reinterpret_cast<Function>(const_cast<StandInKernel*>(&add_kernel)); }

  std::size_t bytes_, used_ = 0;
  std::mt19937 engine_{7};
  Stream streams_[2] = {};
  std::vector<Block> blocks_;
  std::uint64_t digest_ = 1469598103934665603U;
};

int run(std::size_t mebibytes, int jobs, std::chrono::milliseconds period, std::chrono::nanoseconds wcet) {
  using Clock = std::chrono::steady_clock;
  Client client(mebibytes << 20);
  const std::int64_t ns = std::chrono::nanoseconds(period).count();
  for (int i = 0; ns > 0 && i < 30; ++i) client.exchange_some(); // once declared, its arena does not grow any more
  const rtexec_job_declaration declaration{ns, ns, wcet.count(), 0, RTEXEC_OVERRUN_TELL};
  if (ns > 0 && rtexec_job_declare(&declaration, nullptr) != RTEXEC_CLIENT_OK) {
    std::printf("not declared: %s\n", rtexec_client_error());
    return 3;
  }
  Clock::duration longest{0};
  auto release = Clock::now() + period;
  for (int job = 0; job < jobs; ++job) {
    if (ns > 0) std::this_thread::sleep_until(release);
    if (ns > 0) (void)rtexec_job_begin();
    client.job(job);
    if (job % 7 == 3) client.exchange_some();
    if (job % 10 == 9 || job + 1 == jobs) client.verify();
    if (ns > 0) (void)rtexec_job_end();
    longest = std::max(longest, Clock::now() - release);
    release = std::max(release + period, Clock::now());
  }
  std::printf("digest %016llx\n", static_cast<unsigned long long>(client.digest()));
  if (ns > 0) std::printf("longest %.3f ms\n", std::chrono::duration<double, std::milli>(longest).count());
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  if (argc < 3) fail("sample_client MIB JOBS [PERIOD_MS [WCET_MS]]");
  const std::chrono::milliseconds period(argc > 3 ? std::atoi(argv[3]) : 0);
  return run(std::strtoul(argv[1], nullptr, 10), std::atoi(argv[2]), period,
             argc > 4 ? std::chrono::milliseconds(std::atoi(argv[4])) : std::chrono::nanoseconds(period) / 20);
}
