// A program beside what is measured: a traffic generator on a core of its own. Seen through an interface, so that
// studies are tested without a machine.
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
  [[nodiscard]] virtual Bytes moved() const = 0; // since its start; any thread
};

enum class CorunnerKind {
  /// Sweeps a buffer that is larger than the caches, and writes a word of each line (Nigam's thesis, Algorithm 2)
  lines,
  pages, // touches pages for the first time: for machines that count page faults, and no memory traffic
};

using StartCorunner = std::function<Result<std::unique_ptr<Corunner>>(unsigned core, tasks::GeneratorHooks hooks)>;

/// Of this machine, without real-time priority. `line`: of memory, as its counter counts it.
[[nodiscard]] StartCorunner corunners_of_this_machine(CorunnerKind kind, Bytes line);

} // namespace rtexec::study
