// What a run asks of the machine before its first job, with the answer to each: a run refuses by this list, all of it
// at once, and `rtexec probe TASKS.toml` shows it. Plain values.
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
  std::string state;           // what was given; or what was refused, and why
  std::optional<Errc> refused; // absent: it was given
  std::string advice{};        // what mends a refusal, in lines
  std::string instead{};       // what a run with allow_degraded does; empty: it does without
  bool indispensable = false;  // refused also with allow_degraded
};

[[nodiscard]] Need given(std::string subject, std::string state);
/// The first line of `error` says what is, the others what to do.
[[nodiscard]] Need refused(std::string subject, const Error& error);
[[nodiscard]] Need indispensable(Need need);

/// Cores that `plan` uses and the machine does not have, or keeps from this process: each once, refused, with who asks.
[[nodiscard]] std::vector<Need> absent_cores(const ResolvedSet& set, const Plan& plan);
/// The same in half a sentence for all: "a machine with core 7; this one has cores 0-1". Empty: all are there.
[[nodiscard]] std::string other_machine(const ResolvedSet& set, const Plan& plan);

/// Every refusal that cannot be accepted, with its advice; of the code of the first. Nothing: the run may begin.
[[nodiscard]] Result<> refusal_of(const std::vector<Need>& needs, bool allow_degraded);
/// A line for each refusal.
[[nodiscard]] std::vector<std::string> degradations(const std::vector<Need>& needs);

/// A set planned for this machine, and what a run of it would be told now.
struct Inquiry {
  PlannedSet planned;
  Result<> startable;      // Executive::startable(), which a run checks first
  std::vector<Need> needs; // in the order in which a run asks; inputs and outputs of tasks last
  std::string not_asked{}; // why this machine was not asked for more than its board; empty: it was
};
/// Acquires all that a run needs, and gives it back. A machine that is another board than the set's is asked for no
/// more, unless the set allows a degraded run. Errors are those of Executive::create().
[[nodiscard]] Result<Inquiry> inquire(TaskSet tasks);
/// All refusals of inquire(), the set's own included.
[[nodiscard]] Result<std::vector<Need>> find_needs(TaskSet tasks);

} // namespace rtexec::executive
