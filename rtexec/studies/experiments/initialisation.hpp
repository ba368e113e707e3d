// The experiment of Wang et al. (GPU-side initialization with prefetching, eUMM): how long it takes to give managed
// memory its first contents by the host, by a GPU that faults, and by a GPU in tiles that are prefetched; how long the
// kernel behind it takes then; and from which size on the GPU is the faster one. Where it runs is a plant: a model of
// the paper's boards, or a machine (initialisation_machine.hpp).
#pragma once

#include <rtexec/result.hpp>
#include <rtexec/units.hpp>
#include "tasks/base/tiled.hpp"
#include "tasks/loads/benchmarks/initialiser.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rtexec::study {

/// Where the pages are before.
enum class PageStart {
  untouched, // nowhere: nobody has touched them
  on_host,   // there, as the paper has it
};
[[nodiscard]] std::string_view name_of(PageStart start);

enum class InitialisationWay {
  host,   // the host makes all
  faults, // a GPU kernel does, whose accesses bring the pages
  tiles,  // the same tile by tile, each prefetched while the one before is made
};

struct InitialisationCase {
  std::string workload;
  Bytes size; // of what is made: the arrays that go in
  PageStart start = PageStart::on_host;
  InitialisationWay way = InitialisationWay::host;
  unsigned tiles = 1;  // of each array, where it has so many
  bool kernel = false; // the workload's kernels run behind it; only from pages on the host
};

struct InitialisationMeasure {
  Duration initialisation{0}, kernel{0};
};

/// What the experiment runs on. One thread, none of them real-time. Errors of a measurement end the experiment.
class InitialisationPlant {
 public:
  virtual ~InitialisationPlant() = default;
  [[nodiscard]] virtual std::vector<std::string> workloads() const = 0;
  [[nodiscard]] virtual std::vector<PageStart> starts() const = 0;
  /// Without one every way is the host's own, and there is no crossover.
  [[nodiscard]] virtual bool has_gpu() const = 0;
  /// The size nearest below that the workload can have.
  [[nodiscard]] virtual Bytes size_of(const std::string& workload, Bytes size) const = 0;
  /// Once.
  [[nodiscard]] virtual Result<InitialisationMeasure> measure(const InitialisationCase& wanted) = 0;
  /// When each tile of the largest array is prefetched and made; empty where no GPU does that.
  [[nodiscard]] virtual Result<std::vector<tasks::initialise::TileTimes>> timeline(
      const InitialisationCase& wanted) = 0;
};

// ---- the model ----

/// A board of the paper, "tx2" or "xavier"; null for others. Its constants stand in initialisation_model.cpp, each with
/// its source.
[[nodiscard]] std::unique_ptr<InitialisationPlant> modelled_initialisation(std::string_view board);

// ---- the experiment ----

struct InitialisationStudy {
  std::vector<std::string> workloads;
  std::vector<Bytes> sizes;      // ascending
  std::optional<unsigned> tiles; // absent: 1, 2, 4, ... are tried, and the fastest is taken
  unsigned timeline_tiles = 8;
  unsigned repetitions = 5; // of which the median is taken
};

struct TilesTime {
  unsigned tiles = 1;
  Duration time{0};
};

/// Medians, of one size from one start.
struct InitialisationRow {
  PageStart start = PageStart::on_host;
  Duration host{0}, faults{0};
  std::vector<TilesTime> tiles{};
  std::size_t best = 0; // of them
  [[nodiscard]] Duration enhanced() const { return tiles[best].time; }
};

struct InitialisationSize {
  Bytes size;
  std::vector<InitialisationRow> rows{};          // by start
  Duration kernel_unified{0}, kernel_enhanced{0}; // behind the host; behind the best tiles
};

struct InitialisationResult {
  std::string workload;
  std::vector<InitialisationSize> sizes{};
  std::vector<tasks::InitialisationTimes> small{}; // ascending; by the host, and in one tile; none without a GPU
  std::optional<Bytes> crossover{};                // from pages on the host
};

struct InitialisationTimeline {
  std::string workload;
  Bytes size;
  std::vector<tasks::initialise::TileTimes> tiles{};
};

struct InitialisationFound {
  std::vector<InitialisationResult> results;
  std::optional<InitialisationTimeline> timeline; // of the first workload at its largest size
};

/// How many measurements that is at most: a call of `going_on` before each.
[[nodiscard]] std::size_t count_measurements(const InitialisationPlant& plant, const InitialisationStudy& study);
/// bad_input: a workload that the plant does not have. cancelled: `going_on` returned false.
[[nodiscard]] Result<InitialisationFound> run_initialisation(InitialisationPlant& plant,
                                                             const InitialisationStudy& study,
                                                             const std::function<bool()>& going_on);

/// Of the time in which tiles are made or prefetched, the share in which both happens.
[[nodiscard]] double overlap(const std::vector<tasks::initialise::TileTimes>& tiles);

} // namespace rtexec::study
