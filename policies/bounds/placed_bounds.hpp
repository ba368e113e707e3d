// Bounds on the slack of a set on given cores, for a search that tries many lengths of device parts: how much slack it
// has at most, and whether it is surely proved. Nothing is swapped, and threads are SCHED_FIFO. Pure; proofs:
// policies/proofs/memory-policies.md.
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
  /// The means by which the set is proved, if it is.
  enum class By : std::uint8_t {
    /// The split of deadlines from which edf_bounds() starts: a proof, with the CPU parts at construction
    first_split,
    last_split, // with windows as long as those of any split, and for all shorter parts
    any_split,
    priorities, // those of the set: the proof by static_priority_bounds()
  };

  PlacedBounds(NamedSet named, By by);

  /// Sets other parts of a task, none shorter than at construction. A device part is set only if the task had one then.
  void set_parts(std::size_t task, Nanos before, Nanos device, Nanos after);
  /// Sets the longest device part of best-effort tasks.
  void set_background(Nanos part) { named_.set.background = part; }

  /// Returns an upper bound on the slack with these parts or with any that are no shorter. Returns nullopt if none of
  /// them is proved.
  [[nodiscard]] std::optional<Nanos> most();

  /// Returns the same bound quickly, from the instants and responses that were tightest before. May stop at the first
  /// one that leaves less than `needed`.
  [[nodiscard]] std::optional<Nanos> glance(Nanos needed);

  /// True if the set is known to be proved with these parts, and with all that are no longer.
  [[nodiscard]] bool surely_proved();

 private:
  /// An instant, and the number of jobs of each task that are due by then; 0: the task blocks.
  struct Instant {
    Nanos at = 0;
    std::vector<Nanos> jobs;
  };

  /// A task, and the loads of the tasks above it on its core and on the device.
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
  std::vector<StageBounds> windows_; // the windows of its parts
  bool refused_;                     // true if no lengths of parts can be proved
  Nanos off_device_ = unbounded;     // an upper bound on the slack of tasks that do not use the device
  std::vector<Instant> instants_;    // instants that were tightest before
  std::vector<Response> responses_;
};

} // namespace rtexec::policies
