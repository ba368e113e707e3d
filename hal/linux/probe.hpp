// The two parts of Machine::probe() (findings by reading files and by trials), and functions that make findings.
#pragma once

#include "hal/machine_files.hpp"

#include <string>
#include <vector>

namespace rtexec::hal {

[[nodiscard]] inline Finding ok(std::string subject, std::string state) {
  return {std::move(subject), Finding::Grade::ok, std::move(state), {}};
}
[[nodiscard]] inline Finding note(std::string subject, std::string state, std::string advice, std::string brief = {}) {
  return {std::move(subject), Finding::Grade::note, std::move(state), std::move(advice), std::move(brief)};
}
[[nodiscard]] inline Finding unknown(std::string subject, std::string state, std::string advice,
                                     std::string brief = {}) {
  return {std::move(subject), Finding::Grade::unknown, std::move(state), std::move(advice), std::move(brief)};
}
[[nodiscard]] inline Finding missing(std::string subject, std::string state, std::string advice) {
  return {std::move(subject), Finding::Grade::missing, std::move(state), std::move(advice)};
}

/// Makes a finding from an error: the error's first line becomes the state, its other lines become the advice.
[[nodiscard]] inline Finding refused(std::string subject, const Error& error) {
  const auto line = error.what.find('\n');
  return missing(std::move(subject), error.what.substr(0, line),
                 line == error.what.npos ? "" : error.what.substr(line + 1));
}

[[nodiscard]] Finding memory_lock();
/// Returns one finding for each device file that captures pictures, with its formats. Without such a file, returns one
/// finding with the state "none".
[[nodiscard]] std::vector<Finding> cameras();
[[nodiscard]] std::vector<Finding> findings_by_trying();
[[nodiscard]] std::vector<Finding> findings_by_reading(const Machine& machine);

} // namespace rtexec::hal
