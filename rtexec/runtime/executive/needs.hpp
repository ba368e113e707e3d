// The requirements of a run on the machine before its first job, each with its result. A run refuses by this list, all
// of it at once; `rtexec probe TASKS.toml` shows it. Plain values.
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

struct Need {
  std::string subject;         // "SCHED_FIFO"
  std::string state;           // the granted state; or what was refused, and why
  std::optional<Errc> refused; // absent: it was granted
  std::string advice{};        // remedies for a refusal, in lines
  std::string instead{};       // the substitute of a run with allow_degraded; empty: the run goes on without it
  bool indispensable = false;  // refused even with allow_degraded
};

[[nodiscard]] Need given(std::string subject, std::string state);
/// Makes a refused need. The first line of `error` is the state, the others are the advice.
[[nodiscard]] Need refused(std::string subject, const Error& error);
[[nodiscard]] Need indispensable(Need need);

/// Returns a refused need for each core that `plan` uses and the machine lacks or withholds from this process, with the
/// users of that core.
[[nodiscard]] std::vector<Need> absent_cores(const ResolvedSet& set, const Plan& plan);
/// Returns the same in half a sentence for all cores: "a machine with core 7; this one has cores 0-1". Empty: all
/// exist.
[[nodiscard]] std::string other_machine(const ResolvedSet& set, const Plan& plan);

/// Returns an error with every refusal that cannot be accepted, and its advice; its code is that of the first. Success
/// means that the run may begin.
[[nodiscard]] Result<> refusal_of(const std::vector<Need>& needs, bool allow_degraded);
/// Returns a line for each refusal.
[[nodiscard]] std::vector<std::string> degradations(const std::vector<Need>& needs);

/// A set planned for this machine, and the results that a run of it would get now.
struct Inquiry {
  PlannedSet planned;
  Result<> startable;      // Executive::startable(), which a run checks first
  std::vector<Need> needs; // in the order of a run; inputs and outputs of tasks last
  std::string not_asked{}; // why only the board of this machine was checked; empty: everything was
};
/// Acquires all that a run needs, and releases it again. If this machine is another board than the set's, only that is
/// checked, unless the set allows a degraded run. Returns the errors of Executive::create().
[[nodiscard]] Result<Inquiry> inquire(TaskSet tasks);
/// Returns all refusals of inquire(), including Executive::startable().
[[nodiscard]] Result<std::vector<Need>> find_needs(TaskSet tasks);

} // namespace rtexec::executive
