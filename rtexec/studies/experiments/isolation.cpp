// The constants of the isolation experiment's model, with their sources, and the platform that simulates the model.
// "The thesis" is Nigam's thesis on GPU-aware memory isolation. Figures, tables, algorithms, and sections such as "7.2"
// that this file cites are in the thesis. A *speed-up* is the gain in speed by a limit on the bandwidth of cores,
// compared with no limit.
#include "rtexec/studies/experiments/isolation.hpp"

#include "config/base/must.hpp"
#include "config/base/text.hpp"

#include <algorithm>
#include <numeric>

namespace rtexec::study {
namespace {

using namespace std::chrono_literals;
using simulator::ContentionResult;
using simulator::ContentionRun;
using simulator::Frame;

constexpr Bandwidth MB_per_s(double value) { return {static_cast<std::uint64_t>(value * 1e6)}; }
constexpr Bytes MB(double value) { return {static_cast<std::uint64_t>(value * 1e6)}; }
constexpr Bytes moved_in(double gigabytes_per_second, Duration time) {
  return {static_cast<std::uint64_t>(gigabytes_per_second * static_cast<double>(time.count()))};
}

// ---- constants; the cited tables, figures and sections are in Nigam's thesis ----

/// Bandwidths of the TX2 (thesis). Table 2 has 11263 and 11332 MB/s for the Denver cores 1 and 2, and 4001 to 4012 MB/s
/// for A57 cores. Core 0 is also an A57 core. Fig. 17 has 13.62 GB/s for both Denver cores, which is used here as the
/// limit of their cluster. Fig. 17 has 14.4 GB/s for three and more programs, which is used here as the limit of the
/// memory.
simulator::SharedMemory tx2_memory() {
  const Bandwidth denver = MB_per_s(11'300), a57 = MB_per_s(4'000);
  return {.cores = {a57, denver, denver, a57, a57, a57},
          .clusters = {{.cores = {1, 2}, .most = MB_per_s(13'620)}},
          .saturation = MB_per_s(14'400)};
}

/// A frame consists of a CPU part, which launches a hundred executions of the kernel, and these executions. Each
/// execution is about as long as in Fig. 30 of the thesis.
///
/// The 600 bytes of CPU traffic per execution are chosen freely. The thesis also limits the core that moves these
/// bytes. Therefore the speed-up is lower at a limit of 10 MB/s than at 100 MB/s. At 10 MB/s with five co-runners,
/// Nigam's thesis reports speed-ups of 7, 5, 9 and 3 % for the four sizes of pictures (7.2). The sensitivity of 256p
/// follows from the speed-up of 13.5 % at 100 MB/s with five co-runners (7.2). The sensitivities of the other sizes
/// follow from their speed-ups at 10 MB/s.
///
/// Without load, IPC (instructions per cycle) is 1.62 to 1.67, lower for larger pictures (5.4, Fig. 21). The traffic
/// without load is 5 to 6.9 GB/s (5.4). Values between these are assumptions. The traffic of 512p is estimated from its
/// 4.8 GB/s with one co-runner in the thesis.
ModelledWorkload winograd(const char* size, double sensitivity, double ipc, double gigabytes_per_second) {
  constexpr Duration device = 100 * 1290us;
  return {.facts = {.name = std::string("winograd-") + size,
                    .title = std::string("Winograd kernel, ") + size,
                    .unit = "IPC"},
          .frame = {.cpu = 600us,
                    .traffic = {60'000},
                    .memory_bound = 0.5,
                    .device = device,
                    .device_traffic = moved_in(gigabytes_per_second, device),
                    .sensitivity = sensitivity},
          .alone = ipc};
}

/// The pipeline of YOLO. The length of a frame follows from the average speed of 0.9 MPS (megapixels per second) at a
/// limit of 512 MB/s, the best limit (thesis, 7.2 and Fig. 29). The CPU part moves 27.5 MB in 66 ms, that is 417 MB/s.
/// This traffic follows from the best limit, and from the speed at a limit of 10 MB/s, which is a tenth of the speed
/// without a limit (7.2).
///
/// The sensitivity follows from speed-ups of 41 to 45 % at 512 MB/s with five co-runners (8.1, 7.2). From YOLO's
/// Winograd kernel alone, which co-runners make 45 % slower (5.3.1), a sensitivity of 0.82 would follow. No choice of
/// values also reproduces a pipeline that is 55 % slower (8.1). For the pipelines of YOLO and DetectNet, `memory_bound`
/// is chosen freely, and the device's traffic is the traffic of the Winograd kernel.
constexpr Frame yolo{.cpu = 66ms,
                     .traffic = MB(27.5),
                     .memory_bound = 0.5,
                     .device = 110ms,
                     .device_traffic = moved_in(6, 110ms),
                     .sensitivity = 0.63};

/// The pipeline of DetectNet. The speed is three times the MPS (megapixels per second) of YOLO (thesis, 7.2). The CPU
/// part moves 3.4 MB in 34 ms, that is 100 MB/s. This traffic follows from the best limit, and from the speed at a
/// limit of 10 MB/s, which is three tenths of the speed without a limit (7.2). The sensitivity follows from the
/// speed-up of 86 % at 100 MB/s with five co-runners (7.2, 8.1). With this sensitivity, five co-runners make the
/// pipeline 47 % slower (the thesis has 45 % in 8.1). They make the device part 61 % slower (the thesis has almost 60 %
/// for DetectNet's Winograd kernel in 5.3.1).
constexpr Frame detectnet{.cpu = 34ms,
                          .traffic = MB(3.4),
                          .memory_bound = 0.5,
                          .device = 25ms,
                          .device_traffic = moved_in(6, 25ms),
                          .sensitivity = 1.55};

constexpr double picture_megapixels = 0.340 * 0.480; // pixels of a picture in both videos, in millions (thesis, 4.1.1)

ModelledWorkload pipeline(const char* name, const char* title, const Frame& frame) {
  const double seconds = static_cast<double>((frame.cpu + frame.device).count()) * 1e-9;
  return {
      .facts = {.name = name, .title = title, .unit = "MPS"}, .frame = frame, .alone = picture_megapixels / seconds};
}

/// The noise of the TX2: jitter of the kernel itself, and bursts of memory traffic on cores 1 to 5. The thesis has
/// longest execution times of 1410 us with a limit and 1775 us without a limit (Fig. 30). Without a limit, the range
/// from the shortest to the longest time is 4 times as wide as with a limit. The shortest time t is assumed to be equal
/// with and without a limit. So 1775 us - t = 4 (1410 us - t), and t = 1288 us. Then the jitter makes executions take
/// 1288 to 1410 us if a limit stops the bursts.
///
/// The bursts are chosen freely. With these bursts, the worst case without a limit is about 1775 us, the variance is 7
/// times as high as with a limit (7.3), and the mean hardly changes.
simulator::Noise tx2_noise() {
  return {.cores = {1, 2, 3, 4, 5},
          .gap = 13ms,
          .shortest = 200us,
          .longest = 2ms,
          .severity = 2.5,
          .jitter = 128us,
          .seed = 1};
}

IsolationModel make_tx2_model() {
  return {
      .memory = tx2_memory(),
      .workloads = {winograd("256p", 0.139, 1.67, 5.0), winograd("512p", 0.095, 1.66, 5.1),
                    winograd("1024p", 0.135, 1.64, 6.0), winograd("2048p", 0.073, 1.62, 6.9),
                    pipeline("yolo", "YOLO", yolo), pipeline("detectnet", "DetectNet", detectnet)},
      // The thesis: Algorithm 3 limits cores while gpu_busy is held, that is, while the program has the GPU open. The
      // algorithm does not subtract bytes beyond a budget from the budget of the next period, and its interrupt handler
      // stops the core at once.
      // rtexec: a thread of high priority runs 17 us after an overflow, as measured on a virtual machine.
      .modes = {{.name = "thesis",
                 .description = "every core is limited, core 0 as well, which feeds the device (Algorithm 3)",
                 .feeder = true,
                 .reaction = 0us,
                 .overshoot = Overshoot::forgive},
                {.name = "rtexec",
                 .description = "cores 1 to 5 are limited; core 0, which feeds the device, keeps a budget of its own",
                 .feeder = false,
                 .reaction = 17us,
                 .overshoot = Overshoot::carry}},
      .period = 1ms, // the scheduler's tick (thesis, 3.3)
      .line = {64},  // size of a cache line (thesis, 6.2.1.3)
      .kernel = {.device = 1288us, .device_traffic = moved_in(5, 1288us), .sensitivity = 0.139},
      .noise = tx2_noise(),
      .length = 10s,
      .frames = 8};
}

/// The experiment's platform for the model. The platform simulates frames and the bytes that cores move.
class ModelledPlatform final : public IsolationPlatform {
 public:
  ModelledPlatform(const IsolationModel& model, const ModelledMode& mode, std::uint64_t seed)
      : model_(model), mode_(mode), seed_(seed) {}

  std::string name() const override { return std::string(mode_.name); }
  std::string description() const override { return std::string(mode_.description); }
  unsigned max_corunners() const override { return static_cast<unsigned>(model_.memory.cores.size()) - 1; }

  std::vector<IsolationWorkload> workloads() const override {
    std::vector<IsolationWorkload> facts;
    for (const ModelledWorkload& each : model_.workloads) facts.push_back(each.facts);
    return facts;
  }

  Result<IsolationMeasure> measure(const IsolationCase& wanted) override {
    const auto workload = std::ranges::find(model_.workloads, wanted.workload, [](const ModelledWorkload& each) {
      return std::string_view(each.facts.name);
    });
    const ContentionResult result =
        simulator::simulate_contention(run_of(workload->frame, wanted.corunners, wanted.limit));
    const double alone = static_cast<double>((workload->frame.cpu + workload->frame.device).count());
    const Spread frames = spread_of(result.frames);
    return IsolationMeasure{.performance = workload->alone * alone * static_cast<double>(result.frames.size()) /
                                           static_cast<double>(result.length.count()),
                            .corunners = corunners_of(result),
                            .device = rate(static_cast<double>(workload->frame.device_traffic.count) *
                                               static_cast<double>(result.frames.size()),
                                           result.device),
                            .mean = Duration(static_cast<Duration::rep>(frames.mean_ns)),
                            .worst = frames.worst};
  }

  Result<Bandwidth> sweep(unsigned corunners) override {
    return corunners_of(simulator::simulate_contention(run_of({.cpu = 1s}, corunners, {})));
  }

  Result<std::vector<Duration>> executions(std::size_t count, BandwidthLimit limit) override {
    ContentionRun run = run_of(model_.kernel, 0, limit);
    run.noise = model_.noise;
    run.noise->seed = seed_;
    run.frames = count;
    run.length = {};
    return simulator::simulate_contention(run).frames;
  }

 private:
  ContentionRun run_of(const Frame& frame, unsigned corunners, BandwidthLimit limit) const {
    ContentionRun run{.memory = model_.memory,
                      .frame = frame,
                      .corunners = std::vector<unsigned>(corunners),
                      .frames = model_.frames,
                      .length = model_.length};
    std::iota(run.corunners.begin(), run.corunners.end(), 1U);
    if (limit)
      run.limit = {.limit = *limit,
                   .feeder = mode_.feeder,
                   .period = model_.period,
                   .line = model_.line,
                   .reaction = mode_.reaction,
                   .overshoot = mode_.overshoot};
    return run;
  }

  static Bandwidth corunners_of(const ContentionResult& result) {
    double moved = 0;
    for (std::size_t i = 1; i < result.moved.size(); ++i) moved += static_cast<double>(result.moved[i].count);
    return rate(moved, result.length);
  }

  static Bandwidth rate(double bytes, Duration time) {
    return {static_cast<std::uint64_t>(bytes / static_cast<double>(time.count()) * 1e9)};
  }

  const IsolationModel& model_;
  const ModelledMode& mode_;
  std::uint64_t seed_;
};

// ---- the experiment ----

void check(const std::function<bool()>& going_on) {
  if (!going_on()) give_up(Errc::cancelled, "the experiment was cancelled: nothing was written");
}

IsolationWorkload workload_named(const IsolationPlatform& platform, const std::string& name) {
  std::vector<std::string> names;
  for (IsolationWorkload& each : platform.workloads()) {
    if (each.name == name) return std::move(each);
    names.push_back(each.name);
  }
  const std::vector<std::string_view> known(names.begin(), names.end());
  const auto near = config::nearest(name, known);
  give_up(Errc::bad_input,
          "workload " + config::shortened(name) + ": no workload has this name; " +
              (near ? "did you mean '" + std::string(*near) + "'?" : "use " + config::alternatives(known)));
}

void summarise(IsolationRow& row, const IsolationRow& unlimited) {
  const auto count = static_cast<double>(row.measures.size());
  double squares = 0;
  for (const IsolationMeasure& each : row.measures) row.mean += each.performance / count;
  for (const IsolationMeasure& each : row.measures)
    squares += (each.performance - row.mean) * (each.performance - row.mean);
  row.variance = squares / count;
  for (std::size_t i = 0; i < row.measures.size(); ++i)
    row.speedup.push_back(100 * (row.measures[i].performance / unlimited.measures[i].performance - 1));
}

IsolationResult measure_workload(IsolationPlatform& platform, const IsolationStudy& study,
                                 const IsolationWorkload& workload, const std::function<bool()>& going_on) {
  IsolationResult result{.workload = workload};
  for (const Bandwidth limit : study.limits) result.rows.push_back({.limit = limit});
  result.rows.push_back({.limit = {}});
  for (IsolationRow& row : result.rows)
    for (unsigned corunners = 0; corunners <= study.corunners; ++corunners) {
      row.measures.push_back(
          must(platform.measure({.workload = workload.name, .corunners = corunners, .limit = row.limit})));
      check(going_on);
    }
  for (IsolationRow& row : result.rows) summarise(row, result.rows.back());
  result.best =
      static_cast<std::size_t>(std::ranges::max_element(result.rows, {}, &IsolationRow::mean) - result.rows.begin());
  return result;
}

IsolationRuns measure_runs(IsolationPlatform& platform, const IsolationStudy& study,
                           const std::function<bool()>& going_on) {
  IsolationRuns runs;
  runs.limit = study.runs_limit;
  for (const bool limited : {false, true}) {
    auto lengths = must(platform.executions(study.runs, limited ? BandwidthLimit(study.runs_limit) : BandwidthLimit()));
    (limited ? runs.spread_with : runs.spread_without) = spread_of(lengths);
    (limited ? runs.with : runs.without) = std::move(lengths);
    check(going_on);
  }
  return runs;
}

Isolation isolation_on(IsolationPlatform& platform, const IsolationStudy& study,
                       const std::function<bool()>& going_on) {
  if (study.corunners > platform.max_corunners())
    give_up(Errc::bad_input, std::to_string(study.corunners) + " co-runners need as many cores, but there are only " +
                                 std::to_string(platform.max_corunners()));
  std::vector<IsolationWorkload> workloads;
  for (const std::string& name : study.workloads) workloads.push_back(workload_named(platform, name));
  Isolation isolation{.name = platform.name(), .description = platform.description()};
  for (unsigned corunners = 1; corunners <= study.corunners; ++corunners) {
    isolation.sweeps.push_back(must(platform.sweep(corunners)));
    check(going_on);
  }
  for (const IsolationWorkload& workload : workloads)
    isolation.results.push_back(measure_workload(platform, study, workload, going_on));
  if (study.runs > 0) isolation.runs = measure_runs(platform, study, going_on);
  return isolation;
}

} // namespace

const IsolationModel& tx2_model() {
  static const IsolationModel model = make_tx2_model();
  return model;
}

std::unique_ptr<IsolationPlatform> modelled_platform(const IsolationModel& model, const ModelledMode& mode,
                                                     std::uint64_t seed) {
  return std::make_unique<ModelledPlatform>(model, mode, seed);
}

std::size_t count_measurements(const IsolationStudy& study) {
  return study.corunners + study.workloads.size() * (study.limits.size() + 1) * (study.corunners + 1) +
         (study.runs > 0 ? 2 : 0);
}

Result<Isolation> run_isolation(IsolationPlatform& platform, const IsolationStudy& study,
                                const std::function<bool()>& going_on) {
  return caught([&] { return isolation_on(platform, study, going_on); });
}

Spread spread_of(std::span<const Duration> lengths) {
  if (lengths.empty()) return {};
  const auto [least, worst] = std::ranges::minmax(lengths);
  const auto count = static_cast<double>(lengths.size());
  Spread spread{.least = least, .worst = worst};
  for (const Duration each : lengths) spread.mean_ns += static_cast<double>(each.count()) / count;
  for (const Duration each : lengths) {
    const double apart = static_cast<double>(each.count()) - spread.mean_ns;
    spread.variance_ns2 += apart * apart / count;
  }
  return spread;
}

std::string name_of(BandwidthLimit limit) { return limit ? to_string(*limit) : "none"; }

} // namespace rtexec::study
