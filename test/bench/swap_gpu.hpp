// A GPU for measurements: copy limits, networks bound without an executive, and load by copies, kernels and other
// processes.
#pragma once

#include "hal/cuda/cuda_device.hpp"
#include "hal/store/common.hpp"
#include "hal/thread.hpp"
#include "tasks/engine/cuda/cuda_network.hpp"
#include "tasks/engine/onnx/onnx_reader.hpp"
#include "tasks/engine/graph/passes.hpp"
#include "test/bench/swap_common.hpp"

#include <array>
#include <atomic>
#include <csignal>
#include <cstring>
#include <memory>
#include <poll.h>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace rtexec::bench {

namespace api = hal::cuda;

inline api::DevicePointer pointer(const std::byte* address) { return reinterpret_cast<api::DevicePointer>(address); }

// ---- limits of the bus ----

/// In GB/s, for page-locked memory. `both` is the sum of both directions at once.
struct CopyLimits {
  double in = 0, out = 0, both = 0;
};

class LimitMeasurement {
 public:
  static constexpr int runs = 5, copies = 4;

  Result<CopyLimits> measure() {
    auto device = hal::CudaDevice::open({.capacity = piece * 2, .chunk = piece});
    if (!device) return Unexpected(device.error());
    device_ = std::move(*device);
    const auto chunks = device_->create_chunks(2);
    if (!chunks) return Unexpected(chunks.error());
    auto memory = hal::StoreMemory::open(*device_, piece * 2, hal::HostMemoryKind::page_locked, "the copied memory");
    if (!memory) return Unexpected(memory.error());
    host_ = std::move(*memory);
    CopyLimits limits;
    for (const auto& [value, in, out] :
         {std::tuple(&limits.in, true, false), {&limits.out, false, true}, {&limits.both, true, true}}) {
      const auto rate = median_rate(in, out);
      if (!rate) return Unexpected(rate.error());
      *value = *rate;
    }
    return limits;
  }

 private:
  static constexpr Bytes piece = GiB;

  Result<double> median_rate(bool in, bool out) {
    std::vector<double> rates;
    for (int run = 0; run <= runs; ++run) {
      const auto took = time(in, out);
      if (!took) return Unexpected(took.error());
      const auto bytes = static_cast<double>(piece.count * copies * (in && out ? 2 : 1));
      if (run > 0) rates.push_back(bytes / static_cast<double>(took->count())); // the first run warms up
    }
    return median(rates);
  }

  Result<Duration> time(bool in, bool out) {
    const auto& driver = device_->driver();
    const auto in_stream = device_->stream(hal::EngineKind::copy_in),
               out_stream = device_->stream(hal::EngineKind::copy_out);
    const auto in_place = pointer(device_->window(hal::Chunk(0))), out_place = pointer(device_->window(hal::Chunk(1)));
    auto code = api::Code::success;
    const auto call = [&](api::Code answer) { code = code == api::Code::success ? answer : code; };
    const Instant begin = hal::now();
    for (int copy = 0; copy < copies; ++copy) {
      if (in) call(driver.copy_async(in_place, pointer(host_.base()), piece.count, in_stream));
      if (out) call(driver.copy_async(pointer(host_.base() + piece.count), out_place, piece.count, out_stream));
    }
    call(driver.stream_synchronize(in_stream));
    call(driver.stream_synchronize(out_stream));
    const Duration took = hal::now() - begin;
    if (const auto done = device_->checked(code, "copying"); !done) return Unexpected(done.error());
    return took;
  }

  std::unique_ptr<hal::CudaDevice> device_;
  hal::StoreMemory host_; // destroyed before the device
};

// ---- networks ----

/// Builds a network in single precision with default kernels. Needs no GPU.
inline Result<std::unique_ptr<tasks::CudaNetwork>> build_network(const std::string& model) {
  auto graph = tasks::read_onnx(model);
  if (!graph) return Unexpected(graph.error());
  tasks::optimise(*graph);
  return tasks::CudaNetwork::build(*graph, Precision::fp32);
}

/// Binds the network to memory of the device, which the device releases when it ends. The network must end before.
inline Result<> bind_network(hal::CudaDevice& device, tasks::CudaNetwork& network) {
  const auto constants = network.constants();
  const auto memory = device.allocate(BufferKind::device, Bytes{constants.size()});
  if (!memory) return Unexpected(memory.error());
  const auto scratch = device.allocate(BufferKind::device, network.scratch());
  if (!scratch) return Unexpected(scratch.error());
  if (const auto copied = device.copy(memory->device, constants.data(), Bytes{constants.size()}); !copied)
    return fail(copied.error(), "copying the constants failed");
  return network.bind(device, {.constant = memory->device, .scratch = scratch->device, .state = nullptr});
}

// ---- load ----

/// A thread that repeats `body`, a Result<> without arguments, in the context of a device until it is stopped.
class Load {
 public:
  template <class Body> Load(hal::CudaDevice& device, Body body) {
    thread_ = std::thread([this, &device, body] {
      outcome_ = device.enter();
      while (outcome_ && !ending_) outcome_ = body();
    });
  }
  ~Load() { (void)stop(); }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;
  /// Returns the first error of the body.
  Result<> stop() {
    ending_ = true;
    if (thread_.joinable()) thread_.join();
    return outcome_;
  }

 private:
  std::atomic<bool> ending_{false};
  Result<> outcome_;
  std::thread thread_;
};

/// Keeps two pieces of work in `stream`, so that it never idles. For use by one thread.
class Pipeline {
 public:
  static Result<std::shared_ptr<Pipeline>> open(hal::CudaDevice& device, api::Stream stream) {
    std::shared_ptr<Pipeline> pipeline(new Pipeline(device, stream));
    for (auto& event : pipeline->events_)
      if (const auto made =
              device.checked(device.driver().event_create(&event, api::event_disable_timing | api::event_blocking_sync),
                             "making an event");
          !made)
        return Unexpected(made.error());
    return pipeline;
  }
  ~Pipeline() {
    (void)device_.driver().stream_synchronize(stream_);
    for (const auto event : events_)
      if (event) (void)device_.driver().event_destroy(event);
  }
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  /// Takes the driver's result `issued` for one more piece of work. Waits until only that piece remains.
  Result<> add(api::Code issued) {
    const auto& driver = device_.driver();
    if (const auto done = device_.checked(issued, "issuing work"); !done) return done;
    if (const auto done = device_.checked(driver.event_record(events_[count_ % 2], stream_), "recording an event");
        !done)
      return done;
    if (count_++ == 0) return {};
    return device_.checked(driver.event_synchronize(events_[count_ % 2]), "waiting for work");
  }
  [[nodiscard]] std::uint64_t count() const { return count_; }

 private:
  Pipeline(hal::CudaDevice& device, api::Stream stream) : device_(device), stream_(stream) {}
  hal::CudaDevice& device_;
  api::Stream stream_;
  std::array<api::Event, 2> events_{};
  std::uint64_t count_ = 0;
};

/// Copies chunks of page-locked memory without a pause, from its construction until stop().
class CopyLoad {
 public:
  static constexpr Bytes chunk = MiB * 64;

  /// Starts the load. `device` must have chunks of that size, and room for two.
  static Result<std::unique_ptr<CopyLoad>> start(hal::CudaDevice& device, bool in, bool out) {
    std::unique_ptr<CopyLoad> load(new CopyLoad);
    if (auto chunks = device.create_chunks(2)) load->chunks_ = std::move(*chunks);
    else return Unexpected(chunks.error());
    auto host = hal::StoreMemory::open(device, chunk * 2, hal::HostMemoryKind::page_locked, "the copied memory");
    if (!host) return Unexpected(host.error());
    load->host_ = std::move(*host);
    load->begun_ = hal::now();
    for (const auto kind : {hal::EngineKind::copy_in, hal::EngineKind::copy_out})
      if (kind == hal::EngineKind::copy_in ? in : out)
        if (const auto added = load->add(device, kind); !added) return Unexpected(added.error());
    return load;
  }
  /// Returns the sum of both directions in GB/s.
  Result<double> stop() {
    for (const auto& load : loads_)
      if (const auto stopped = load->stop(); !stopped) return Unexpected(stopped.error());
    std::uint64_t copies = 0;
    for (const auto& pipeline : pipelines_) copies += pipeline->count();
    return static_cast<double>(copies * chunk.count) / static_cast<double>((hal::now() - begun_).count());
  }

 private:
  CopyLoad() = default;
  Result<> add(hal::CudaDevice& device, hal::EngineKind kind) {
    const auto pipeline = Pipeline::open(device, device.stream(kind));
    if (!pipeline) return Unexpected(pipeline.error());
    pipelines_.push_back(*pipeline);
    const bool in = kind == hal::EngineKind::copy_in;
    const auto on_device = pointer(device.window(chunks_[in ? 0 : 1])),
               on_host = pointer(host_.base() + (in ? 0 : chunk.count));
    loads_.push_back(std::make_unique<Load>(
        device, [&device, kind, to = in ? on_device : on_host, from = in ? on_host : on_device, work = *pipeline] {
          return work->add(device.driver().copy_async(to, from, chunk.count, device.stream(kind)));
        }));
    return {};
  }

  std::vector<hal::Chunk> chunks_;
  hal::StoreMemory host_;
  std::vector<std::shared_ptr<Pipeline>> pipelines_;
  std::vector<std::unique_ptr<Load>> loads_;
  Instant begun_{};
};

// Occupies a multiprocessor for the given number of cycles.
inline constexpr char spin_kernel[] = R"(.version 6.0
.target sm_50
.address_size 64
.visible .entry spin(.param .u64 cycles) {
  .reg .u64 %limit, %begin, %now, %passed;
  .reg .pred %more;
  ld.param.u64 %limit, [cycles];
  mov.u64 %begin, %clock64;
again:
  mov.u64 %now, %clock64;
  sub.u64 %passed, %now, %begin;
  setp.lt.u64 %more, %passed, %limit;
  @%more bra again;
  ret;
}
)";

/// Another process that computes on the GPU from start() until this object is destroyed. It must be made before this
/// process calls CUDA.
class Neighbour {
 public:
  static Result<std::unique_ptr<Neighbour>> make() {
    std::unique_ptr<Neighbour> neighbour(new Neighbour);
    if (pipe(neighbour->go_) != 0 || pipe(neighbour->answer_) != 0)
      return fail(Errc::refused, std::string("pipe failed: ") + std::strerror(errno));
    std::fflush(nullptr);
    neighbour->process_ = fork();
    if (neighbour->process_ < 0) return fail(Errc::refused, std::string("fork failed: ") + std::strerror(errno));
    if (neighbour->process_ == 0) {
      neighbour->work();
      _exit(0);
    }
    return neighbour;
  }
  ~Neighbour() {
    if (process_ > 0) {
      (void)kill(process_, SIGKILL);
      (void)waitpid(process_, nullptr, 0);
    }
    for (const int end : {go_[0], go_[1], answer_[0], answer_[1]})
      if (end >= 0) (void)close(end);
  }
  Neighbour(const Neighbour&) = delete;
  Neighbour& operator=(const Neighbour&) = delete;

  /// Starts the process, and returns when its kernels run.
  Result<> start() {
    constexpr int timeout_ms = 30'000;
    std::array<char, 512> text{};
    if (write(go_[1], "g", 1) != 1) return fail(Errc::refused, "the other process has ended");
    pollfd end{answer_[0], POLLIN, 0};
    if (poll(&end, 1, timeout_ms) != 1) return fail(Errc::refused, "the other process does not answer");
    const auto length = read(answer_[0], text.data(), text.size() - 1);
    if (length == 1 && text[0] == '+') return {};
    return fail(Errc::refused, "the other process: " + std::string(text.data()));
  }

 private:
  Neighbour() = default;
  void work() {
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    char order = 0;
    if (read(go_[0], &order, 1) != 1) return;
    const auto outcome = spin();
    if (outcome) return;
    const std::string& what = outcome.error().what;
    (void)!write(answer_[1], what.data(), what.size());
  }
  Result<> spin() {
    const auto device = hal::CudaDevice::open({.capacity = MiB * 64});
    if (!device) return Unexpected(device.error());
    auto module = (*device)->load(spin_kernel, "the spinning kernel");
    if (!module) return Unexpected(module.error());
    const auto kernel = module->kernel("spin");
    if (!kernel) return Unexpected(kernel.error());
    const auto stream = (*device)->stream(hal::EngineKind::compute);
    const auto pipeline = Pipeline::open(**device, stream);
    if (!pipeline) return Unexpected(pipeline.error());
    std::uint64_t cycles = 2'000'000; // about 1 ms
    void* arguments[] = {&cycles};
    const auto blocks = static_cast<unsigned>((*device)->multiprocessors());
    while (true) {
      if (const auto added = (*pipeline)->add((*device)->driver().launch(
              static_cast<api::Function>(kernel->function), blocks, 1, 1, 128, 1, 1, 0, stream, arguments, nullptr));
          !added)
        return added;
      if ((*pipeline)->count() == 2 && write(answer_[1], "+", 1) != 1) return {};
    }
  }

  pid_t process_ = -1;
  int go_[2] = {-1, -1}, answer_[2] = {-1, -1};
};

} // namespace rtexec::bench
