// The parts of Machine::probe(): what is read from files, and what is tried.
#pragma once

#include "hal/machine.hpp"

#include <string>
#include <vector>

namespace rtexec::hal {

[[nodiscard]] inline Finding ok(std::string subject, std::string state) {
  return {std::move(subject), Finding::Grade::ok, std::move(state), {}};
}
[[nodiscard]] inline Finding note(std::string subject, std::string state, std::string advice) {
  return {std::move(subject), Finding::Grade::note, std::move(state), std::move(advice)};
}
[[nodiscard]] inline Finding missing(std::string subject, std::string state, std::string advice) {
  return {std::move(subject), Finding::Grade::missing, std::move(state), std::move(advice)};
}

[[nodiscard]] std::vector<Finding> findings_by_trying(const Machine& machine);
[[nodiscard]] std::vector<Finding> findings_by_reading(const Machine& machine);

} // namespace rtexec::hal
