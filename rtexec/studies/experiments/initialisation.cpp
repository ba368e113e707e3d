#include "rtexec/studies/experiments/initialisation.hpp"

#include "config/base/median.hpp"
#include "config/base/must.hpp"
#include "config/base/text.hpp"
#include "traces/common_time.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

namespace rtexec::study {
namespace {

using tasks::initialise::TileTimes;

constexpr unsigned max_tiles = 32;
constexpr Bytes min_small{4096};

std::vector<unsigned> counts_of(const InitialisationStudy& study) {
  if (study.tiles) return {*study.tiles};
  std::vector<unsigned> counts;
  for (unsigned count = 1; count <= max_tiles; count *= 2) counts.push_back(count);
  return counts;
}

/// Returns the sizes among which the experiment searches for the crossover: the size from which the GPU is faster than
/// the host.
std::vector<Bytes> small_sizes(const InitialisationStudy& study) {
  std::vector<Bytes> sizes;
  for (Bytes size = min_small; size < study.sizes.back(); size = size * 2) sizes.push_back(size);
  sizes.push_back(study.sizes.back());
  return sizes;
}

/// Measures on a platform and returns medians. Throws Failed.
class Measuring {
 public:
  Measuring(InitialisationPlatform& platform, const InitialisationStudy& study, const std::function<bool()>& going_on)
      : platform_(platform), study_(study), going_on_(going_on) {}

  InitialisationMeasure median(const InitialisationCase& wanted) {
    std::vector<Duration> initialisations, kernels;
    for (unsigned i = 0; i < study_.repetitions; ++i) {
      go_on();
      const auto measured = must(platform_.measure(wanted));
      initialisations.push_back(measured.initialisation);
      kernels.push_back(measured.kernel);
    }
    return {config::median_of(std::move(initialisations)), config::median_of(std::move(kernels))};
  }

  InitialisationResult of(const std::string& workload) {
    InitialisationResult result{.workload = workload};
    for (const Bytes size : study_.sizes) {
      const Bytes own = platform_.size_of(workload, size);
      if (result.sizes.empty() || result.sizes.back().size != own) result.sizes.push_back(of_size(workload, own));
    }
    if (!platform_.has_gpu()) return result;
    for (const Bytes size : small_sizes(study_)) {
      const Bytes own = platform_.size_of(workload, size);
      if (result.small.empty() || result.small.back().size != own) result.small.push_back(compare(workload, own));
    }
    result.crossover = tasks::crossover(result.small);
    return result;
  }

  std::optional<InitialisationTimeline> timeline(const std::string& workload, Bytes size) {
    go_on();
    auto tiles = must(platform_.timeline(
        {.workload = workload, .size = size, .method = InitialisationMethod::tiles, .tiles = study_.timeline_tiles}));
    if (tiles.empty()) return std::nullopt;
    return InitialisationTimeline{workload, size, std::move(tiles)};
  }

 private:
  void go_on() const {
    if (!going_on_()) give_up(Errc::cancelled, "the experiment was cancelled: nothing was written");
  }

  InitialisationSize of_size(const std::string& workload, Bytes size) {
    InitialisationSize measured{.size = size};
    for (const PageStart start : platform_.starts()) {
      InitialisationCase wanted{
          .workload = workload, .size = size, .start = start, .kernel = start == PageStart::on_host};
      const auto by_host = median(wanted);
      InitialisationRow row{.start = start, .host = by_host.initialisation};
      const Duration behind_tiles = in_tiles(wanted, row);
      if (wanted.kernel)
        std::tie(measured.kernel_unified, measured.kernel_enhanced) = std::tie(by_host.kernel, behind_tiles);
      wanted.kernel = false;
      wanted.method = InitialisationMethod::faults;
      row.faults = median(wanted).initialisation;
      measured.rows.push_back(std::move(row));
    }
    return measured;
  }

  /// Measures the initialisation with each number of tiles. Returns the kernel's time after the fastest initialisation.
  Duration in_tiles(InitialisationCase wanted, InitialisationRow& row) {
    wanted.method = InitialisationMethod::tiles;
    Duration kernel{0};
    for (const unsigned count : counts_of(study_)) {
      wanted.tiles = count;
      const auto measured = median(wanted);
      row.tiles.push_back({count, measured.initialisation});
      if (row.tiles.size() > 1 && measured.initialisation >= row.enhanced()) continue;
      row.best = row.tiles.size() - 1;
      kernel = measured.kernel;
    }
    return kernel;
  }

  tasks::InitialisationTimes compare(const std::string& workload, Bytes size) {
    InitialisationCase wanted{.workload = workload, .size = size};
    const Duration host = median(wanted).initialisation;
    wanted.method = InitialisationMethod::tiles;
    return {size, host, median(wanted).initialisation};
  }

  InitialisationPlatform& platform_;
  const InitialisationStudy& study_;
  const std::function<bool()>& going_on_;
};

struct Span {
  Duration begin, end;
};

} // namespace

std::string_view name_of(PageStart start) { return start == PageStart::untouched ? "untouched" : "on-host"; }

std::size_t count_measurements(const InitialisationPlatform& platform, const InitialisationStudy& study) {
  const std::size_t of_row = 2 + counts_of(study).size();
  const std::size_t of_workload =
      study.sizes.size() * platform.starts().size() * of_row + (platform.has_gpu() ? 2 * small_sizes(study).size() : 0);
  return study.workloads.size() * of_workload * study.repetitions + 1;
}

Result<InitialisationFound> run_initialisation(InitialisationPlatform& platform, const InitialisationStudy& study,
                                               const std::function<bool()>& going_on) {
  const auto known = platform.workloads();
  for (const std::string& each : study.workloads)
    if (std::ranges::find(known, each) == known.end())
      return fail(Errc::bad_input, "workload " + config::shortened(each) + ": no workload has this name; use " +
                                       config::alternatives(std::vector<std::string_view>(known.begin(), known.end())));
  return caught([&] {
    Measuring measuring(platform, study, going_on);
    InitialisationFound found;
    for (const std::string& workload : study.workloads) found.results.push_back(measuring.of(workload));
    const auto& first = found.results.front();
    found.timeline = measuring.timeline(first.workload, first.sizes.back().size);
    return found;
  });
}

double overlap(const std::vector<TileTimes>& tiles) {
  std::vector<Span> prefetched, made;
  for (const TileTimes& each : tiles) {
    prefetched.push_back({each.prefetch_begin, each.prefetch_end});
    made.push_back({each.make_begin, each.make_end});
  }
  const Duration shared = traces::together(prefetched, made);
  const Duration any = traces::length_of(prefetched) + traces::length_of(made) - shared;
  return any == Duration(0) ? 0 : static_cast<double>(shared.count()) / static_cast<double>(any.count());
}

} // namespace rtexec::study
