// The requirements of a run on the machine, each with its result: granted or refused. They are checked before the first
// job, and all refusals are reported at once. `rtexec probe TASKS.toml` shows the list. Plain values.
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
  std::string advice{};        // remedies if it is refused, in lines
  std::string instead{};       // what a run with allow_degraded uses in its place; empty: nothing
  bool indispensable = false;  // true: a refusal ends the run even with allow_degraded
};

[[nodiscard]] Requirement given(std::string subject, std::string state);
/// Makes a refused requirement. The first line of the error's text becomes `state`, the others become `advice`.
[[nodiscard]] Requirement refused(std::string subject, const Error& error);
[[nodiscard]] Requirement indispensable(Requirement need);

/// Returns a refused requirement for each core that `plan` uses and that the machine lacks or withholds from this
/// process. Each names the tasks and threads that need the core.
[[nodiscard]] std::vector<Requirement> absent_cores(const ResolvedSet& set, const Plan& plan);
/// Returns the same for all cores in half a sentence: "a machine with core 7; this one has cores 0-1". Empty: no core
/// is missing.
[[nodiscard]] std::string other_machine(const ResolvedSet& set, const Plan& plan);

/// Returns an error that lists every refusal that `allow_degraded` does not excuse, with its advice. The error's code
/// is that of the first such refusal. Returns success if the run may begin.
[[nodiscard]] Result<> refusal_of(const std::vector<Requirement>& needs, bool allow_degraded);
/// Returns a text for each refusal, for Report::degraded.
[[nodiscard]] std::vector<std::string> degradations(const std::vector<Requirement>& needs);

/// A task set that is planned for this machine, and the results that its requirements would have now.
struct Inquiry {
  PlannedSet planned;
  Result<> startable;             // the result of Executive::startable(), which a run checks first
  std::vector<Requirement> needs; // in the order in which a run checks them; inputs and outputs of tasks come last
  std::string not_asked{}; // the reason why only the board, inputs and outputs were checked; empty: everything was
};
/// Finds out if a run could begin now: acquires all that a run needs, and releases it again. If this machine is not the
/// set's board, and degraded runs are not allowed, checks only this and the inputs and outputs of tasks. Returns the
/// errors of Executive::create().
[[nodiscard]] Result<Inquiry> inquire(TaskSet tasks);
/// Returns the requirements of inquire(). An error of Executive::startable() is included as a refusal.
[[nodiscard]] Result<std::vector<Requirement>> find_needs(TaskSet tasks);

} // namespace rtexec::executive
