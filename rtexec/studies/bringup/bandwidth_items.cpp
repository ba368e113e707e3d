#include "rtexec/studies/bringup/bandwidth_items.hpp"

#include "hal/core_claim.hpp"
#include "rtexec/studies/bringup/answers.hpp"
#include "rtexec/studies/bringup/measured_items.hpp"
#include "tasks/loads/traffic/caches.hpp"

#include <algorithm>
#include <cmath>

namespace rtexec::bringup {
namespace {

using namespace std::chrono_literals;

constexpr double tolerance = 0.1;

double megabytes(Bandwidth bandwidth) { return static_cast<double>(bandwidth.bytes_per_second) * 1e-6; }
double number(Bandwidth bandwidth) { return static_cast<double>(bandwidth.bytes_per_second); }

std::vector<Figure> figures_of(const study::BandwidthCalibration& measured) {
  std::vector<Figure> figures;
  for (const study::CoreTraffic& each : measured.alone)
    figures.push_back({"core " + std::to_string(each.core) + " alone", megabytes(each.reported), "MB/s", true});
  figures.push_back({"all cores together", megabytes(measured.together.back()), "MB/s", true});
  figures.push_back({"maximum for any number of cores", megabytes(measured.facts().saturation), "MB/s", true});
  return figures;
}

/// Describes how far the bandwidth `reached` is from `said`, the value in the board's file. Returns an empty text if
/// the deviation is within the tolerance, or if the file has no value.
std::string deviation(const char* key, Bandwidth said, Bandwidth reached) {
  if (said == Bandwidth{}) return {};
  const double ratio = number(reached) / number(said);
  if (std::abs(ratio - 1) <= tolerance) return {};
  const auto percent = static_cast<long>(std::lround(100 * std::abs(ratio - 1)));
  return std::string("; ") + key + " = \"" + to_string(said) + "\", and " + std::to_string(percent) + " % " +
         (ratio < 1 ? "less" : "more") + " was reached";
}

constexpr const char* advice =
    "If this is less than expected, lock the memory's clock (lock_clocks = true in [executive], or the board's power "
    "mode), and end other programs. Otherwise write the measured values: rtexec calibrate bandwidth ";

/// Describes the sweeps by the sizes of the swept memory and of the cache. If the swept memory is not much larger than
/// the cache, the cache serves a part of the sweep.
std::string sweep_text() {
  const tasks::CacheFacts caches = tasks::cache_facts();
  return "by sweeps that write one word in each line of " + readable(tasks::sweep_size(caches)) +
         (caches.last_level > Bytes{} ? ", past " + readable(caches.last_level) + " of cache" : "") + ", ";
}

Answer judge(const study::BandwidthCalibration& measured, const Board& board) {
  const MemoryFacts facts = measured.facts();
  std::string state = sweep_text() + "one core reaches " + rate_text(number(facts.core_bandwidth)) + " alone, " +
                      std::to_string(measured.together.size()) + " together " +
                      rate_text(number(measured.together.back()));
  const std::string deviations = deviation("core_bandwidth", board.memory.core_bandwidth, facts.core_bandwidth) +
                                 deviation("saturation", board.memory.saturation, facts.saturation);
  const bool said = board.memory.core_bandwidth != Bandwidth{} || board.memory.saturation != Bandwidth{};
  if (!deviations.empty()) return failed(state + deviations, advice + board.name, figures_of(measured));
  if (said) return passed(state + ", as in the board's file", figures_of(measured));
  return skipped("not compared, since " + file_of(board) + " has no [memory]; `rtexec calibrate bandwidth " +
                     board.name + "` writes it: " + state,
                 figures_of(measured));
}

} // namespace

Answer measure_bandwidth(const Subject& subject, study::CalibratedCores cores) {
  const auto count = static_cast<Duration::rep>(count_measurements(cores));
  cores.length = std::clamp<Duration>(2 * subject.length / count, 20ms, 500ms);
  cores.settling = std::min<Duration>(cores.length, cores.settling);
  cores.going_on = subject.going_on;
  const auto measured = study::calibrate_bandwidth(cores, subject.going_on);
  if (measured) return judge(*measured, subject.board);
  if (measured.error().code == Errc::cancelled) return skipped("cancelled");
  return failed(measured.error(), "End other programs, and try again");
}

Duration bandwidth_takes(std::size_t cores, Bytes sweep, Duration length) {
  constexpr double touched = 1.6e9;                           // bytes per second, limited by page faults
  const std::size_t sweeps = cores + cores * (cores + 1) / 2; // each core alone; then one core, two, ... all
  const double seconds = static_cast<double>(sweep.count * sweeps) / touched;
  return 2 * length + Duration(static_cast<Duration::rep>(seconds * 1e9));
}

Duration bandwidth_takes(const Subject& subject) {
  return bandwidth_takes(hal::Machine().online_cores().size(), tasks::sweep_size(tasks::cache_facts()), subject.length);
}

Answer memory_bandwidth(const Subject& subject) {
  if (subject.emulated) return skipped_in_emulator();
  study::CalibratedCores cores = study::cores_of_this_machine(study::CorunnerKind::lines, tasks::cache_facts().line);
  cores.cores = hal::Machine().online_cores();
  const auto claim = hal::CoreClaim::take(cores.cores);
  if (!claim) return failed(claim.error(), "End the other run, and try again");
  return measure_bandwidth(subject, std::move(cores));
}

} // namespace rtexec::bringup
