#include "rtexec/executive/calibrator.hpp"

#include "config/must.hpp"
#include "rtexec/executive/swap_observation.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

namespace rtexec::executive {

namespace {

using namespace std::chrono_literals;

constexpr std::array<std::uint32_t, 4> volumes{1, 4, 16, 64}; // in chunks
constexpr Bytes smallest_chunk{std::uint64_t{2} << 20};
constexpr Bytes largest_chunk{std::uint64_t{256} << 20};
constexpr Duration shortest_turn = 4ms;
constexpr Duration first_guess = 50ms; // of one chunk

double nanoseconds(Duration time) { return static_cast<double>(time.count()); }

Duration charged(double ns, double margin) {
  return Duration(static_cast<Duration::rep>(std::ceil(std::max(ns, 0.0) * margin)));
}

class Calibrator {
 public:
  Calibrator(std::string board, const CalibrationOptions& options, const CalibrationProgress& progress)
      : board_(std::move(board)), options_(options), progress_(progress) {}

  Calibration measure() {
    choose_chunks();
    for (const Bytes chunk : chunks_) wanted_ += volumes_of(chunk).size() + 1;
    for (const Bytes chunk : chunks_) measure_chunk(chunk);
    result_.chosen = cheapest();
    return std::move(result_);
  }

 private:
  void choose_chunks() {
    const Board board = must(read_board(board_));
    volume_ = options_.volume.value_or(board.device == DeviceKind::host ? Bytes{std::uint64_t{128} << 20}
                                                                        : Bytes{std::uint64_t{1} << 30});
    chunks_ = options_.chunks;
    if (chunks_.empty())
      for (Bytes chunk = smallest_chunk; chunk <= largest_chunk && chunk * 4 <= volume_; chunk = chunk * 2)
        chunks_.push_back(chunk);
    if (chunks_.empty())
      give_up(Errc::bad_input, "a volume of " + to_string(volume_) + " does not hold four chunks of " +
                                   to_string(smallest_chunk) + "; raise it, or say which chunk sizes to measure");
    const auto too_large = std::ranges::find_if(chunks_, [&](Bytes chunk) { return chunk > volume_; });
    if (too_large != chunks_.end())
      give_up(Errc::bad_input, "a chunk of " + to_string(*too_large) + " is larger than the volume that is swapped, " +
                                   to_string(volume_));
  }

  std::vector<std::uint32_t> volumes_of(Bytes chunk) const {
    std::vector<std::uint32_t> result;
    for (const std::uint32_t count : volumes)
      if (chunk * count <= volume_) result.push_back(count);
    return result;
  }

  void measure_chunk(Bytes chunk) {
    std::vector<Sample> in, out, whole;
    Duration per_chunk = first_guess;
    const auto counts = volumes_of(chunk);
    for (const std::uint32_t count : counts) {
      const ObservedSwaps observed = observe(chunk, count, MemoryClass::state, per_chunk);
      Duration longest{0};
      for (const ObservedSwap& job : observed.jobs) {
        // With what the other direction takes of a bus, or of a core: where both copy on one core, a chunk's slope is
        // that of in and out.
        in.push_back({static_cast<double>(count), nanoseconds(job.exchange)});
        out.push_back({static_cast<double>(count), nanoseconds(job.out)});
        whole.push_back({static_cast<double>(count), nanoseconds(job.whole)});
        longest = std::max(longest, job.whole);
      }
      per_chunk = longest / count;
    }
    const ObservedSwaps dropped = observe(chunk, counts.back(), MemoryClass::constant, per_chunk);
    double drop = 0;
    for (const ObservedSwap& job : dropped.jobs) drop = std::max(drop, nanoseconds(job.out_busy) / counts.back());
    result_.chunks.push_back(charge(chunk, fit(in), fit(out), drop, whole));
  }

  ObservedSwaps observe(Bytes chunk, std::uint32_t count, MemoryClass kind, Duration per_chunk) {
    if (!progress_(done_++, wanted_)) give_up(Errc::cancelled, "calibration was cancelled");
    SwapExperiment experiment{.board = board_,
                              .chunk = chunk,
                              .chunks = count,
                              .kind = kind,
                              .jobs = options_.jobs,
                              .turn = shortest_turn + 3 * per_chunk * count,
                              .swap = {},
                              .keep_awake = options_.keep_awake};
    if (options_.store == StoreKind::pageable) experiment.swap.policy = SwapPolicy::pageable;
    experiment.swap.store = SwapStore{.file = options_.file};
    ObservedSwaps observed = must(observe_swaps(experiment));
    std::tie(result_.device, result_.store) = std::tie(observed.device, observed.store);
    return observed;
  }

  /// Fit, largest residual and margin. What `whole` loads took beyond that, decisions and wake-ups before the first
  /// chunk and after the last one, is the load's own.
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

  /// By the mean of relative costs over volumes that networks have.
  Bytes cheapest() const {
    Bytes best{0};
    double least = 0;
    for (const ChunkCalibration& each : result_.chunks) {
      double sum = 0;
      for (const std::uint64_t mebibytes : {64U, 300U, 1024U}) {
        const Bytes volume{mebibytes << 20};
        const double chunks = static_cast<double>(round_up(volume, each.cost.chunk).count / each.cost.chunk.count);
        const double in = nanoseconds(each.cost.in_per_chunk), out = nanoseconds(each.cost.out_per_chunk);
        sum += (std::max(in, out) * chunks + std::min(in, out)) / static_cast<double>(volume.count);
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
  const CalibrationProgress& progress_;
  std::vector<Bytes> chunks_;
  Bytes volume_;
  std::size_t done_ = 0, wanted_ = 0;
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
  // Of one volume only: all of it is taken to grow with the volume.
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
                              const CalibrationProgress& progress) {
  return caught([&] { return Calibrator(board, options, progress).measure(); });
}

} // namespace rtexec::executive
