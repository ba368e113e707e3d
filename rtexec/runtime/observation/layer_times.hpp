// Measures the execution times of the layers of one task's device parts. Short layers are merged with the previous
// layers into pieces. Each piece takes at least `min_piece` in the first execution. Keeps the longest time of each
// piece over all jobs. The owner uses this object only before and after the run. During the run, only the compute
// engine's thread uses it. Allocates nothing after construction.
#pragma once

#include <rtexec/profile.hpp>
#include <rtexec/units.hpp>
#include <rtexec/workload.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace rtexec::executive {

class LayerTimes {
 public:
  enum class Clock {
    /// Processor time of the engine's thread, which executes the layers. Time in which the thread is preempted does not
    /// count.
    thread,
    told, // the time between the instants that the workload reports to the observer
  };
  static constexpr Duration min_piece{100'000};
  LayerTimes(std::size_t layers, Clock clock) : clock_(clock), longest_(layers), last_(layers) {}

  /// Returns the observer for Workload::observe(). Only layers between execution_begins() and execution_ends() are
  /// counted.
  [[nodiscard]] LayerObserver observer() noexcept;
  void execution_begins() noexcept;
  void execution_ends(Duration executed) noexcept;

  [[nodiscard]] Clock clock() const noexcept { return clock_; }
  [[nodiscard]] std::size_t layers() const noexcept { return longest_.size(); }
  [[nodiscard]] std::vector<MeasuredLayers::Piece> pieces() const;
  /// Returns the sum of each piece's longest time, plus the longest time that an execution spent outside of all pieces.
  /// Returns 0 before any execution.
  [[nodiscard]] Duration sum_of_longest() const noexcept;
  /// Returns the time of the shortest execution; nullopt before any execution.
  [[nodiscard]] std::optional<Duration> shortest() const noexcept { return shortest_; }

 private:
  [[nodiscard]] Duration time(Instant at) const noexcept;
  void layer_begins(Instant at) noexcept;
  void layer_ends(std::uint32_t layer, Instant at) noexcept;

  const Clock clock_;
  std::vector<Duration> longest_; // times of pieces, each at the index of its last layer
  std::vector<bool> last_;        // true if a layer ends a piece
  Duration longest_rest_{0};
  std::optional<Duration> shortest_;
  // The following members describe the execution in progress.
  bool executing_ = false;
  Duration layer_begun_{0}, in_layers_{0}, in_piece_{0};
};

} // namespace rtexec::executive
