// How long the layers of one task's executions on the device take, for who measures: the longest of each, seen in
// whatever jobs, where short ones are taken together with those before them, in pieces that take `min_piece` in the
// first execution. Set up and read by whoever owns it, before and after the run; in between by the compute engine's
// thread alone. Allocates nothing after construction.
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
    thread, // of the engine's thread, which executes the layers: what preempts it belongs to no layer
    told,   // the instants that the workload tells
  };
  static constexpr Duration min_piece{100'000};
  LayerTimes(std::size_t layers, Clock clock) : clock_(clock), longest_(layers), last_(layers) {}

  /// For Workload::observe(). Told outside of an execution it counts nothing.
  [[nodiscard]] LayerObserver observer() noexcept;
  void execution_begins() noexcept;
  void execution_ends(Duration executed) noexcept;

  [[nodiscard]] Clock clock() const noexcept { return clock_; }
  [[nodiscard]] std::size_t layers() const noexcept { return longest_.size(); }
  [[nodiscard]] std::vector<MeasuredLayers::Piece> pieces() const;
  /// The longest of each piece, and the longest that an execution spent outside of them; 0 before any.
  [[nodiscard]] Duration sum_of_longest() const noexcept;
  /// Execution; absent before any.
  [[nodiscard]] std::optional<Duration> shortest() const noexcept { return shortest_; }

 private:
  [[nodiscard]] Duration time(Instant at) const noexcept;
  void layer_begins(Instant at) noexcept;
  void layer_ends(std::uint32_t layer, Instant at) noexcept;

  const Clock clock_;
  std::vector<Duration> longest_; // by the last layer of each piece
  std::vector<bool> last_;        // whether a layer is one
  Duration longest_rest_{0};
  std::optional<Duration> shortest_;
  // The execution in progress.
  bool executing_ = false;
  Duration layer_begun_{0}, in_layers_{0}, in_piece_{0};
};

} // namespace rtexec::executive
