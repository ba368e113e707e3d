// Finds out which of a run's threads and engines are stuck.
#pragma once

#include <rtexec/units.hpp>
#include "rtexec/runtime/watches/pulse.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rtexec::executive {

/// Stuck is who had work to do for longer than `patience`, and took no step. One thread; no clock of its
/// own. What it finds is at most as old as the time between two looks.
class ProgressWatch {
 public:
  explicit ProgressWatch(Duration patience) : patience_(patience) {}
  using Look = std::function<Progress(Instant)>;
  void add(std::string name, Look look) { watched_.push_back({.name = std::move(name), .look = std::move(look)}); }
  /// The first that is stuck; null: nobody is.
  [[nodiscard]] const std::string* stuck(Instant now);

 private:
  struct Watched {
    std::string name;
    Look look;
    std::uint64_t steps = 0;
    std::optional<Instant> due_since = {}; // without a step
  };
  Duration patience_;
  std::vector<Watched> watched_;
};

} // namespace rtexec::executive
