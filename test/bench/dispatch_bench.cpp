// The time from a job's request to the start of its kernel on the GPU, in a running executive: request, scheduler
// thread, compute engine's thread, driver, device. The kernel sets a word in page-locked host memory, which a separate
// thread watches, so the way back over the bus is included.
#include "hal/thread.hpp"
#include "hal/cuda/cuda_device.hpp"
#include <rtexec/executive.hpp>
#include "test/bench/statistics.hpp"
#include "test/support/raise_word.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

using namespace rtexec;

class Probe final : public Workload {
 public:
  explicit Probe(std::size_t jobs) {
    latencies_.reserve(2 * jobs);
    threads_.reserve(2 * jobs);
  }
  ~Probe() override {
    ending_ = true;
    watcher_.join();
    if (word_.host) (void)device_->free(word_);
  }

  [[nodiscard]] MemoryDemand memory() const override { return {}; }
  [[nodiscard]] std::span<const std::byte> constants() const override { return {}; }
  [[nodiscard]] std::string fingerprint() const override { return "dispatch-probe"; }

  [[nodiscard]] Result<> bind(Device& device, const Memory&) override {
    device_ = &device;
    gpu_ = device.gpu();
    if (!gpu_) return fail(Errc::unsupported, "the dispatch probe needs a GPU");
    auto word = device.allocate(BufferKind::host, Bytes{64});
    if (!word) return Unexpected(word.error());
    word_ = *word;
    auto module = gpu_->load(test::raise_word, "the dispatch probe");
    if (!module) return Unexpected(module.error());
    module_ = std::move(*module);
    auto graph = test::graph_that_raises(word_.device, *gpu_, module_);
    if (!graph) return Unexpected(graph.error());
    graph_ = std::move(*graph);
    watcher_ = std::thread([this] { watch(); });
    return {};
  }

  [[nodiscard]] Status before(std::uint64_t) noexcept override {
    raised().store(0, std::memory_order_relaxed);
    requested_.store(hal::now().time_since_epoch().count());
    return {};
  }
  [[nodiscard]] Status execute() noexcept override {
    executing_.store(hal::now().time_since_epoch().count());
    return gpu_->run(graph_);
  }
  [[nodiscard]] Status after(std::uint64_t) noexcept override { return {}; }

  /// Latencies in us, complete once the executive has stopped.
  std::vector<double> latencies_; // request to kernel start
  std::vector<double> threads_;   // part of it: request to the compute engine's thread

 private:
  [[nodiscard]] std::atomic_ref<std::uint32_t> raised() const {
    return std::atomic_ref(*reinterpret_cast<std::uint32_t*>(word_.host));
  }
  void watch() {
    while (!ending_) {
      if (requested_ == 0 || raised().load(std::memory_order_acquire) == 0) continue;
      const auto started = hal::now().time_since_epoch().count();
      const auto requested = requested_.exchange(0);
      latencies_.push_back(static_cast<double>(started - requested) * 1e-3);
      threads_.push_back(static_cast<double>(executing_ - requested) * 1e-3);
    }
  }

  Device* device_ = nullptr;
  Gpu* gpu_ = nullptr;
  Buffer word_;
  GpuModule module_;
  GpuGraph graph_;
  std::atomic<std::int64_t> requested_{0}; // ns; 0: seen
  std::atomic<std::int64_t> executing_{0};
  std::atomic<bool> ending_{false};
  std::thread watcher_;
};

void print(const char* what, const std::vector<double>& times) {
  std::printf("    %-34s p50 %6.1f  p99 %6.1f  p99.9 %6.1f  max %6.1f us\n", what, bench::median(times),
              bench::percentile(times, 0.99), bench::percentile(times, 0.999), bench::percentile(times, 1));
}

struct Setting {
  Completion completion;
  bool keep_awake;
};

int measure(const char* board, const Setting& setting) {
  constexpr Duration period = std::chrono::milliseconds(2);
  constexpr std::size_t jobs = 5000;
  TaskSet set;
  set.board = board;
  set.executive.duration = period * jobs;
  set.executive.allow_degraded = true;
  set.device.capacity = Bytes{64 << 20};
  set.executive.keep_awake = setting.keep_awake;
  set.device.completion = setting.completion;
  Task task;
  task.name = "probe";
  task.workload = WorkloadKind::synthetic;
  task.footprint = Bytes{2 << 20};
  task.period = task.deadline = period;
  task.core = 1;
  task.wcet = Wcet{std::chrono::microseconds(20), std::chrono::microseconds(100), std::chrono::microseconds(20)};
  set.tasks.push_back(task);

  ExecutiveSetup setup;
  setup.force = true;
  auto probe = std::make_unique<Probe>(jobs);
  const Probe& seen = *probe;
  setup.workloads.emplace("probe", std::move(probe));
  auto executive = Executive::create(set, std::move(setup));
  if (!executive) return std::fprintf(stderr, "%s\n", executive.error().what.c_str()), 1;
  if (const auto started = executive->start(); !started)
    return std::fprintf(stderr, "%s\n", started.error().what.c_str()), 1;
  executive->wait();
  const auto report = executive->stop();
  if (seen.latencies_.empty()) return std::fprintf(stderr, "no kernel was seen to start\n"), 1;
  std::printf("  completion = \"%s\", keep_awake = %s: %zu jobs, %llu missed\n",
              setting.completion == Completion::spin ? "spin" : "block", setting.keep_awake ? "true" : "false",
              seen.latencies_.size(), static_cast<unsigned long long>(report.tasks.front().missed));
  print("request to kernel start", seen.latencies_);
  print("of that, to the engine's thread", seen.threads_);
  for (const auto& line : report.degraded) std::printf("    degraded: %s\n", line.c_str());
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  if (const auto device = hal::CudaDevice::open({}); !device)
    return std::printf("skipped: %s\n", device.error().what.c_str()), 0;
  const char* board = argc > 1 ? argv[1] : "rtx";
  std::printf("dispatch cost on board %s, period 2 ms\n", board);
  for (const bool keep_awake : {false, true})
    for (const auto completion : {Completion::block, Completion::spin})
      if (measure(board, {completion, keep_awake}) != 0) return 1;
  return 0;
}
