// A program that runs beside the measured one: a traffic generator on a core of its own. It has an interface, so that
// studies can be tested without a machine.
#pragma once

#include <rtexec/result.hpp>
#include <rtexec/units.hpp>
#include "tasks/loads/traffic/generator_thread.hpp"

#include <functional>
#include <memory>

namespace rtexec::study {

/// Runs until it is destroyed.
class Corunner {
 public:
  virtual ~Corunner() = default;
  [[nodiscard]] virtual Bytes moved() const = 0; // bytes since its start; any thread may call
};

enum class CorunnerKind {
  /// Sweeps a buffer that is larger than the caches, and writes a word of each line (Nigam's thesis, Algorithm 2)
  lines,
  pages, // touches pages for the first time: for machines that count page faults but no memory traffic
};

using StartCorunner = std::function<Result<std::unique_ptr<Corunner>>(unsigned core, tasks::GeneratorHooks hooks)>;

/// Returns co-runners on this machine, without real-time priority. `line` is the line of memory that a counter counts.
[[nodiscard]] StartCorunner corunners_of_this_machine(CorunnerKind kind, Bytes line);

} // namespace rtexec::study
