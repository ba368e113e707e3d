// Plans bandwidth regulation by the options of the task set. Chooses the regulated cores, their budgets and their
// counters. A domain is a core, or some cores that share one counter and budget.
#include "rtexec/runtime/regulation/regulation.hpp"

#include "config/names.hpp"
#include "config/base/text.hpp"
#include "hal/machine_files.hpp"
#include "hal/thread.hpp"
#include "policies/bounds/charges.hpp"

#include <algorithm>

namespace rtexec::regulation {
namespace {

template <class Range, class Value> bool contains(const Range& range, const Value& value) {
  return std::ranges::find(range, value) != std::ranges::end(range);
}

std::string list(std::span<const unsigned> cores) {
  return hal::core_list(std::vector<unsigned>(cores.begin(), cores.end()));
}

const CoreBudget* budget_of(unsigned core, const TaskSet& tasks) {
  const auto found = std::ranges::find(tasks.core_budgets, core, &CoreBudget::core);
  return found == tasks.core_budgets.end() ? nullptr : &*found;
}

class Checker {
 public:
  explicit Checker(const ResolvedSet& set) : tasks_(set.tasks), board_(set.board), cores_(set.machine.cores) {}

  Result<> check() {
    for (const CoreBudget& each : tasks_.core_budgets)
      check_budget(each.budget, each.core, "[[bandwidth.core]] core = " + std::to_string(each.core) + ": budget = ");
    check_best_effort();
    check_sum();
    if (!errors_.empty()) return fail(Errc::bad_input, errors_);
    return {};
  }

 private:
  void complain(const std::string& what) {
    config::add_line(errors_, (tasks_.file.empty() ? "" : tasks_.file.string() + ": ") + what);
  }

  void check_best_effort() {
    const auto without = [&](unsigned core) { return budget_of(core, tasks_) == nullptr; };
    const auto core = std::ranges::find_if(cores_, without);
    if (tasks_.bandwidth.best_effort)
      check_budget(*tasks_.bandwidth.best_effort, core == cores_.end() ? 0 : *core, "[bandwidth] best_effort = ");
  }

  /// Adds an error if the budget of a core is impossible. Reasons: the event of the counter does not exist, the budget
  /// exceeds the bandwidth of a core, or the budget of a period is less than one cache line.
  void check_budget(Bandwidth budget, unsigned core, const std::string& who) {
    const CounterFacts counter = counter_of(core, board_, tasks_.bandwidth.event);
    const auto event = hal::find_event(counter.event);
    if (!event && event.error().code == Errc::bad_input) return complain(event.error().what);
    if (const Bandwidth most = board_.memory.core_bandwidth; most != Bandwidth{} && budget > most)
      complain(who + to_string(budget) + " is more than a core of board '" + board_.name + "' can move, " +
               to_string(most) + ", so it has no effect");
    const Bandwidth least = policies::bandwidth_of(1, counter.line, tasks_.bandwidth.period);
    if (budget < least)
      complain(who + to_string(budget) + " is less than one line of " + to_string(counter.line) + " in a period of " +
               to_string(tasks_.bandwidth.period) + ", " + to_string(least) + "; use a longer period");
  }

  /// Adds an error if the sum of the budgets of single cores exceeds the bandwidth of the memory. The limit of
  /// best-effort cores is not part of the sum, because this limit reserves no bandwidth.
  void check_sum() {
    Bandwidth sum;
    for (const CoreBudget& each : tasks_.core_budgets) sum.bytes_per_second += each.budget.bytes_per_second;
    if (const Bandwidth most = board_.memory.saturation; most != Bandwidth{} && sum > most)
      complain("the budgets of [[bandwidth.core]] add up to " + to_string(sum) +
               ", more than the memory bandwidth of board '" + board_.name + "' for all cores, " + to_string(most) +
               "; reduce them");
  }

  const TaskSet& tasks_;
  const Board& board_;
  const std::vector<unsigned>& cores_;
  std::string errors_;
};

class Planner {
 public:
  Planner(const TaskSet& tasks, const Board& board, std::span<const unsigned> own, const RegulatedMachine& machine)
      : tasks_(tasks), board_(board), own_(own), machine_(machine) {}

  Result<RegulationPlan> plan() {
    if (!tasks_.regulated()) return plan_;
    for (const CoreBudget& each : tasks_.core_budgets)
      if (!contains(machine_.online, each.core))
        complain("[[bandwidth.core]] core = " + std::to_string(each.core) +
                 ": this process cannot use the core (cores: " + list(machine_.online) + ")");
    if (!errors_.empty()) return fail(Errc::bad_input, errors_);
    const std::vector<unsigned> cores = regulated_cores();
    const auto choices = machine_.choose(board_, tasks_.bandwidth, cores, machine_.holds);
    if (!choices) return Unexpected(choices.error());
    for (const hal::CounterChoice& choice : *choices) add(choice);
    if (!errors_.empty()) return fail(Errc::bad_input, errors_);
    if (plan_.domains.empty())
      plan_.reasons.push_back(
          "no core is regulated: each of them (" + list(machine_.online) +
          ") runs real-time parts or feeds the device; [[bandwidth.core]] gives such a core a budget");
    for (const RegulatedDomain& domain : plan_.domains)
      if (domain.counter.back_end != CounterBackEnd::thread) note_unthrottled(domain);
    if (tasks_.bandwidth.sharing == BandwidthSharing::spare && plan_.domains.size() == 1)
      plan_.reasons.push_back(
          "sharing = \"spare\" has no effect with one regulated domain: once it has used up its budget, all domains "
          "have");
    return plan_;
  }

 private:
  void complain(const std::string& what) { config::add_line(errors_, what); }

  std::vector<unsigned> regulated_cores() const {
    std::vector<unsigned> cores;
    for (const unsigned core : machine_.online)
      if (budget_of(core, tasks_) != nullptr || (tasks_.bandwidth.best_effort && !contains(own_, core)))
        cores.push_back(core);
    return cores;
  }

  void add(const hal::CounterChoice& choice) {
    const CoreBudget* given = nullptr;
    for (const unsigned core : choice.cores) {
      const CoreBudget* own = budget_of(core, tasks_);
      if (own != nullptr && given != nullptr)
        complain("[[bandwidth.core]]: cores " + list(choice.cores) +
                 " share one counter and one budget: give the budget to only one of them");
      if (own != nullptr) given = own;
    }
    const auto serving = std::ranges::find_if(choice.cores, [&](unsigned core) { return contains(own_, core); });
    if (given == nullptr && serving != choice.cores.end())
      return plan_.reasons.push_back("cores " + list(choice.cores) +
                                     " are not regulated: they share one counter, and core " +
                                     std::to_string(*serving) + " runs real-time parts or feeds the device");
    if (given != nullptr && serving != choice.cores.end() && !policies::reserved(tasks_))
      note_limits(given->core, choice);
    const Bandwidth budget = given != nullptr ? given->budget : *tasks_.bandwidth.best_effort;
    RegulatedDomain domain{.cores = {},
                           .counter = choice.settings,
                           .line = choice.line,
                           .budget = budget,
                           .always = given != nullptr,
                           .donates = serving == choice.cores.end()};
    for (const unsigned core : choice.cores)
      if (contains(machine_.online, core)) domain.cores.push_back(core);
    domain.counter.core = domain.cores.front(); // the thread of this core reads the counter
    domain.counter.period = tasks_.bandwidth.period;
    plan_.domains.push_back(std::move(domain));
    plan_.reasons.push_back(choice.reason);
  }

  void note_unthrottled(const RegulatedDomain& domain) {
    for (const std::string& reason : unthrottled(machine_, domain.cores.front()))
      if (!contains(plan_.reasons, reason)) plan_.reasons.push_back(reason);
  }

  /// Adds the reasons why admission's assumptions need not hold for a core with real-time parts. Admission assumes that
  /// throttling stops the whole core, and lasts no longer than planned.
  void note_limits(unsigned core, const hal::CounterChoice& choice) {
    const std::string who = "core " + std::to_string(core) + " has real-time parts and a budget; ";
    if (choice.settings.back_end != CounterBackEnd::core)
      return plan_.degraded.push_back(who + "the proof needs counter = \"core\", but it is \"" +
                                      std::string(spelling(choice.settings.back_end)) + "\" here: " + choice.reason);
    for (const std::string& limit : machine_.limits(core))
      plan_.degraded.push_back(
          who + "memory traffic of other programs may stop its real-time threads for longer than is proved: " + limit);
  }

  const TaskSet& tasks_;
  const Board& board_;
  std::span<const unsigned> own_;
  const RegulatedMachine& machine_;
  RegulationPlan plan_;
  std::string errors_;
};

} // namespace

std::vector<std::string> unthrottled(const RegulatedMachine& machine, unsigned core) {
  std::vector<std::string> reasons;
  for (const std::string& limit : machine.limits(core)) reasons.push_back("a stopped core is interrupted by: " + limit);
  return reasons;
}

RegulatedMachine regulated(const MachineFacts& facts) {
  RegulatedMachine found;
  found.online = facts.cores;
  found.holds = facts.no_fifo.empty();
  found.limits = [machine = hal::Machine()](unsigned core) {
    std::vector<std::string> limits;
    for (const hal::Finding& finding : machine.real_time_limits(core))
      if (finding.grade != hal::Finding::Grade::ok)
        limits.push_back(finding.subject + ": " + finding.state +
                         (finding.advice.empty() ? "" : "; " + finding.advice));
    return limits;
  };
  found.choose = [](const Board& board, const BandwidthOptions& options, std::span<const unsigned> cores, bool holds) {
    return hal::choose_counters(board, options, cores, holds);
  };
  return found;
}

Result<> check_budgets(const ResolvedSet& set) { return Checker(set).check(); }

Result<RegulationPlan> plan_regulation(const TaskSet& tasks, const Board& board, std::span<const unsigned> own,
                                       const RegulatedMachine& machine) {
  return Planner(tasks, board, own, machine).plan();
}

} // namespace rtexec::regulation
