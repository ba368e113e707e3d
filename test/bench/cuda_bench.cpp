// Latency of networks on the GPU, with input and output already on the device: between two CUDA events around each
// launch, and on the host's clock until spinning detects the completion. test/gpu/compare_latency.py compares it with
// PyTorch. An idle GPU reaches the first event while the host still launches, and waits if the host is interrupted.
// Queued runs, launched while others run, show the time of the GPU alone.
#include "hal/cuda/cuda_device.hpp"
#include "tasks/engine/cuda/cuda_network.hpp"
#include "tasks/engine/onnx/onnx_reader.hpp"
#include "tasks/engine/graph/passes.hpp"
#include "test/bench/statistics.hpp"

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <numeric>
#include <nlohmann/json.hpp>

namespace {

using namespace rtexec;
namespace api = hal::cuda;

struct Options {
  std::vector<std::string> models;
  Precision precision = Precision::tf32;
  std::size_t runs = 10000;
  bool tune = true;
  bool print_tuning = false;
  std::size_t layers = 0; // number of layers to print, the longest first
  std::string json;
};

nlohmann::json figures(const std::vector<double>& milliseconds) {
  nlohmann::json all = bench::percentiles(milliseconds);
  all["p999"] = bench::percentile(milliseconds, 0.999);
  return all;
}

/// Times of layers, each between two events, so without concurrent layers.
class LayerTimes {
 public:
  explicit LayerTimes(std::size_t count) : begins_(count), least_(count, Duration::max()) {}
  void observe(tasks::CudaNetwork& network) { network.observe({begin, end, this}); }
  void print(const tasks::CudaNetwork& network, std::size_t most) const {
    std::vector<std::size_t> order(least_.size());
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::sort(order, std::greater(), [&](std::size_t layer) { return least_[layer]; });
    Duration all{};
    for (const auto each : least_) all += each;
    std::printf("  %zu layers, %.1f us\n", least_.size(), microseconds(all));
    for (std::size_t i = 0; i < std::min(most, order.size()); ++i)
      std::printf("  %8.1f us %s\n", microseconds(least_[order[i]]), network.layers()[order[i]].c_str());
  }

 private:
  static double microseconds(Duration time) { return std::chrono::duration<double, std::micro>(time).count(); }
  static void begin(void* self, std::uint32_t layer, Instant at) noexcept {
    static_cast<LayerTimes*>(self)->begins_[layer] = at;
  }
  static void end(void* self, std::uint32_t layer, Instant at) noexcept {
    auto& times = *static_cast<LayerTimes*>(self);
    times.least_[layer] = std::min(times.least_[layer], at - times.begins_[layer]);
  }
  std::vector<Instant> begins_;
  std::vector<Duration> least_;
};

class Bench {
 public:
  Bench(hal::CudaDevice& device, const Options& options) : device_(device), options_(options) {}

  Result<nlohmann::json> measure(const std::string& model) {
    auto graph = tasks::read_onnx(model);
    if (!graph) return Unexpected(graph.error());
    tasks::optimise(*graph);
    tasks::CudaNetwork::Options in_place;
    in_place.transfers = false;
    auto network = tasks::CudaNetwork::build(*graph, options_.precision, in_place);
    if (!network) return Unexpected(network.error());
    LayerTimes layers((*network)->layers().size());
    if (options_.layers > 0) layers.observe(**network);
    if (auto ready = prepare(**network); !ready) return Unexpected(ready.error());
    if (options_.layers == 0) return time(**network);
    constexpr int runs = 20;
    for (int i = 0; i < runs; ++i)
      if (const auto done = (*network)->run(); !done) return fail(done.error(), "execution failed");
    layers.print(**network, options_.layers);
    return time(**network);
  }

 private:
  static constexpr std::size_t warm_ups = 100;

  Result<> prepare(tasks::CudaNetwork& network) {
    if (options_.tune) {
      const auto lines = network.tune(device_, [](std::size_t, std::size_t) { return true; });
      if (!lines) return Unexpected(lines.error());
      if (options_.print_tuning)
        for (const auto& line : *lines) std::printf("    %s\n", line.c_str());
    }
    const auto constants = network.constants();
    auto memory = device_.allocate(BufferKind::device, Bytes{constants.size()});
    if (!memory) return Unexpected(memory.error());
    auto scratch = device_.allocate(BufferKind::device, network.scratch());
    if (!scratch) return Unexpected(scratch.error());
    if (const auto copied = device_.copy(memory->device, constants.data(), Bytes{constants.size()}); !copied)
      return fail(copied.error(), "copying constants failed");
    return network.bind(device_, {.constant = memory->device, .scratch = scratch->device, .state = nullptr});
  }

  struct Times {
    double events, wall; // ms
  };

  Result<nlohmann::json> time(const tasks::CudaNetwork& network) {
    api::Event begin = nullptr, end = nullptr;
    for (auto* event : {&begin, &end})
      if (auto made = device_.checked(device_.driver().event_create(event, api::event_default), "making an event");
          !made)
        return Unexpected(made.error());
    std::vector<double> events, wall, queued;
    for (std::size_t i = 0; i < warm_ups + options_.runs; ++i) {
      const auto alone = time_run(network, begin, end, 0), behind_others = time_run(network, begin, end, 3);
      for (const auto* times : {&alone, &behind_others})
        if (!*times) return Unexpected(times->error());
      if (i < warm_ups) continue;
      events.push_back(alone->events);
      wall.push_back(alone->wall);
      queued.push_back(behind_others->events);
    }
    for (const auto event : {begin, end}) (void)device_.driver().event_destroy(event);
    return nlohmann::json{{"events", figures(events)}, {"wall", figures(wall)}, {"queued", figures(queued)}};
  }

  /// Times one run that is launched behind `others` other runs.
  Result<Times> time_run(const tasks::CudaNetwork& network, api::Event begin, api::Event end, int others) {
    const auto& driver = device_.driver();
    const auto stream = device_.stream(hal::EngineKind::compute);
    const auto launch = [&] {
      const auto graph = static_cast<api::GraphExec>(network.graph().handle());
      return device_.checked(driver.graph_launch(graph, stream), "launching");
    };
    for (int i = 0; i < others; ++i)
      if (auto launched = launch(); !launched) return Unexpected(launched.error());
    const auto start = std::chrono::steady_clock::now();
    (void)driver.event_record(begin, stream);
    if (auto launched = launch(); !launched) return Unexpected(launched.error());
    (void)driver.event_record(end, stream);
    if (const auto done = device_.wait(hal::EngineKind::compute); !done) return fail(done.error(), "execution failed");
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    float milliseconds = 0;
    if (auto known = device_.checked(driver.event_elapsed(&milliseconds, begin, end), "reading an event"); !known)
      return Unexpected(known.error());
    return Times{static_cast<double>(milliseconds), took.count()};
  }

  hal::CudaDevice& device_;
  const Options& options_;
};

int run(const Options& options) {
  auto device = hal::CudaDevice::open({.completion = Completion::spin});
  if (!device) return std::printf("skipped: %s\n", device.error().what.c_str()), 0;
  nlohmann::json all;
  std::printf("%-28s %10s %10s %10s %10s %10s %10s %10s\n", "network, ms", "queued p50", "p99.9", "p99.9/p50",
              "events p50", "p99.9", "wall p50", "p99.9");
  for (const auto& model : options.models) {
    const auto measured = Bench(**device, options).measure(model);
    if (!measured) return std::fprintf(stderr, "%s: %s\n", model.c_str(), measured.error().what.c_str()), 1;
    const auto figure = [&](const char* of, const char* name) { return (*measured)[of][name].get<double>(); };
    const double p50 = figure("queued", "p50"), p999 = figure("queued", "p999");
    const auto name = model.substr(model.rfind('/') + 1);
    std::printf("%-28s %10.3f %10.3f %10.3f %10.3f %10.3f %10.3f %10.3f\n", name.c_str(), p50, p999, p999 / p50,
                figure("events", "p50"), figure("events", "p999"), figure("wall", "p50"), figure("wall", "p999"));
    std::fflush(stdout);
    all[name] = *measured;
  }
  if (!options.json.empty()) std::ofstream(options.json) << all.dump(2) << '\n';
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  CLI::App program("Latency of networks on the GPU");
  Options options;
  const std::map<std::string, Precision> precisions{
      {"fp32", Precision::fp32}, {"tf32", Precision::tf32}, {"fp16", Precision::fp16}};
  program.add_option("models", options.models)->type_name("MODEL.onnx");
  program.add_option("--precision", options.precision)->transform(CLI::CheckedTransformer(precisions));
  program.add_option("--runs", options.runs)->capture_default_str();
  program.add_flag("!--no-tune", options.tune, "default kernels");
  program.add_flag("--print-tuning", options.print_tuning);
  program.add_option("--layers", options.layers, "print so many layers, the longest first")->type_name("N");
  program.add_option("--json", options.json)->type_name("FILE");
  CLI11_PARSE(program, argc, argv);
  return run(options);
}
