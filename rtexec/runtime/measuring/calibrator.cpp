#include "rtexec/runtime/measuring/calibrator.hpp"

#include "config/base/must.hpp"
#include "hal/thread.hpp"
#include "rtexec/runtime/measuring/swap_observation.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <tuple>

namespace rtexec::executive {

namespace {

using namespace std::chrono_literals;

constexpr std::array<std::uint32_t, 4> volumes{1, 4, 16, 64}; // numbers of chunks that a job swaps
constexpr Bytes smallest_chunk{std::uint64_t{2} << 20};
constexpr Bytes largest_chunk{std::uint64_t{256} << 20};
constexpr Duration shortest_turn = 4ms;
constexpr double slow_disk = 10; // nanoseconds per byte; assumed before anything has been measured
// The maximum time that is assumed for a chunk before anything has been measured
constexpr Duration longest_guess = 50ms;
constexpr unsigned few_jobs = 3;
constexpr int attempts = 4;

double nanoseconds(Duration time) { return static_cast<double>(time.count()); }

Duration charged(double ns, double margin) {
  return Duration(static_cast<Duration::rep>(std::ceil(std::max(ns, 0.0) * margin)));
}

class Calibrator {
 public:
  Calibrator(std::string board, const CalibrationOptions& options, const CalibrationObserver& observer)
      : board_(std::move(board)), options_(options), observer_(observer) {}

  Calibration measure() {
    choose_chunks();
    for (const Bytes chunk : chunks_) wanted_ += volumes_of(chunk).size() + 1;
    estimate();
    for (const Bytes chunk : chunks_) measure_chunk(chunk);
    ask();
    result_.chosen = cheapest();
    return std::move(result_);
  }

 private:
  void choose_chunks() {
    const Board board = must(read_board(board_));
    volume_ = options_.volume.value_or(board.memory_is_of_host() ? Bytes{std::uint64_t{128} << 20}
                                                                 : Bytes{std::uint64_t{1} << 30});
    chunks_ = options_.chunks;
    if (chunks_.empty())
      for (Bytes chunk = smallest_chunk; chunk <= largest_chunk && chunk * 4 <= volume_; chunk = chunk * 2)
        chunks_.push_back(chunk);
    if (chunks_.empty())
      give_up(Errc::bad_input, "a volume of " + to_string(volume_) + " must hold at least four chunks of " +
                                   to_string(smallest_chunk) +
                                   "; raise --volume, or give smaller chunk sizes (--chunk)");
    const auto too_large = std::ranges::find_if(chunks_, [&](Bytes chunk) { return chunk > volume_; });
    if (too_large != chunks_.end())
      give_up(Errc::bad_input,
              "a chunk of " + to_string(*too_large) + " is larger than the swapped volume, " + to_string(volume_));
  }

  std::vector<std::uint32_t> volumes_of(Bytes chunk) const {
    std::vector<std::uint32_t> result;
    for (const std::uint32_t count : volumes)
      if (chunk * count <= volume_) result.push_back(count);
    return result;
  }

  /// Estimates the duration of the calibration from a short run of the first chunk size.
  void estimate() {
    const Bytes chunk = chunks_.front();
    SwapExperiment experiment = experiment_of(chunk, 1, MemoryClass::state, std::min(guess(chunk), longest_guess));
    experiment.jobs = few_jobs;
    const Instant begin = hal::now();
    const ObservedSwaps observed = run(experiment);
    const Duration beside = hal::now() - begin - length(experiment);
    CalibrationEstimate estimate{.chunk = chunk, .sizes = chunks_.size()};
    Duration longest{0};
    for (const ObservedSwap& job : observed.jobs) {
      estimate.in = std::max(estimate.in, job.in);
      estimate.out = std::max(estimate.out, job.out);
      longest = std::max(longest, job.whole);
    }
    per_byte_ = nanoseconds(longest) / static_cast<double>(chunk.count);
    for (const Bytes each : chunks_) {
      const auto counts = volumes_of(each);
      const auto expect = [&](std::uint32_t count) {
        expected_.push_back(beside + length(experiment_of(each, count, MemoryClass::state, guess(each))));
      };
      for (const std::uint32_t count : counts) expect(count);
      expect(counts.back()); // for the run with constants
    }
    estimate.runs = wanted_;
    estimate.takes = std::accumulate(expected_.begin(), expected_.end(), Duration{0});
    began_ = hal::now();
    if (observer_.estimated) observer_.estimated(estimate);
  }

  /// Returns the expected time of swapping one chunk, extrapolated from the last measurement.
  Duration guess(Bytes chunk) const {
    return Duration(static_cast<Duration::rep>(per_byte_ * static_cast<double>(chunk.count)));
  }

  /// Returns the expected remaining time. The expected remaining time is the time that estimate() expected for the
  /// remaining runs, scaled by the deviation of the previous runs from their expected times. Returns nullopt before
  /// estimate().
  std::optional<Duration> left() const {
    if (expected_.empty()) return std::nullopt;
    const auto next = expected_.begin() + static_cast<std::ptrdiff_t>(done_);
    const double before = nanoseconds(std::accumulate(expected_.begin(), next, Duration{0}));
    const double rest = nanoseconds(std::accumulate(next, expected_.end(), Duration{0}));
    const double scale = done_ > 0 ? nanoseconds(run_began_ - began_) / before : 1;
    return std::max(Duration{0}, charged(rest, scale) - (hal::now() - run_began_));
  }

  bool asked() const { return !observer_.measuring || observer_.measuring(done_, wanted_, left()); }
  void ask() const {
    if (!asked()) give_up(Errc::cancelled, "the measurement was cancelled");
  }

  void measure_chunk(Bytes chunk) {
    std::vector<Sample> in, out, whole;
    Duration per_chunk = guess(chunk);
    const auto counts = volumes_of(chunk);
    for (const std::uint32_t count : counts) {
      const ObservedSwaps observed = observe(chunk, count, MemoryClass::state, per_chunk);
      Duration longest{0};
      for (const ObservedSwap& job : observed.jobs) {
        // The cost of copies in is fitted to the time of the whole exchange. This time includes the time in which
        // copies out use the same bus or core. If both directions copy on one core, the cost of a chunk is therefore
        // the cost of copying in and out.
        in.push_back({static_cast<double>(count), nanoseconds(job.exchange)});
        out.push_back({static_cast<double>(count), nanoseconds(job.out)});
        whole.push_back({static_cast<double>(count), nanoseconds(job.whole)});
        longest = std::max(longest, job.whole);
      }
      per_chunk = longest / count;
    }
    per_byte_ = nanoseconds(per_chunk) / static_cast<double>(chunk.count);
    const ObservedSwaps dropped = observe(chunk, counts.back(), MemoryClass::constant, per_chunk);
    double drop = 0;
    for (const ObservedSwap& job : dropped.jobs) drop = std::max(drop, nanoseconds(job.out_busy) / counts.back());
    result_.chunks.push_back(charge(chunk, fit(in), fit(out), drop, whole));
  }

  SwapExperiment experiment_of(Bytes chunk, std::uint32_t count, MemoryClass kind, Duration per_chunk) const {
    SwapExperiment experiment{.board = board_,
                              .chunk = chunk,
                              .chunks = count,
                              .kind = kind,
                              .jobs = options_.jobs,
                              .turn = shortest_turn + 3 * per_chunk * count,
                              .swap = {},
                              .keep_awake = options_.keep_awake,
                              .going_on = [this] { return asked(); }};
    if (options_.store == StoreKind::pageable) experiment.swap.policy = SwapPolicy::pageable;
    experiment.swap.store = SwapStore{.file = options_.file};
    return experiment;
  }

  /// Runs the experiment, whose jobs begin `turn` (SwapExperiment) apart. If the machine was too busy for a job to swap
  /// all of its chunks, repeats the experiment with a `turn` that is four times as long.
  ObservedSwaps run(SwapExperiment experiment) {
    for (int attempt = 0; attempt < attempts; ++attempt, experiment.turn *= 4) {
      run_began_ = hal::now();
      ask();
      ObservedSwaps observed = must(observe_swaps(experiment));
      if (!observed.jobs.empty()) return observed;
    }
    give_up(Errc::refused, "no job swapped all of its " + std::to_string(experiment.chunks) + " chunks of " +
                               readable(experiment.chunk) + ": the machine was too busy; try again");
  }

  ObservedSwaps observe(Bytes chunk, std::uint32_t count, MemoryClass kind, Duration per_chunk) {
    ObservedSwaps observed = run(experiment_of(chunk, count, kind, per_chunk));
    std::tie(result_.device, result_.store) = std::tie(observed.device, observed.store);
    ++done_;
    return observed;
  }

  /// Returns the cost of swapping: the fitted lines `in` and `out`, raised by their largest residuals, times the
  /// margin. `whole` holds the times from the request of a job to its execution. These times may exceed the cost,
  /// because of decisions and wake-ups before the first chunk and after the last chunk. The excess is added to
  /// `in_fixed`.
  ChunkCalibration charge(Bytes chunk, const SwapFit& in, const SwapFit& out, double drop,
                          const std::vector<Sample>& whole) const {
    ChunkCalibration result{.cost = {.store = options_.store,
                                     .chunk = chunk,
                                     .in_per_chunk = charged(in.per_chunk_ns, options_.margin),
                                     .out_per_chunk = charged(out.per_chunk_ns, options_.margin),
                                     .drop_per_chunk = charged(drop, options_.margin),
                                     .in_fixed = charged(in.fixed_ns + in.residual_ns, options_.margin),
                                     .out_fixed = charged(out.fixed_ns + out.residual_ns, options_.margin),
                                     .residual = charged(std::max(in.residual_ns, out.residual_ns), 1)},
                            .in = in,
                            .out = out};
    SwapCost& cost = result.cost;
    const auto [least, most] = std::minmax({nanoseconds(cost.in_per_chunk), nanoseconds(cost.out_per_chunk)});
    double uncharged = 0;
    for (const Sample& sample : whole)
      uncharged = std::max(
          uncharged, sample.nanoseconds - (nanoseconds(cost.in_fixed + cost.out_fixed) + least + most * sample.chunks));
    cost.in_fixed += charged(uncharged, options_.margin);
    return result;
  }

  /// Returns the chunk size with the lowest cost per byte, on average over the sizes of typical networks.
  Bytes cheapest() const {
    Bytes best{0};
    double least = 0;
    for (const ChunkCalibration& each : result_.chunks) {
      double sum = 0;
      for (const std::uint64_t mebibytes : {64U, 300U, 1024U}) {
        const Bytes volume{mebibytes << 20};
        const std::uint64_t chunks = round_up(volume, each.cost.chunk).count / each.cost.chunk.count;
        const double in = nanoseconds(each.cost.in_per_chunk), out = nanoseconds(each.cost.out_per_chunk);
        const double time = std::max(in, out) * static_cast<double>(chunks) + std::min(in, out);
        sum += time / static_cast<double>(volume.count);
      }
      if (best == Bytes{0} || sum < least) {
        best = each.cost.chunk;
        least = sum;
      }
    }
    return best;
  }

  std::string board_;
  const CalibrationOptions& options_;
  const CalibrationObserver& observer_;
  std::vector<Bytes> chunks_;
  Bytes volume_;
  double per_byte_ = slow_disk;       // measured cost of swapping, ns per byte
  std::vector<Duration> expected_;    // the expected duration of each run
  std::size_t done_ = 0, wanted_ = 0; // numbers of runs
  Instant began_{}, run_began_{};
  Calibration result_;
};

} // namespace

SwapFit fit(const std::vector<Sample>& samples) {
  SwapFit line;
  const auto n = static_cast<double>(samples.size());
  if (samples.empty()) return line;
  double mean_x = 0, mean_y = 0;
  for (const Sample& sample : samples) {
    mean_x += sample.chunks / n;
    mean_y += sample.nanoseconds / n;
  }
  double xx = 0, xy = 0, yy = 0;
  for (const Sample& sample : samples) {
    const double x = sample.chunks - mean_x, y = sample.nanoseconds - mean_y;
    xx += x * x;
    xy += x * y;
    yy += y * y;
  }
  // If all samples have the same number of chunks, the whole time is assumed to be proportional to the number of
  // chunks.
  line.per_chunk_ns = xx > 0 ? xy / xx : mean_y / mean_x;
  line.fixed_ns = xx > 0 ? mean_y - line.per_chunk_ns * mean_x : 0;
  double unexplained = 0;
  for (const Sample& sample : samples) {
    const double excess = sample.nanoseconds - (line.fixed_ns + line.per_chunk_ns * sample.chunks);
    line.residual_ns = std::max(line.residual_ns, excess);
    unexplained += excess * excess;
  }
  line.r_squared = yy > 0 ? 1 - unexplained / yy : 1;
  return line;
}

Result<Calibration> calibrate(const std::string& board, const CalibrationOptions& options,
                              const CalibrationObserver& observer) {
  return caught([&] { return Calibrator(board, options, observer).measure(); });
}

} // namespace rtexec::executive
