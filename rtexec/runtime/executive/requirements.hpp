// The requirements of a run on the machine, each with its result: granted or refused. A run checks all requirements
// before the first job, and reports all refusals at once. `rtexec probe TASKS.toml` shows the list. Plain values.
#pragma once

#include <rtexec/plan.hpp>
#include <rtexec/planning.hpp>
#include <rtexec/resolved_set.hpp>
#include <rtexec/result.hpp>
#include <rtexec/task_set.hpp>

#include <optional>
#include <string>
#include <vector>

namespace rtexec::executive {

struct Requirement {
  std::string subject;         // "SCHED_FIFO"
  std::string state;           // what was granted, or what was refused and why
  std::optional<Errc> refused; // the reason of the refusal; absent: granted
  std::string advice{};        // remedies after a refusal, one per line
  std::string instead{};       // what a run with allow_degraded uses instead of `subject`; empty: no substitute
  bool indispensable = false;  // true: a refusal ends the run even with allow_degraded
};

[[nodiscard]] Requirement given(std::string subject, std::string state);
/// Makes a refused requirement. The first line of the error's text becomes `state`; the other lines become `advice`.
[[nodiscard]] Requirement refused(std::string subject, const Error& error);
[[nodiscard]] Requirement indispensable(Requirement need);

/// Returns a refused requirement for each core that `plan` uses and that the machine lacks or withholds from this
/// process. Each requirement names the tasks and threads that need the core.
[[nodiscard]] std::vector<Requirement> absent_cores(const ResolvedSet& set, const Plan& plan);
/// Returns the missing cores in words, like "a machine with core 7; this one has cores 0-1", or an empty text if no
/// core is missing.
[[nodiscard]] std::string other_machine(const ResolvedSet& set, const Plan& plan);

/// Returns an error that lists every refusal that `allow_degraded` does not excuse, with its advice. The error's code
/// is the code of the first such refusal. Returns success if the run may begin.
[[nodiscard]] Result<> refusal_of(const std::vector<Requirement>& needs, bool allow_degraded);
/// Returns a text for each refusal, for Report::degraded.
[[nodiscard]] std::vector<std::string> degradations(const std::vector<Requirement>& needs);

/// A task set that is planned for this machine, and the present result of each of its requirements.
struct Inquiry {
  PlannedSet planned;
  Result<> startable; // the result of Executive::startable(), which a run checks first
  /// The requirements, in the order in which a run checks them. Inputs and outputs of tasks come last.
  std::vector<Requirement> needs;
  /// The reason why only the board, inputs and outputs were checked. Empty: everything was checked.
  std::string not_asked{};
};
/// Checks if a run could begin now: acquires all resources that a run needs, and releases them again. If this machine
/// is not the set's board, and degraded runs are not allowed, checks only the board and the inputs and outputs of
/// tasks. Returns the errors of Executive::create().
[[nodiscard]] Result<Inquiry> inquire(TaskSet tasks);
/// Returns the requirements of inquire(). An error of Executive::startable() is included as a refusal.
[[nodiscard]] Result<std::vector<Requirement>> find_needs(TaskSet tasks);

} // namespace rtexec::executive
