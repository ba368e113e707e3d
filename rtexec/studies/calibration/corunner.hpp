// A co-runner: a traffic generator that moves memory on its own core while another program is measured. Tests can
// replace it through its interface.
#pragma once

#include <rtexec/result.hpp>
#include <rtexec/units.hpp>
#include "tasks/loads/traffic/generator_thread.hpp"

#include <functional>
#include <memory>

namespace rtexec::study {

/// A running traffic generator. It stops when the object is destroyed.
class Corunner {
 public:
  virtual ~Corunner() = default;
  /// The total number of bytes since its start; any thread may call this function
  [[nodiscard]] virtual Bytes moved() const = 0;
};

enum class CorunnerKind {
  /// Writes a word of each line of a buffer that is larger than the caches (Nigam's thesis, Algorithm 2)
  lines,
  pages, // touches pages for the first time; for machines on which only page faults can be counted
};

using StartCorunner = std::function<Result<std::unique_ptr<Corunner>>(unsigned core, tasks::GeneratorHooks hooks)>;

/// Returns a function that starts co-runners on this machine, without real-time priority. `line`: the number of bytes
/// that one counted event represents, such as the size of a cache line.
[[nodiscard]] StartCorunner corunners_of_this_machine(CorunnerKind kind, Bytes line);

} // namespace rtexec::study
