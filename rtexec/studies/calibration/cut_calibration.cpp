#include "rtexec/studies/calibration/cut_calibration.hpp"

#include "config/base/median.hpp"
#include "config/base/must.hpp"
#include "config/profile_file.hpp"
#include "config/base/text.hpp"
#include "hal/thread.hpp"
#include "rtexec/runtime/executive/device_memory.hpp"
#include "rtexec/studies/calibration/measured_device.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace rtexec::study {
namespace {

// Limits on the number of segments. With fewer than `fewest` segments, variations between jobs could not be
// distinguished from the cost of cuts.
constexpr std::uint32_t fewest = 8, most = 64;

void cut(tasks::Network& network, std::uint32_t segments) {
  const std::size_t layers = network.layers().size();
  std::vector<std::uint32_t> after;
  for (std::uint32_t i = 1; i < segments; ++i) after.push_back(static_cast<std::uint32_t>(i * layers / segments - 1));
  must(network.cut(after));
}

/// Executes a network that is cut into `segments` segments.
Status execute(tasks::Network& network, std::uint32_t segments) noexcept {
  const bool ahead = network.launches_segments();
  if (ahead)
    if (const auto launched = network.launch_segment(0); !launched) return launched;
  for (std::uint32_t segment = 0; segment < segments; ++segment) {
    if (ahead && segment + 1 < segments)
      if (const auto launched = network.launch_segment(segment + 1); !launched) return launched;
    if (const auto done = network.run_segment(segment); !done) return done;
  }
  return {};
}

std::uint32_t max_segments(const tasks::Network& network) {
  return static_cast<std::uint32_t>(std::min<std::size_t>(most, network.layers().size()));
}

/// Two copies of a network: one copy is not cut, and cut_into() cuts the other copy into segments. Both copies use the
/// same memory, because the contents of the memory have no effect on execution times.
class Bench {
 public:
  Bench(hal::Device& device, const MakeNetwork& make) : device_(device), whole_(must(make())), cut_(must(make())) {
    MemoryDemand demand = whole_->memory();
    for (std::uint32_t segments = fewest; segments <= max_segments(*whole_); segments *= 2) {
      cut(*cut_, segments);
      demand.scratch = std::max(demand.scratch, cut_->scratch());
      demand.carry = std::max(demand.carry, cut_->carry());
    }
    const auto task_memory = executive::resident_memory(demand, whole_->constants(), device.chunk_size());
    memory_ = must(executive::DeviceMemory::lay_out(device, {&task_memory, 1}, {}));
    must(whole_->bind(device, memory_->addresses().front()));
  }

  [[nodiscard]] const tasks::Network& network() const { return *whole_; }

  void cut_into(std::uint32_t segments) {
    cut(*cut_, segments);
    must(cut_->bind(device_, memory_->addresses().front()));
    segments_ = segments;
    (void)run(); // warms up
  }

  struct Times {
    Duration whole{0}, cut{0};
  };
  /// Executes the network in one piece and, immediately afterwards, the network in segments.
  Times run() {
    Times times;
    const auto executed = device_.engine(hal::EngineKind::compute).call([&]() noexcept -> Status {
      const Instant begin = hal::now();
      if (const auto done = execute(*whole_, 1); !done) return done;
      const Instant between = hal::now();
      if (const auto done = segments_ > 1 ? execute(*cut_, segments_) : Status(); !done) return done;
      times = {.whole = between - begin, .cut = hal::now() - between};
      return {};
    });
    if (executed.outcome) return times;
    throw Failed{device_error(device_, executed.outcome.error(), "the execution")};
  }

 private:
  hal::Device& device_;
  std::unique_ptr<executive::DeviceMemory> memory_;
  std::unique_ptr<tasks::Network> whole_, cut_;
  std::uint32_t segments_ = 1; // the number of segments of `cut_`; `cut_` is bound only if there are several
};

MeasuredCuts summary(std::uint32_t segments, const std::vector<Bench::Times>& jobs) {
  std::vector<Duration> whole, cut, each;
  for (const auto& job : jobs) {
    whole.push_back(job.whole);
    cut.push_back(job.cut);
    each.push_back((job.cut - job.whole) / (segments - 1));
  }
  return {.segments = segments,
          .whole = config::median_of(whole),
          .cut = config::median_of(cut),
          .each = config::median_of(each),
          .worst = config::percentile_of(each, 0.99)};
}

/// Returns the numbers of segments to measure: the numbers for which each segment takes at least two dispatch times.
std::vector<std::uint32_t> counts_for(Bench& bench, Duration dispatch) {
  (void)bench.run(); // warms up
  const Duration whole = bench.run().whole;
  std::vector<std::uint32_t> counts;
  for (std::uint32_t count = fewest; count <= max_segments(bench.network()); count *= 2)
    if (whole / count >= 2 * dispatch) counts.push_back(count);
  if (counts.empty())
    give_up(Errc::bad_input, "the network has " + std::to_string(bench.network().layers().size()) +
                                 " layers and takes " + readable(whole) + ", too little for " + std::to_string(fewest) +
                                 " segments of at least two dispatches (" + readable(2 * dispatch) +
                                 "); use a longer network");
  return counts;
}

} // namespace

Result<CutCalibration> calibrate_cut(hal::Device& device, const MakeNetwork& make, Duration dispatch,
                                     const CutCalibrationOptions& options,
                                     const std::function<bool(std::size_t done, std::size_t of)>& going_on) {
  return caught([&] {
    Bench bench(device, make);
    const auto counts = counts_for(bench, dispatch);
    CutCalibration calibration{.device = device.name(), .measured = {}};
    std::size_t done = 0;
    for (const std::uint32_t segments : counts) {
      bench.cut_into(segments);
      std::vector<Bench::Times> jobs;
      while (jobs.size() < options.jobs) {
        jobs.push_back(bench.run());
        if (!going_on(++done, counts.size() * options.jobs))
          give_up(Errc::cancelled, "the measurement was cancelled: nothing was written");
      }
      calibration.measured.push_back(summary(segments, jobs));
    }
    const Duration worst = std::ranges::max(calibration.measured, {}, &MeasuredCuts::worst).worst;
    calibration.cut = with_margin(std::max(worst, Duration{0}), options.margin);
    return calibration;
  });
}

} // namespace rtexec::study
