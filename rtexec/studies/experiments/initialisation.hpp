// The experiment of Wang et al. (GPU-side initialization with prefetching, eUMM). It measures how long it takes to give
// managed memory its first contents: by the host, by a GPU that faults, and by a GPU in prefetched tiles. It also
// measures the kernel that follows, and the size from which the GPU is faster. The experiment runs on a platform: a
// model of the paper's boards, or a machine (initialisation_machine.hpp).
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

/// The place of the pages before the initialisation.
enum class PageStart {
  untouched, // no pages exist: no processor has touched them
  on_host,   // on the host, as in the paper
};
[[nodiscard]] std::string_view name_of(PageStart start);

enum class InitialisationWay {
  host,   // the host initialises everything
  faults, // a GPU kernel does, whose accesses fetch the pages
  tiles,  // the same kernel, tile by tile, each prefetched while the previous one is initialised
};

struct InitialisationCase {
  std::string workload;
  Bytes size; // of the input arrays, which are initialised
  PageStart start = PageStart::on_host;
  InitialisationWay way = InitialisationWay::host;
  unsigned tiles = 1;  // of each array that can be divided into so many
  bool kernel = false; // the workload's kernels run afterwards; only with pages on the host
};

struct InitialisationMeasure {
  Duration initialisation{0}, kernel{0};
};

/// The platform of the experiment. One thread uses it, which is not real-time. Errors of a measurement end the
/// experiment.
class InitialisationPlant {
 public:
  virtual ~InitialisationPlant() = default;
  [[nodiscard]] virtual std::vector<std::string> workloads() const = 0;
  [[nodiscard]] virtual std::vector<PageStart> starts() const = 0;
  /// True if there is a GPU. Without one the host does the work in every way, and there is no crossover.
  [[nodiscard]] virtual bool has_gpu() const = 0;
  /// Returns the largest size up to `size` that the workload can have.
  [[nodiscard]] virtual Bytes size_of(const std::string& workload, Bytes size) const = 0;
  /// Measures once.
  [[nodiscard]] virtual Result<InitialisationMeasure> measure(const InitialisationCase& wanted) = 0;
  /// Returns when each tile of the largest array is prefetched and initialised; empty if no GPU does that.
  [[nodiscard]] virtual Result<std::vector<tasks::initialise::TileTimes>> timeline(
      const InitialisationCase& wanted) = 0;
};

// ---- the model ----

/// Returns the model of a board of the paper, "tx2" or "xavier"; null for others. Its constants are in
/// initialisation_model.cpp, each with its source.
[[nodiscard]] std::unique_ptr<InitialisationPlant> modelled_initialisation(std::string_view board);

// ---- the experiment ----

struct InitialisationStudy {
  std::vector<std::string> workloads;
  std::vector<Bytes> sizes;      // ascending
  std::optional<unsigned> tiles; // absent: 1, 2, 4, ... are tried, and the fastest number is used
  unsigned timeline_tiles = 8;
  unsigned repetitions = 5; // measurements of which the median is taken
};

struct TilesTime {
  unsigned tiles = 1;
  Duration time{0};
};

/// Median times of one size from one start.
struct InitialisationRow {
  PageStart start = PageStart::on_host;
  Duration host{0}, faults{0};
  std::vector<TilesTime> tiles{};
  std::size_t best = 0; // index of the fastest number of tiles
  [[nodiscard]] Duration enhanced() const { return tiles[best].time; }
};

struct InitialisationSize {
  Bytes size;
  std::vector<InitialisationRow> rows{};          // by start
  Duration kernel_unified{0}, kernel_enhanced{0}; // after initialisation by the host, and in the best tiles
};

struct InitialisationResult {
  std::string workload;
  std::vector<InitialisationSize> sizes{};
  std::vector<tasks::InitialisationTimes> small{}; // ascending sizes, by the host and in one tile; empty without a GPU
  std::optional<Bytes> crossover{};                // for pages on the host
};

struct InitialisationTimeline {
  std::string workload;
  Bytes size;
  std::vector<tasks::initialise::TileTimes> tiles{};
};

struct InitialisationFound {
  std::vector<InitialisationResult> results;
  std::optional<InitialisationTimeline> timeline; // for the first workload at its largest size
};

/// Returns the maximum number of measurements; `going_on` is called before each.
[[nodiscard]] std::size_t count_measurements(const InitialisationPlant& plant, const InitialisationStudy& study);
/// Runs the experiment. Returns bad_input if the platform does not have a workload, and cancelled if `going_on`
/// returned false.
[[nodiscard]] Result<InitialisationFound> run_initialisation(InitialisationPlant& plant,
                                                             const InitialisationStudy& study,
                                                             const std::function<bool()>& going_on);

/// Returns the share of time in which tiles are both initialised and prefetched, of the time in which either happens.
[[nodiscard]] double overlap(const std::vector<tasks::initialise::TileTimes>& tiles);

} // namespace rtexec::study
