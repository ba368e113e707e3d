// Two runs on the same core would each break the other's promise. A claim holds cores for one run, against every other
// run on the machine; it ends with this object, or with the process, however that ends.
#pragma once

#include <rtexec/result.hpp>
#include "hal/resources.hpp"

#include <span>
#include <vector>

namespace rtexec::hal {

class CoreClaim {
 public:
  /// All of `cores` or none. refused: the error names the cores that another run holds.
  [[nodiscard]] static Result<CoreClaim> take(std::span<const unsigned> cores);

 private:
  std::vector<FileDescriptor> held_; // a socket each, bound to the core's name in the abstract namespace
};

} // namespace rtexec::hal
