// From what was asked to domains: which cores are regulated, by which budget, and how they are counted.
#include "rtexec/regulation/regulation.hpp"

#include "hal/machine.hpp"
#include "hal/thread.hpp"

#include <algorithm>

namespace rtexec::regulation {
namespace {

template <class Range, class Value>
bool contains(const Range& range, const Value& value) {
  return std::ranges::find(range, value) != std::ranges::end(range);
}

std::string list(std::span<const unsigned> cores) { return hal::core_list(std::vector<unsigned>(cores.begin(), cores.end())); }

class Planner {
 public:
  Planner(const TaskSet& tasks, const Board& board, std::span<const unsigned> own, const RegulatedMachine& machine)
      : tasks_(tasks), board_(board), own_(own), machine_(machine) {}

  Result<RegulationPlan> plan() {
    if (!tasks_.regulated()) return plan_;
    for (const CoreBudget& each : tasks_.core_budgets) check_core(each);
    if (!errors_.empty()) return fail(Errc::bad_input, errors_);
    const std::vector<unsigned> cores = regulated_cores();
    const auto choices = machine_.choose(board_, tasks_.bandwidth, cores, machine_.holds);
    if (!choices) return std::unexpected(choices.error());
    for (const hal::CounterChoice& choice : *choices) add(choice);
    check_sum();
    if (!errors_.empty()) return fail(Errc::bad_input, errors_);
    if (!refusals_.empty()) return fail(Errc::refused, refusals_);
    if (plan_.domains.empty())
      plan_.reasons.push_back("no core is regulated: each of them (" + list(machine_.online) + ") runs real-time parts or feeds the device; [[bandwidth.core]] gives such a core a budget");
    const auto held = [](const RegulatedDomain& domain) { return domain.counter.back_end != CounterBackEnd::thread; };
    if (std::ranges::any_of(plan_.domains, held)) plan_.reasons.insert(plan_.reasons.end(), machine_.limits.begin(), machine_.limits.end());
    return plan_;
  }

 private:
  void complain(const std::string& what) { errors_ += (errors_.empty() ? "" : "\n") + what; }

  void check_core(const CoreBudget& asked) {
    const std::string who = "[[bandwidth.core]] core = " + std::to_string(asked.core) + ": ";
    if (!contains(machine_.online, asked.core)) complain(who + "not there for this process (cores: " + list(machine_.online) + ")");
  }

  /// What a core can move at most, and at least in one line.
  void check_budget(Bandwidth budget, Bytes line, const std::string& who) {
    if (const Bandwidth most = board_.memory.core_bandwidth; most != Bandwidth{} && budget > most)
      complain(who + to_string(budget) + " is more than a core of board '" + board_.name + "' can move, " + to_string(most) + "; it would limit nothing");
    const Bandwidth least = policies::bandwidth_of(1, line, tasks_.bandwidth.period);
    if (budget < least)
      complain(who + to_string(budget) + " is less than one line of " + to_string(line) + " in a period of " + to_string(tasks_.bandwidth.period) + ", " +
               to_string(least) + "; use a longer period");
  }

  std::vector<unsigned> regulated_cores() const {
    std::vector<unsigned> cores;
    for (const unsigned core : machine_.online)
      if (budget_of(core) != nullptr || (tasks_.bandwidth.best_effort && !contains(own_, core))) cores.push_back(core);
    return cores;
  }

  const CoreBudget* budget_of(unsigned core) const {
    const auto found = std::ranges::find(tasks_.core_budgets, core, &CoreBudget::core);
    return found == tasks_.core_budgets.end() ? nullptr : &*found;
  }

  void add(const hal::CounterChoice& choice) {
    const CoreBudget* given = nullptr;
    for (const unsigned core : choice.cores) {
      const CoreBudget* own = budget_of(core);
      if (own != nullptr && given != nullptr)
        complain("[[bandwidth.core]]: cores " + list(choice.cores) + " share one counter, and so one budget: give it to one of them");
      if (own != nullptr) given = own;
    }
    const auto serving = std::ranges::find_if(choice.cores, [&](unsigned core) { return contains(own_, core); });
    if (given == nullptr && serving != choice.cores.end())
      return plan_.reasons.push_back("cores " + list(choice.cores) + " are not regulated: they share one counter, and core " + std::to_string(*serving) +
                                     " runs real-time parts or feeds the device");
    const Bandwidth budget = given != nullptr ? given->budget : *tasks_.bandwidth.best_effort;
    check_budget(budget, choice.line, given != nullptr ? "[[bandwidth.core]] core = " + std::to_string(given->core) + ": budget = " : "[bandwidth] best_effort = ");
    if (given != nullptr && serving != choice.cores.end() && choice.settings.back_end != CounterBackEnd::core)
      refusals_ += (refusals_.empty() ? "" : "\n") + ("core " + std::to_string(given->core) + " has real-time parts and a budget, and what was proved of it rests on counter = \"core\", which this machine does not give: " + choice.reason);
    RegulatedDomain domain{.cores = {}, .counter = choice.settings, .line = choice.line, .budget = budget, .always = given != nullptr, .donates = serving == choice.cores.end()};
    for (const unsigned core : choice.cores)
      if (contains(machine_.online, core)) domain.cores.push_back(core);
    domain.counter.core = domain.cores.front(); // whose thread reads it
    domain.counter.period = tasks_.bandwidth.period;
    plan_.domains.push_back(std::move(domain));
    plan_.reasons.push_back(choice.reason);
  }

  /// Of what is reserved; a limit of best-effort cores reserves nothing.
  void check_sum() {
    Bandwidth sum;
    for (const CoreBudget& each : tasks_.core_budgets) sum.bytes_per_second += each.budget.bytes_per_second;
    if (const Bandwidth most = board_.memory.saturation; most != Bandwidth{} && sum > most)
      complain("the budgets of [[bandwidth.core]] add up to " + to_string(sum) + ", more than the memory of board '" + board_.name +
               "' gives all cores together, " + to_string(most) + "; lower them");
  }

  const TaskSet& tasks_;
  const Board& board_;
  std::span<const unsigned> own_;
  const RegulatedMachine& machine_;
  RegulationPlan plan_;
  std::string errors_, refusals_;
};

} // namespace

RegulatedMachine this_machine() {
  const hal::Machine machine;
  RegulatedMachine found;
  found.online = machine.online_cores();
  found.holds = hal::Thread::start({.name = "try", .core = {}, .fifo_priority = 1, .reservation = {}}, [] {}).has_value();
  for (const hal::Finding& finding : machine.real_time_limits())
    if (finding.grade != hal::Finding::Grade::ok) found.limits.push_back("a core that is held is let go for this: " + finding.subject + ": " + finding.state);
  found.choose = [](const Board& board, const BandwidthOptions& options, std::span<const unsigned> cores, bool holds) {
    return hal::choose_counters(board, options, cores, holds);
  };
  return found;
}

Result<RegulationPlan> plan_regulation(const TaskSet& tasks, const Board& board, std::span<const unsigned> own, const RegulatedMachine& machine) {
  return Planner(tasks, board, own, machine).plan();
}

} // namespace rtexec::regulation
