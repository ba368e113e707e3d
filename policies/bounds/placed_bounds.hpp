// What a set proves at most on cores that are given, and what for certain: for a search that asks it of many device
// parts. Nothing is swapped, and threads are SCHED_FIFO. Pure; proofs: policies/proofs/memory-policies.md.
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
  /// By what the set is proved, if it is.
  enum class By : std::uint8_t {
    first_split, // of deadlines, that edf_bounds() starts from: what this proves, with the CPU parts of the beginning
    last_split,  // with windows as long as those of any split, and all shorter parts
    any_split,
    priorities, // those of the set: what static_priority_bounds() proves
  };

  PlacedBounds(NamedSet named, By by);

  /// Other parts of a task, as long as those of the beginning or longer, on the device only where it used that.
  void set_parts(std::size_t task, Nanos before, Nanos device, Nanos after);
  /// The longest device part of best-effort tasks.
  void set_background(Nanos part) { named_.set.background = part; }

  /// No less than the slack with these times or with any that are no shorter; absent: none is proved.
  [[nodiscard]] std::optional<Nanos> most();

  /// The same at once, by what was tightest before; it may end with the first that leaves less than `needed`.
  [[nodiscard]] std::optional<Nanos> glance(Nanos needed);

  /// Whether these times are known to be proved, and all that are no longer.
  [[nodiscard]] bool surely_proved();

 private:
  /// An instant, and the jobs of each task that are due by then; 0: it blocks.
  struct Instant {
    Nanos at = 0;
    std::vector<Nanos> jobs;
  };

  /// A task, and what those above it bring to its core and to the device.
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
  StagedSet begun_;                  // the set of the beginning,
  std::vector<StageBounds> windows_; // and windows with them
  bool refused_;                     // whatever the parts are
  Nanos off_device_ = unbounded;     // the slack of tasks that do not use the device, at most
  std::vector<Instant> instants_;    // that were tightest
  std::vector<Response> responses_;
};

} // namespace rtexec::policies
