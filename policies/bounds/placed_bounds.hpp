// Bounds on the slack of a set whose tasks have cores, for a search that tries many lengths of parts. They say how much
// slack the set has at most, and if it is certainly proved. Nothing is swapped, and threads are SCHED_FIFO. Pure;
// proofs: policies/proofs/memory-policies.md, "Bounds of admission".
#pragma once

#include "policies/bounds/findings.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace rtexec::policies {

class PlacedBounds {
 public:
  /// How the set may be proved. A split divides each deadline into one for each part of the job.
  enum class By : std::uint8_t {
    /// By the split from which edf_bounds() starts, with the CPU parts given at construction
    first_split,
    last_split, // by a split whose windows are the longest: it is sure for all shorter parts
    any_split,  // by any split
    priorities, // by static_priority_bounds(), with the priorities of the set
  };

  PlacedBounds(NamedSet named, By by);

  /// Sets the parts of a task, none shorter than at construction. A task without a device part at construction gets
  /// none.
  void set_parts(std::size_t task, Nanos before, Nanos device, Nanos after);
  /// Sets the longest device part of best-effort tasks.
  void set_background(Nanos part) { named_.set.background = part; }

  /// Returns an upper bound on the slack with these parts or with any that are no shorter. Returns nullopt if none of
  /// them is proved.
  [[nodiscard]] std::optional<Nanos> most();

  /// Returns an upper bound on the slack quickly, from the instants and responses that were tightest before. It may be
  /// larger than that of most(). If the bound falls below `needed`, the search may stop there.
  [[nodiscard]] std::optional<Nanos> glance(Nanos needed);

  /// True if the set is known to be proved with these parts, and with any parts that are no longer.
  [[nodiscard]] bool surely_proved();

 private:
  /// An instant of the demand test, and the number of jobs of each task that are due by then. A task with 0 jobs may
  /// block.
  struct Instant {
    Nanos at = 0;
    std::vector<Nanos> jobs;
  };

  /// A task, and the loads of more urgent tasks on its core and on the device.
  struct Response {
    std::size_t task = 0;
    std::vector<Load> core, device;
  };

  [[nodiscard]] std::optional<Nanos> max_by_split(Nanos enough);
  [[nodiscard]] std::optional<Nanos> max_by_priorities();
  [[nodiscard]] bool moved() const;
  [[nodiscard]] Nanos left_at(const Instant& instant) const;
  [[nodiscard]] std::vector<DemandTask> device_parts(std::span<const StageBounds> windows) const;
  [[nodiscard]] Nanos left_by(Response& response, Nanos needed) const;
  [[nodiscard]] Nanos due(std::size_t task, Nanos jobs) const;
  void learn_instant(std::span<const DemandTask> parts, Nanos at);
  void learn_response(std::size_t task);

  NamedSet named_;
  By by_;
  StagedSet begun_;                  // the set at construction
  std::vector<StageBounds> windows_; // the windows of the parts at construction
  bool refused_;                     // true if no lengths of parts can be proved
  Nanos off_device_ = unbounded;     // an upper bound on the slack of tasks that do not use the device
  std::vector<Instant> instants_;    // instants that were tightest before
  std::vector<Response> responses_;
};

} // namespace rtexec::policies
