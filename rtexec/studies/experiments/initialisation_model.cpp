// Models of a Jetson TX2 and a Jetson Xavier AGX after the paper of Wang et al. (GPU-side initialization with
// prefetching, eUMM). The models show the shape of the paper's figures: they reproduce the printed values, and assume
// all other values.
#include "rtexec/studies/experiments/initialisation.hpp"

#include <algorithm>
#include <cmath>
#include <span>

namespace rtexec::study {
namespace {

using tasks::initialise::TileTimes;

/// Wang et al. state that a prefetch "can cause around 5us latency by itself"
constexpr double prefetch_ns = 5000;
/// The number of bytes at which the greatest reductions in the paper of Wang et al. are assumed to occur
constexpr double largest = 64 << 20;
/// Assumed ratio of the kernel's time to the host's time to initialise the same number of bytes
constexpr double kernel_share = 0.25;

struct ModelledWorkload {
  std::string_view name;
  double reduction;        // the maximum relative reduction of the initialisation time
  double kernel_reduction; // the maximum relative reduction of the time of the kernel that follows
  double crossover;        // the number of bytes from which tiles are faster than the host; 0: always
};

/// Wang et al., Fig. 5 and its text print reductions of the initialisation of at most 76.2 %, 99.4 % and 59.4 %. The
/// reduction for random access is not printed; it is assumed to equal the reduction for matrix add. Fig. 6 prints
/// reductions of the kernel of at most 61.0 %, 63.0 %, 10.1 % and 76.9 %. Small inputs with sides of 50 to 500 are
/// slower than on the host, except for needleman-wunsch. The crossovers are assumptions: a side of 500, and a side of
/// 100 for matrix multiply, because its reduction of 99.4 % does not allow a larger side.
constexpr ModelledWorkload tx2[] = {{"matrix-add", 0.762, 0.610, 2 << 20},
                                    {"matrix-multiply", 0.994, 0.630, 80 << 10},
                                    {"needleman-wunsch", 0.594, 0.101, 0},
                                    {"random-access", 0.762, 0.769, 2 << 20}};
/// Wang et al., Fig. 7 and its text print reductions of the initialisation of at most 93.4 %, 97.3 % and 87.4 %. The
/// reduction for random access is assumed to equal the reduction for matrix add. Reductions of the kernels are assumed
/// to equal the reductions on the TX2.
constexpr ModelledWorkload xavier[] = {{"matrix-add", 0.934, 0.610, 1 << 20},
                                       {"matrix-multiply", 0.973, 0.630, 320 << 10},
                                       {"needleman-wunsch", 0.874, 0.101, 0},
                                       {"random-access", 0.934, 0.769, 1 << 20}};

struct ModelledBoard {
  std::string_view name;
  double host_ns; // the host's time to initialise a byte; assumed
  std::span<const ModelledWorkload> workloads;
};
constexpr ModelledBoard boards[] = {{"tx2", 2.5, tx2}, {"xavier", 1.0, xavier}};

Duration nanoseconds(double value) { return Duration(std::llround(value)); }

class ModelledPlatform final : public InitialisationPlatform {
 public:
  explicit ModelledPlatform(const ModelledBoard& board) : board_(board) {}

  std::vector<std::string> workloads() const override {
    std::vector<std::string> names;
    for (const auto& each : board_.workloads) names.emplace_back(each.name);
    return names;
  }
  /// The pages of an integrated GPU do not move. The pages are only mapped, whichever processor touched them first.
  std::vector<PageStart> starts() const override { return {PageStart::on_host}; }
  bool has_gpu() const override { return true; }
  Bytes size_of(const std::string&, Bytes size) const override { return size; }

  Result<InitialisationMeasure> measure(const InitialisationCase& wanted) override {
    const auto bytes = static_cast<double>(wanted.size.count);
    const ModelledWorkload& workload = of(wanted.workload);
    const double kernel = kernel_share * board_.host_ns * bytes;
    const bool mapped = wanted.method != InitialisationMethod::host;
    return InitialisationMeasure{initialisation(workload, wanted),
                                 nanoseconds(mapped ? kernel : kernel / (1 - workload.kernel_reduction))};
  }

  Result<std::vector<TileTimes>> timeline(const InitialisationCase& wanted) override {
    return tiles(of(wanted.workload), wanted);
  }

 private:
  const ModelledWorkload& of(const std::string& name) const {
    return *std::ranges::find(board_.workloads, name, &ModelledWorkload::name);
  }

  Duration initialisation(const ModelledWorkload& workload, const InitialisationCase& wanted) const {
    const auto bytes = static_cast<double>(wanted.size.count);
    if (wanted.method == InitialisationMethod::host) return nanoseconds(board_.host_ns * bytes);
    const double each = each_ns(workload);
    if (wanted.method == InitialisationMethod::faults) return nanoseconds(fixed_ns(workload) + 2 * each * bytes);
    return nanoseconds(fixed_ns(workload)) + tiles(workload, wanted).back().make_end;
  }

  /// Returns the time to map a byte. The time to initialise a byte is assumed to be equal, so that mapping and
  /// initialisation overlap well. Both times follow from the greatest reduction, at which mapping is hidden behind
  /// initialisation except for one tile.
  double each_ns(const ModelledWorkload& workload) const {
    const double host = board_.host_ns, crossover = workload.crossover;
    const double at_largest = (1 - workload.reduction) * host * largest;
    return std::max(0.0, (at_largest - host * crossover) / (largest - 2 * crossover));
  }
  /// Returns the fixed time of an initialisation by the GPU. The fixed time is chosen so that at the crossover, an
  /// initialisation in one tile takes as long as an initialisation by the host.
  double fixed_ns(const ModelledWorkload& workload) const {
    return std::max(0.0, (board_.host_ns - 2 * each_ns(workload)) * workload.crossover - prefetch_ns);
  }

  std::vector<TileTimes> tiles(const ModelledWorkload& workload, const InitialisationCase& wanted) const {
    const double work = each_ns(workload) * static_cast<double>(wanted.size.count) / wanted.tiles;
    std::vector<TileTimes> made;
    double prefetched = 0, done = 0;
    for (unsigned i = 0; i < wanted.tiles; ++i) {
      const double begin = prefetched;
      prefetched += prefetch_ns + work;
      const double make = std::max(prefetched, done);
      done = make + work;
      made.push_back({nanoseconds(begin), nanoseconds(prefetched), nanoseconds(make), nanoseconds(done)});
    }
    return made;
  }

  const ModelledBoard& board_;
};

} // namespace

std::unique_ptr<InitialisationPlatform> modelled_initialisation(std::string_view board) {
  const auto* const found = std::ranges::find(boards, board, &ModelledBoard::name);
  return found == std::end(boards) ? nullptr : std::make_unique<ModelledPlatform>(*found);
}

} // namespace rtexec::study
