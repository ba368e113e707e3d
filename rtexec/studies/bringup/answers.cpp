#include "rtexec/studies/bringup/answers.hpp"

#include <algorithm>
#include <cstdio>

namespace rtexec::bringup {

std::string first_line(const Error& error) { return error.what.substr(0, error.what.find('\n')); }

std::string in_a_line(std::string text) {
  text.resize(text.find_last_not_of('\n') + 1);
  std::ranges::replace(text, '\n', ' ');
  return text;
}

Answer failed(const Error& error, std::string advice) {
  const std::string state = first_line(error);
  std::string rest = error.what.substr(std::min(state.size() + 1, error.what.size()));
  if (!rest.empty()) advice = std::move(rest);
  return failed(state, std::move(advice));
}

Answer answer_of(const hal::Finding& finding) {
  using Grade = hal::Finding::Grade;
  if (finding.grade == Grade::ok) return passed(finding.state);
  if (finding.grade == Grade::unknown) return skipped(finding.state + ". " + finding.advice);
  return failed(finding.state, finding.advice);
}

Answer unless_emulated(const Subject& subject, Answer answer) {
  if (!subject.emulated) return answer;
  answer.outcome = Outcome::skipped;
  answer.state = "times of an emulator are not valid for the board; measured: " + answer.state;
  answer.advice.clear();
  return answer;
}

std::string rate_text(double bytes_per_second) {
  char text[32];
  const bool large = bytes_per_second >= 1e9;
  std::snprintf(text, sizeof text, large ? "%.2f GB/s" : "%.0f MB/s", bytes_per_second / (large ? 1e9 : 1e6));
  return text;
}

std::string file_of(const Board& board) { return "the board's file (" + board.file.string() + ")"; }

bool is_virtual(const hal::Machine& machine) {
  const std::string cpuinfo = machine.read("/proc/cpuinfo").value_or("");
  if ((" " + hal::field(cpuinfo, "flags").value_or("") + " ").find(" hypervisor ") != std::string::npos) return true;
  return machine.read("/proc/device-tree/compatible").value_or("").find("dummy-virt") != std::string::npos;
}

} // namespace rtexec::bringup
