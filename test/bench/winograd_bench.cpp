// The Winograd micro-benchmark alone: one convolution (tasks/loads/winograd) at the resolutions of Nigam's thesis, with
// throughput, mean, variance and longest time over many runs. Each run contains only the convolution, without the
// copies of its picture and result.
#include "hal/cuda/cuda_device.hpp"
#include "hal/host/host_device.hpp"
#include "tasks/loads/winograd/winograd_workload.hpp"
#include "test/bench/statistics.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

namespace {

using namespace rtexec;

struct Options {
  std::vector<unsigned> sizes{256, 512, 1024, 2048};
  std::size_t runs = 1000;
  bool cuda = false;
  bool tune = true;
  std::string json, csv;
};

struct Figures {
  unsigned resolution = 0;
  std::size_t runs = 0;
  double gflops = 0;             // for the mean time, with the operations of a direct convolution
  double mean = 0, variance = 0; // ms, ms^2
  double p99 = 0, longest = 0;   // ms
  std::string algorithm;
};

Result<std::unique_ptr<hal::Device>> open(const Options& options) {
  constexpr Bytes chunk{2 << 20};
  if (options.cuda) {
    auto gpu = hal::CudaDevice::open({});
    if (!gpu) return Unexpected(gpu.error());
    return std::move(*gpu);
  }
  auto host = hal::HostDevice::open(chunk, chunk); // the buffers count against no capacity
  if (!host) return Unexpected(host.error());
  return std::move(*host);
}

/// Device memory that the destructor releases.
class Placed {
 public:
  explicit Placed(hal::Device& device) : device_(device) {}
  ~Placed() {
    for (const auto& buffer : buffers_) (void)device_.free(buffer);
  }
  Placed(const Placed&) = delete;
  Placed& operator=(const Placed&) = delete;

  Result<> place(Workload& workload) {
    const auto constants = allocate({workload.constants().size()});
    if (!constants) return Unexpected(constants.error());
    const auto scratch = allocate(workload.memory().scratch);
    if (!scratch) return Unexpected(scratch.error());
    if (const auto copied = device_.copy(*constants, workload.constants().data(), {workload.constants().size()});
        !copied)
      return fail(copied.error(), "copying the filters failed");
    return workload.bind(device_, {.constant = *constants, .scratch = *scratch, .state = nullptr});
  }

 private:
  Result<std::byte*> allocate(Bytes size) {
    auto buffer = device_.allocate(BufferKind::device, size);
    if (!buffer) return Unexpected(buffer.error());
    buffers_.push_back(*buffer);
    return buffer->device;
  }

  hal::Device& device_;
  std::vector<Buffer> buffers_;
};

/// Measures the layer, in ms.
struct Stopwatch {
  Instant begin;
  double last = 0;
  [[nodiscard]] LayerObserver observer() {
    return {[](void* self, std::uint32_t, Instant at) noexcept { static_cast<Stopwatch*>(self)->begin = at; },
            [](void* self, std::uint32_t, Instant at) noexcept {
              auto& watch = *static_cast<Stopwatch*>(self);
              watch.last = std::chrono::duration<double, std::milli>(at - watch.begin).count();
            },
            this};
  }
};

double variance(const std::vector<double>& values, double mean) {
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return sum / static_cast<double>(values.size());
}

Figures figures_of(const std::vector<double>& times, double flops) {
  Figures figures;
  figures.runs = times.size();
  figures.mean = bench::mean(times);
  figures.variance = variance(times, figures.mean);
  figures.p99 = bench::percentile(times, 0.99);
  figures.longest = std::ranges::max(times);
  figures.gflops = 1e-6 * flops / figures.mean;
  return figures;
}

/// Returns text such as "cudnn 6 workspace 0", as in the tuning's one line.
std::string algorithm_of(const Options& options, const std::vector<std::string>& tuning) {
  if (!options.cuda) return "F(2x2,3x3)";
  if (tuning.empty() || tuning.front().starts_with("#")) return "own convolution";
  return tuning.front().substr(tuning.front().rfind(" = ") + 3);
}

Result<Figures> measure(hal::Device& device, unsigned resolution, const Options& options) {
  Placed placed(device); // outlives the objects bound to it
  auto workload = tasks::WinogradWorkload::make(resolution, options.cuda ? DeviceKind::cuda : DeviceKind::host);
  if (!workload) return Unexpected(workload.error());
  auto tuning = options.tune ? (*workload)->tune(device, {}) : std::vector<std::string>{};
  if (!tuning) return Unexpected(tuning.error());
  for (const auto& line : *tuning)
    if (line.starts_with("#")) std::printf("  %s\n", line.c_str());
  Stopwatch watch;
  (*workload)->observe(watch.observer());
  std::vector<double> times;
  if (auto ready = placed.place(**workload); !ready) return Unexpected(ready.error());
  constexpr std::size_t warm_ups = 3;
  for (std::size_t run = 0; run < warm_ups + options.runs; ++run) {
    if (const auto done = (*workload)->execute(); !done) return fail(done.error(), "a convolution failed");
    if (run >= warm_ups) times.push_back(watch.last);
  }
  Figures figures = figures_of(times, (*workload)->flops());
  figures.resolution = resolution;
  figures.algorithm = algorithm_of(options, *tuning);
  return figures;
}

nlohmann::json json_of(const Figures& f) {
  return {{"resolution", f.resolution}, {"algorithm", f.algorithm},   {"runs", f.runs},  {"gflops", f.gflops},
          {"mean_ms", f.mean},          {"variance_ms2", f.variance}, {"p99_ms", f.p99}, {"max_ms", f.longest}};
}

bool write_csv(const std::string& file, const std::vector<Figures>& all) {
  std::ofstream out(file);
  out << "resolution,algorithm,runs,gflops,mean_ms,variance_ms2,p99_ms,max_ms\n";
  for (const auto& f : all)
    out << f.resolution << ",\"" << f.algorithm << "\"," << f.runs << ',' << f.gflops << ',' << f.mean << ','
        << f.variance << ',' << f.p99 << ',' << f.longest << '\n';
  return static_cast<bool>(out);
}

bool write_json(const std::string& file, const std::string& device, const std::vector<Figures>& all) {
  nlohmann::json rows = nlohmann::json::array();
  for (const auto& f : all) rows.push_back(json_of(f));
  return static_cast<bool>(
      std::ofstream(file)
      << nlohmann::json{{"device", device}, {"channels", tasks::WinogradWorkload::channels}, {"rows", rows}}.dump(2)
      << '\n');
}

int run(const Options& options) {
  const auto device = open(options);
  if (!device) return std::fprintf(stderr, "%s\n", device.error().what.c_str()), 5;
  std::printf("3x3 convolution of %lld channels on %s, %zu runs each\n",
              static_cast<long long>(tasks::WinogradWorkload::channels), (*device)->name().c_str(), options.runs);
  std::vector<Figures> all;
  for (const auto size : options.sizes) {
    const auto figures = measure(**device, size, options);
    if (!figures)
      return std::fprintf(stderr, "resolution %u: %s\n", size, figures.error().what.c_str()),
             exit_code(figures.error().code);
    const auto& f = all.emplace_back(*figures);
    std::printf("  %4u: %.1f GFLOP/s, mean %.3f ms, variance %.3g ms^2, p99 %.3f ms, longest %.3f ms (%s)\n", size,
                f.gflops, f.mean, f.variance, f.p99, f.longest, f.algorithm.c_str());
    std::fflush(stdout);
  }
  if (!options.json.empty() && !write_json(options.json, (*device)->name(), all))
    return std::fprintf(stderr, "%s cannot be written\n", options.json.c_str()), 5;
  if (!options.csv.empty() && !write_csv(options.csv, all))
    return std::fprintf(stderr, "%s cannot be written\n", options.csv.c_str()), 5;
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  Options options;
  std::string device = "host";
  CLI::App program("The Winograd micro-benchmark: one 3x3 convolution of a square picture, many times.");
  program.add_option("--sizes", options.sizes, "sides of the picture")->delimiter(',')->type_name("N,...");
  program.add_option("--runs", options.runs, "at each size")->check(CLI::PositiveNumber)->capture_default_str();
  program.add_option("--device", device, "host or cuda")->check(CLI::IsMember({"host", "cuda"}))->capture_default_str();
  program.add_flag("!--no-tune", options.tune, "on a GPU: the engine's own convolution, not cuDNN's Winograd");
  program.add_option("--json", options.json)->type_name("FILE");
  program.add_option("--csv", options.csv)->type_name("FILE");
  CLI11_PARSE(program, argc, argv);
  options.cuda = device == "cuda";
  return run(options);
}
