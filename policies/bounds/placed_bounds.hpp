// Bounds on the slack of a set whose tasks have cores, for a search that tries many lengths of parts. The slack is the
// time that remains in the end-to-end test. Some functions return upper bounds on the slack that the set can have.
// Another function finds out whether the set is certainly proved. Sets that swap and threads under SCHED_DEADLINE are
// not supported. Pure; proofs: policies/proofs/memory-policies.md, "Bounds of admission".
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
  /// The method that proves the set: a split, or priorities. A split divides each deadline into a deadline for each
  /// part of the job.
  enum class By : std::uint8_t {
    /// The split from which edf_bounds() starts, for the CPU parts at construction
    first_split,
    /// The split with the longest windows; if it proves the set, it also proves the set with any shorter parts
    last_split,
    any_split,  // any split
    priorities, // static_priority_bounds(), with the priorities of the set
  };

  PlacedBounds(NamedSet named, By by);

  /// Sets the lengths of the parts of a task. No length may be shorter than at construction. `device` must be 0 if the
  /// task had no device part at construction.
  void set_parts(std::size_t task, Nanos before, Nanos device, Nanos after);
  /// Sets the longest device part of best-effort tasks.
  void set_background(Nanos part) { named_.set.background = part; }

  /// Returns an upper bound on the slack with the lengths of set_parts(). The bound is also valid for all longer parts.
  /// Returns nullopt if the set is proved neither with these lengths nor with longer parts.
  [[nodiscard]] std::optional<Nanos> most();

  /// Returns an upper bound on the slack, and takes less time than `most()`. The function examines only the instants
  /// and responses that were tightest in earlier calls, so its bound may be larger than the bound of `most()`.
  /// `needed`: the search may stop when the bound falls below this value.
  [[nodiscard]] std::optional<Nanos> glance(Nanos needed);

  /// True if the set is known to be proved with the lengths of set_parts(). Then it is also proved with all shorter
  /// parts.
  [[nodiscard]] bool surely_proved();

 private:
  /// An instant of the demand test, and for each task the number of its jobs that are due by that instant. A task
  /// without such jobs may block.
  struct Instant {
    Nanos at = 0;
    std::vector<Nanos> jobs;
  };

  /// The data for an upper bound on the slack of one task by its response: the task, and the loads of the more urgent
  /// tasks on its core and on the device.
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
  std::vector<Instant> instants_;    // the instants that were tightest in earlier calls
  std::vector<Response> responses_;
};

} // namespace rtexec::policies
