// Execution time of one device part, measured as the executive measures it (Device::executed). It depends on the
// time since the last execution and on the work of the copy engines. A network runs on a board's device, on the thread
// of its compute engine. Copies also continue in the pauses.
//
// execution-bench [BOARD] [MODEL.onnx] [--seconds N]: about N seconds for each line, at least three executions.
#include "hal/machine_files.hpp"
#include "hal/open/open_device.hpp"
#include "hal/stolen_time.hpp"
#include "hal/store/common.hpp"
#include "hal/thread.hpp"
#include "rtexec/runtime/executive/device_memory.hpp"
#include "tasks/engine/graph/passes.hpp"
#include "tasks/engine/make_network.hpp"
#include "tasks/engine/models/models.hpp"
#include "tasks/engine/onnx/onnx_reader.hpp"
#include "test/bench/statistics.hpp"
#include "test/support/test_files.hpp"

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace rtexec;
using namespace std::chrono_literals;

struct Options {
  std::string board = "host", model;
  double seconds = 0.5;
};

constexpr std::size_t warm_ups = 5, least = 3, most = 2000;

/// Keeps a copy engine busy while it lives.
class Copies {
 public:
  Copies(hal::Device& device, hal::EngineKind kind, std::byte* to, const std::byte* from)
      : caller_([this, &device, kind, to, from] {
          failed_ = !device.engine(kind)
                         .call([&]() noexcept -> Status {
                           Status status;
                           while (!ending_ && status) status = device.copy(to, from, device.chunk_size());
                           return status;
                         })
                         .outcome;
        }) {}
  ~Copies() {
    ending_ = true;
    caller_.join();
    if (failed_) std::printf("  a copy failed: the line above was not beside copies\n");
  }
  Copies(const Copies&) = delete;
  Copies& operator=(const Copies&) = delete;

 private:
  std::atomic<bool> ending_{false};
  bool failed_ = false;
  std::thread caller_;
};

struct Sample {
  Duration passed{0}, executed{0};
};

struct Line {
  std::vector<double> executed, passed; // ms
  double median() const { return bench::median(executed); }
  double p99() const { return bench::percentile(executed, 0.99); }
  double longest() const { return bench::percentile(executed, 1); }
};

double milliseconds(Duration time) { return std::chrono::duration<double, std::milli>(time).count(); }

class Bench {
 public:
  Result<> prepare(const Options& options, const std::string& model) {
    const auto board = read_board(options.board);
    if (!board) return Unexpected(board.error());
    auto graph = tasks::read_onnx(model);
    if (!graph) return Unexpected(graph.error());
    tasks::optimise(*graph);
    auto network = tasks::make_network(*graph, board->device, Precision::fp32);
    if (!network) return Unexpected(network.error());
    network_ = std::move(*network);
    const MemoryDemand demand = network_->memory();
    const Bytes needed = round_up(demand.constant, board->chunk) + round_up(demand.scratch, board->chunk);
    auto device = hal::open_device(*board, needed + board->chunk * 2, board->chunk);
    if (!device) return Unexpected(device.error());
    device_ = std::move(*device);
    if (const auto bound = bind(demand); !bound) return bound;
    seat_engines();
    return {};
  }

  [[nodiscard]] bool on_host() const { return device_->kind() == DeviceKind::host; }
  [[nodiscard]] std::string device() const { return device_->name(); }

  Result<Line> measure(Duration pause, bool in, bool out, Duration length) {
    std::optional<Copies> copies_in, copies_out;
    if (in) copies_in.emplace(*device_, hal::EngineKind::copy_in, device_->window(chunks_[0]), host_.base());
    if (out)
      copies_out.emplace(*device_, hal::EngineKind::copy_out, host_.base() + device_->chunk_size().count,
                         device_->window(chunks_[1]));
    for (std::size_t i = 0; i < warm_ups; ++i)
      if (const auto ran = execute(); !ran) return Unexpected(ran.error());
    Line line;
    const Instant end = hal::now() + length;
    for (std::size_t i = 0; i < most && (i < least || hal::now() < end); ++i) {
      if (pause > Duration(0)) hal::sleep_until(hal::now() + pause);
      const auto ran = execute();
      if (!ran) return Unexpected(ran.error());
      line.executed.push_back(milliseconds(ran->executed));
      line.passed.push_back(milliseconds(ran->passed));
    }
    return line;
  }

 private:
  Result<> bind(const MemoryDemand& demand) {
    const auto task_memory = executive::resident_memory(demand, network_->constants(), device_->chunk_size());
    auto memory = executive::DeviceMemory::lay_out(*device_, {&task_memory, 1}, {});
    if (!memory) return Unexpected(memory.error());
    memory_ = std::move(*memory);
    if (const auto bound = network_->bind(*device_, memory_->addresses().front()); !bound) return bound;
    auto chunks = device_->create_chunks(2);
    if (!chunks) return Unexpected(chunks.error());
    chunks_ = std::move(*chunks);
    auto host = hal::StoreMemory::open(*device_, device_->chunk_size() * 2, hal::HostMemoryKind::page_locked,
                                       "the copied memory");
    if (!host) return Unexpected(host.error());
    host_ = std::move(*host);
    return {};
  }

  /// Places engines as in a run: the compute engine on the last core, the copy engines on the first one.
  void seat_engines() {
    const unsigned last = std::max(1u, std::thread::hardware_concurrency()) - 1;
    const auto seat = [&](hal::EngineKind kind, const hal::ThreadSettings& settings) {
      if (const auto seated = device_->engine(kind).configure(settings); !seated)
        std::printf("  %s: %s\n", settings.name.c_str(), seated.error().what.c_str());
    };
    hal::ThreadSettings compute, copy_in, copy_out;
    compute.name = "compute", compute.core = last, compute.fifo_priority = 97;
    copy_in.name = "copy-in", copy_in.core = 0;
    copy_out.name = "copy-out", copy_out.core = 0;
    seat(hal::EngineKind::compute, compute);
    seat(hal::EngineKind::copy_in, copy_in);
    seat(hal::EngineKind::copy_out, copy_out);
  }

  Result<Sample> execute() {
    Sample sample;
    const auto ran = device_->engine(hal::EngineKind::compute).call([&]() noexcept -> Status {
      device_->begin_execution(hal::Concurrency::alone);
      const Instant begin = hal::now();
      const Status done = network_->run();
      sample.passed = hal::now() - begin;
      sample.executed = device_->executed(sample.passed);
      return done;
    });
    if (!ran.outcome) return fail(ran.outcome.error(), "the execution failed");
    return sample;
  }

  std::unique_ptr<hal::Device> device_; // outlives the members below
  std::unique_ptr<executive::DeviceMemory> memory_;
  std::unique_ptr<tasks::Network> network_;
  std::vector<hal::Chunk> chunks_;
  hal::StoreMemory host_;
};

/// Returns the time that the hypervisor took from all cores since the machine started.
Duration stolen() {
  const auto online = hal::Machine().online_cores();
  hal::StolenTime of_cores({online.begin(), online.end()});
  Duration all{0};
  for (const auto& [core, time] : of_cores.read()) all += time;
  return all;
}

void print(const char* beside, Duration pause, const Line& line, const Line& base) {
  std::printf("  %-16s %7.0f ms %6zu %9.3f %9.3f %9.3f %9.2f %7.2f %7.2f %9.3f %9.3f\n", beside, milliseconds(pause),
              line.executed.size(), line.median(), line.p99(), line.longest(), line.median() / base.median(),
              line.p99() / base.median(), line.longest() / base.median(), bench::median(line.passed),
              bench::percentile(line.passed, 1));
  std::fflush(stdout);
}

int run(const Options& options) {
  test::ScratchFolder folder;
  std::string model = options.model;
  if (model.empty()) {
    model = folder / "yolov3-tiny-96.onnx";
    tasks::ModelOptions small;
    small.size = 96;
    if (const auto written = tasks::write_model("yolov3-tiny", small, model); !written)
      return std::fprintf(stderr, "%s\n", written.error().what.c_str()), 2;
  }
  Bench bench;
  if (const auto ready = bench.prepare(options, model); !ready) {
    if (options.board == "host") return std::fprintf(stderr, "%s\n", ready.error().what.c_str()), 1;
    return std::printf("skipped: %s\n", ready.error().what.c_str()), 0;
  }
  std::printf("execution of %s on board %s (%s), fp32, ms; x: times the median of back to back beside nothing\n",
              model.substr(model.rfind('/') + 1).c_str(), options.board.c_str(), bench.device().c_str());
  std::printf("  %-16s %10s %6s %9s %9s %9s %9s %7s %7s %9s %9s\n", "beside", "after", "n", "median", "p99", "longest",
              "x median", "x p99", "x max", "passed:", "longest");
  const auto length = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(options.seconds));
  const Duration stolen_before = stolen();
  std::optional<Line> base;
  struct Beside {
    const char* name;
    bool in, out;
  };
  for (const Beside& beside : {Beside{"nothing", false, false}, Beside{"copies in", true, false},
                               Beside{"copies out", false, true}, Beside{"copies both ways", true, true}})
    for (const Duration pause : {0ms, 1ms, 10ms, 100ms, 1000ms}) {
      const auto line = bench.measure(pause, beside.in, beside.out, length);
      if (!line) return std::fprintf(stderr, "%s\n", line.error().what.c_str()), 1;
      if (!base) base = *line;
      print(beside.name, pause, *line, *base);
    }
  if (bench.on_host())
    std::printf("  meanwhile the hypervisor took %s of all cores\n", readable(stolen() - stolen_before).c_str());
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  CLI::App program("Execution time of one device part by what surrounds it");
  Options options;
  program.add_option("board", options.board)->capture_default_str();
  program.add_option("model", options.model)->type_name("MODEL.onnx");
  program.add_option("--seconds", options.seconds, "for each line")->capture_default_str();
  CLI11_PARSE(program, argc, argv);
  return run(options);
}
