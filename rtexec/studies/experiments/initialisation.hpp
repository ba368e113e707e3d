// The experiment of Wang et al. (GPU-side initialization with prefetching, eUMM), called "the paper" here. The
// experiment measures how long it takes to write the first contents of managed memory in three ways: by the host, by a
// GPU with page faults, and by a GPU in prefetched tiles. The experiment also measures the kernel that follows, and the
// crossover: the size from which on the GPU is faster than the host. The experiment runs on a platform: a model of the
// paper's boards, or a machine (initialisation_machine.hpp).
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

/// The state of the memory pages before the initialisation.
enum class PageStart {
  untouched, // the pages do not exist: no processor has touched them
  on_host,   // the pages are in the host's memory, as in the experiments of Wang et al.
};
[[nodiscard]] std::string_view name_of(PageStart start);

enum class InitialisationMethod {
  host,   // the host initialises all arrays
  faults, // a GPU kernel initialises the arrays; its page faults move the pages to the GPU
  tiles,  // the GPU kernel initialises tile i while tile i + 1 is prefetched
};

struct InitialisationCase {
  std::string workload;
  Bytes size; // the total size of the input arrays, which are initialised
  PageStart start = PageStart::on_host;
  InitialisationMethod method = InitialisationMethod::host;
  unsigned tiles = 1;  // the number of tiles of each array that can be divided
  bool kernel = false; // true to run the workload's kernels, too; only with pages on the host
};

struct InitialisationMeasure {
  Duration initialisation{0}, kernel{0};
};

/// The platform of the experiment. A single thread, which is not real-time, uses it. An error of a measurement ends
/// the experiment.
class InitialisationPlatform {
 public:
  virtual ~InitialisationPlatform() = default;
  [[nodiscard]] virtual std::vector<std::string> workloads() const = 0;
  [[nodiscard]] virtual std::vector<PageStart> starts() const = 0;
  /// True if there is a GPU. If false, the host initialises memory in every case, and there is no crossover.
  [[nodiscard]] virtual bool has_gpu() const = 0;
  /// Returns the largest possible size of the workload that does not exceed `size`.
  [[nodiscard]] virtual Bytes size_of(const std::string& workload, Bytes size) const = 0;
  /// Measures a case once.
  [[nodiscard]] virtual Result<InitialisationMeasure> measure(const InitialisationCase& wanted) = 0;
  /// Returns the times at which each tile of the largest array is prefetched and initialised. Returns an empty list
  /// if the platform has no GPU.
  [[nodiscard]] virtual Result<std::vector<tasks::initialise::TileTimes>> timeline(
      const InitialisationCase& wanted) = 0;
};

// ---- the model ----

/// Returns the model of a board that Wang et al. used: "tx2" or "xavier". Returns null for other names.
/// initialisation_model.cpp contains the constants with their sources.
[[nodiscard]] std::unique_ptr<InitialisationPlatform> modelled_initialisation(std::string_view board);

// ---- the experiment ----

struct InitialisationStudy {
  std::vector<std::string> workloads;
  std::vector<Bytes> sizes;      // ascending
  std::optional<unsigned> tiles; // absent: 1, 2, 4, ... are tried, and the fastest number is used
  unsigned timeline_tiles = 8;
  unsigned repetitions = 5; // the number of measurements for a median
};

struct TilesTime {
  unsigned tiles = 1;
  Duration time{0};
};

/// The median times for one size and one state of the pages.
struct InitialisationRow {
  PageStart start = PageStart::on_host;
  Duration host{0}, faults{0};
  std::vector<TilesTime> tiles{};
  std::size_t best = 0; // the index of the fastest entry of `tiles`
  [[nodiscard]] Duration enhanced() const { return tiles[best].time; }
};

struct InitialisationSize {
  Bytes size;
  std::vector<InitialisationRow> rows{}; // one for each state of the pages
  /// The time of the kernel that follows: after an initialisation by the host, and after an initialisation by the GPU
  /// with the fastest number of tiles
  Duration kernel_unified{0}, kernel_enhanced{0};
};

struct InitialisationResult {
  std::string workload;
  std::vector<InitialisationSize> sizes{};
  // The times of initialisations by the host, and by the GPU in one tile, by size. Empty without a GPU
  std::vector<tasks::InitialisationTimes> small{};
  std::optional<Bytes> crossover{}; // the size from which on the GPU is faster than the host, for pages on the host
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

/// Returns the maximum number of measurements. The experiment calls `going_on` before each measurement.
[[nodiscard]] std::size_t count_measurements(const InitialisationPlatform& platform, const InitialisationStudy& study);
/// Runs the experiment. Returns bad_input if the platform does not have a workload, and cancelled if `going_on`
/// returned false.
[[nodiscard]] Result<InitialisationFound> run_initialisation(InitialisationPlatform& platform,
                                                             const InitialisationStudy& study,
                                                             const std::function<bool()>& going_on);

/// Returns the overlap of initialising and prefetching: the time in which both happen, divided by the time in which at
/// least one of them happens.
[[nodiscard]] double overlap(const std::vector<tasks::initialise::TileTimes>& tiles);

} // namespace rtexec::study
