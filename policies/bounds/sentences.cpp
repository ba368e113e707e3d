#include "policies/bounds/sentences.hpp"

#include "policies/bounds/charges.hpp"
#include "policies/bounds/reservations.hpp"

#include <algorithm>
#include <cstdlib>

namespace rtexec::policies {
namespace {

std::string task_named(const std::string& name) { return "task '" + name + "'"; }
std::string core_named(unsigned core) { return "core " + std::to_string(core); }
std::string resource_of(const Overload& overload) { return overload.core ? core_named(*overload.core) : "device"; }

const std::string reservations = "sum of Q/d over the reservations of each core <= 0.9";
const std::string too_close = "; the utilisation is too close to 1 to examine every instant, so nothing is promised";

// ---- inequalities ----

/// Returns the definitions of the symbols in the inequality of a device test for a set that moves chunks.
std::string terms(SwapRule rule) {
  switch (rule) {
  case SwapRule::pipelined:
    return "; e = lambda + p + q, p = max(C - lambda, delay of loads beside it), q = max(o - lambda, 0), o: load";
  case SwapRule::serial: return "; C: O_out + O_in + C, blocking: max(O_out, max(O_in, C of another) + C)";
  case SwapRule::rt_swap: return "; C: O_out + O_in + C, B: max(O_in + C, C_max1 + C_max2) + max O_out";
  case SwapRule::demand_paging: break;
  }
  return "; C: O_out + O_in + C";
}

std::string device_inequality(const NamedSet& named) {
  const bool edf = named.order == Order::edf;
  const std::string meaning =
      (named.swap ? terms(named.swap->rule) : "") +
      (named.co_runs ? "; C: the longer of wcet and co_run_wcet where jobs execute at once" : "") +
      (!edf && named.set.platform_stall > 0 ? "; R counts from 2 S before the request, S: platform_stall" : "");
  if (named.set.preempts && edf)
    return "top class: for every L: sum over d_i <= L of (floor((L - d_i)/T_i) + 1) C_i + the longest run of segments "
           "of "
           "another class, or due later, <= L; each level: there is t <= L with h(L) + sum over classes above of "
           "ceil((t + J)/T) w <= t, h(L) as if the level were alone, with what is below it blocking once" +
           meaning;
  if (named.set.preempts)
    return "top class: R = max over jobs q of w(q) - q T + last segment <= D, blocked by the longest run of segments "
           "of "
           "another class, or less urgent; each level: as if it were alone, with what is below it blocking once, and "
           "ceil((w + J)/T) w_k for each task k of the classes above, until the last segment begins" +
           meaning;
  if (named.pipelined() && edf)
    return "for every L, for some lambda: sum over d_i <= L of (floor((L - d_i)/T_i) + 1) e_i + max over d_i <= L "
           "of C_i - p_i + max over d_b > L, a != b of lambda + p_a + p_b + q_b <= L" +
           meaning;
  if (named.pipelined())
    return "for some lambda: R = max over jobs q of w(q) - q T + C <= D, w(q) = B + q e + lambda + q_i + "
           "sum over higher priorities of (floor(w(q)/T) + 1) e, B = max over lower b, a != b of lambda + p_a "
           "+ p_b + q_b" +
           meaning;
  if (edf)
    return "for every L: sum over d_i <= L of (floor((L - d_i)/T_i) + 1) C_i + max over d_k > L of C_k <= L" + meaning;
  return "R = max over jobs q of w(q) - q T + C <= D, w(q) = B + q C + sum over higher priorities of "
         "(floor(w(q)/T) + 1) C" +
         meaning;
}

/// Returns the definition of J (release jitter), to be appended to an inequality that contains J. Returns an empty text
/// if the machine never stops (`platform_stall` of the board is 0).
std::string stops(const NamedSet& named) {
  return named.set.platform_stall > 0 ? "; J = release latency + 2 S, S: platform_stall" : "";
}

std::string core_inequality(const NamedSet& named, unsigned core) {
  if (named.services) return reservations;
  const std::string stalls = named.regulated.contains(core) ? " + X (1 + floor((lines moved + overshoot)/budget))" : "";
  return "R = J + w <= D, w = P + Q + sum over higher priorities of ceil((w + J)/T) (P + Q)" + stalls + stops(named);
}

std::string end_to_end_inequality(const NamedSet& named) {
  const bool all = std::ranges::all_of(named.set.tasks, &StagedTask::uses_device);
  const std::string alone = all              ? ""
                            : named.services ? "; J + d1 + d3 <= D without a device part"
                                             : "; J + w <= D, w = P + Q + what is above, without a device part";
  if (named.order == Order::edf)
    return (named.services ? reservations + ", device demand with deadlines d2, J + d1 + d2 + d3 <= D"
                           : "R1 <= d1, device demand with deadlines d2, w3 <= d3, d1 + d2 + d3 <= D") +
           alone + stops(named);
  return (named.services ? reservations + ", R2 + d3 <= D with jitters J + d1 on the device"
                         : "R3 = min(R2 + w3, J + W) <= D") +
         alone + stops(named);
}

/// Returns the inequality of a test of the device alone.
std::string inequality_of(AdmissionTest test, Order order) {
  switch (test) {
  case AdmissionTest::theorem1:
    return "B_max / min T + sum of (O_out + O_in + C)/T <= 1, B_max = max(O_out, O_in + C, C_max1 + C_max2)";
  case AdmissionTest::baker: return "for every k: B_k/D_k + sum over D_i <= D_k of (O_out + O_in + C)/D_i <= 1";
  case AdmissionTest::demand:
    return "for every L: sum over D_i <= L of (floor((L - D_i)/T_i) + 1) (O_out + O_in + C) + B(L) <= L";
  case AdmissionTest::rta:
    return "R = max over jobs q of w(q) - q T + O_in + C <= D, w(q) = B + q e + O_out + sum over higher priorities of "
           "(floor(w(q)/T) + 1) e";
  default: break;
  }
  return order == Order::edf ? "for every L, for some lambda: sum of n_i(L) e_i + max of C_i - p_i + B(L) <= L"
                             : "for some lambda: R <= D";
}

/// The text of a finding: its explanation and its inequality. If `inequality` is empty, the finding has the usual
/// inequality of its test.
struct Words {
  std::string explanation;
  std::string inequality{};
};

// ---- explanations ----

std::string stages(const StagesFound& found) {
  const StageBounds& bounds = found.bounds;
  return "its first part ends by " + in_ms(bounds.ready) +
         (found.on_device ? ", its device part by " + in_ms(bounds.device_done) : ", without a device part") +
         ", its last part within " + in_ms(bounds.last_window);
}

std::string swapping(const SwapFacts& swap) {
  return "; " + std::to_string(swap.chunks) + " chunks of " + to_string(swap.chunk) + " of " +
         std::to_string(swap.tasks) + " tasks are swapped in " + std::to_string(swap.frames) + " frames, at " +
         in_ms(swap.in) + " in and " + in_ms(swap.out) + " out for each";
}

/// Returns text about the longest time for which a load waits for frames (physical chunks). `suggests`: true if the
/// text also proposes a policy that needs fewer frames.
std::string delays(const LoadDelay& delay, bool suggests) {
  if (delay.time == 0) return "";
  return "; a load concurrent with a job of " + task_named(delay.task) + " may wait for up to " + in_ms(delay.time) +
         " for its frames" + (suggests ? "; [swap] policy = \"serial\" needs fewer frames" : "");
}

std::string stalls(unsigned core, const BudgetFacts& facts) {
  return "; " + core_named(core) + " may move " + std::to_string(facts.charge.budget) + " lines of " +
         to_string(facts.line) + " in each " + in_ms(facts.period.count()) + " (" + to_string(facts.budget) +
         "), and stalls for up to " + in_ms(facts.charge.stall) +
         " once in each window and once for as many lines as its parts move";
}

/// Returns text about the CPU time that release threads use to poll for messages.
std::string looks(const NamedSet& named) {
  const auto looks = std::ranges::find_if(named.set.tasks, [](const StagedTask& task) { return task.looks.cost > 0; });
  if (looks == named.set.tasks.end()) return "";
  return "; each release thread that polls for iceoryx messages is charged " + in_ms(looks->looks.cost) +
         " of its core every " + in_ms(looks->looks.period);
}

std::string share_text(Nanos share) {
  const std::string digits = std::to_string(std::abs(share) + second);
  return (share < 0 ? "-" : "") + std::to_string(std::abs(share) / second) + "." + digits.substr(digits.size() - 9, 6);
}

Words words_of(const BudgetUncharged& budget, const std::string& task) {
  using Why = BudgetUncharged::Why;
  const std::string which = budget.compute_core ? "compute_core" : "service_core";
  const std::string has = core_named(budget.core) + " has a memory bandwidth budget ([[bandwidth.core]])";
  switch (budget.why) {
  case Why::feeds_device:
    return {
        has + " and is the " + which + " of board '" + budget.board +
            "', whose threads feed the device, and the analysis cannot charge their stalls; give the board another " +
            which + ", or leave this budget out",
        "no budget for cores that feed the device"};
  case Why::stops_reservations:
    return {has +
                ", and a thread that stops itself loses its reservation under SCHED_DEADLINE, which is not charged; "
                "use threads = \"fifo\", or [bandwidth] counter = \"core\", which stops best-effort threads only, or "
                "leave this budget out",
            "no stop within a reservation"};
  case Why::stops_threads:
    return {has + ", and only stalls by [bandwidth] counter = \"core\" are charged; use that, or leave this budget out",
            "only stops of a whole core, by counter overflows"};
  case Why::shared_counter:
    return {has + ", and counter " + budget.event + " of board '" + budget.board +
                "' counts several cores at once: the others can use up the budget at any time; leave this budget out, "
                "or name a per-core event in [bandwidth] event",
            "a budget for one core alone"};
  case Why::endless_overshoot:
    return {has + ", and traffic beyond it is deducted from later budgets, without a known bound" +
                (budget.stands_in ? " for " + budget.event + "; "
                                  : "; give board '" + budget.board + "' [memory] core_bandwidth, or ") +
                "set [bandwidth] overshoot = \"forgive\"",
            "a bound on overshoot"};
  case Why::machine_stops:
    return {has + ", and board '" + budget.board +
                "' may stall (platform_stall > 0), which shifts the budgets' periods and is not charged; leave this "
                "budget out",
            "no budget on a board with platform_stall > 0"};
  case Why::unknown_traffic: break;
  }
  return {has + ", and runs " + task +
              ", whose memory traffic is not known; give its traffic_before and traffic_after, in bytes, or leave this "
              "budget out",
          "traffic is known of each part on a core with a budget"};
}

/// Produces the text for a finding. `named`: the set of an admission test; null for a test of the device alone.
class Sentences {
 public:
  Sentences(const Finding& finding, const NamedSet* named)
      : finding_(finding), named_(named), task_(task_named(finding.limiting)) {}

  Words operator()(const NoTask&) const { return {"there is no real-time task"}; }
  Words operator()(const NoDevicePart&) const { return {"no real-time task uses the device"}; }
  Words operator()(const NoVolumesFit&) const { return {"no swap volumes fit into the capacity"}; }
  Words operator()(const Overload& overload) const {
    return {task_ + " does not fit: the tasks need " + left() + " in each second of the " + resource_of(overload) +
                ", but must need less than 1000ms. Lengthen periods, or shorten or remove tasks",
            "sum of C/T on the " + resource_of(overload) + " < 1"};
  }
  Words operator()(const OnComputeCore& found) const {
    return {"the CPU parts of " + task_ + " are pinned to " + core_named(found.core) +
                ", which executes the device parts; pin them to another core",
            "no CPU part on the core that executes device parts"};
  }
  Words operator()(const DemandFound& found) const {
    const bool known = found.blocked_by_task || (!finding_.blocker.empty() && !named_->pipelined());
    return {(found.split ? "in the best split found, " : "") + ("at L = " + in_ms(finding_.instant)) +
            " the jobs due within L demand " + in_ms(finding_.demand) +
            (finding_.blocking > 0 ? ", and " + (known ? "a job of " + task_named(finding_.blocker) : "work") +
                                         " that began before blocks for " + in_ms(finding_.blocking)
                                   : "") +
            (found.above > 0 ? ", and more urgent classes take " + in_ms(found.above) : "") + ": " + sides() +
            pauses() + (found.settled ? "" : too_close)};
  }
  Words operator()(const DeviceResponseFound& found) const {
    return {"the device part of " + task_ + ", " + in_ms(found.device) + " with its charges" +
            (found.load > 0 ? " concurrent with a load of " + in_ms(found.load) : "") + ", ends after " +
            at_least(found.settled) + sides() + blocked() + pauses() + (found.examined ? "" : too_close)};
  }
  Words operator()(const CoreResponseFound& found) const {
    const auto regulated = named_->regulated.find(*finding_.core);
    return {"the CPU parts of " + task_ + ", " + in_ms(found.parts) + " with their charges, end after " +
            at_least(found.settled) + sides() + " if the device takes no time" +
            (found.service ? ", in addition to the scheduler's time on this core" : "") +
            (regulated != named_->regulated.end() ? stalls(regulated->first, regulated->second) : "")};
  }
  Words operator()(const StagesFound& found) const {
    if (found.by_split) return {task_ + " ends by " + sides() + ": " + stages(found)};
    const bool unexamined = !finding_.proved && finding_.left <= finding_.right;
    return {task_ + " ends after " + at_least(found.bounds.settled) + sides() + ": " + stages(found) +
            (unexamined ? too_close : "")};
  }
  Words operator()(const NoSplit& found) const {
    return {task_ + " needs " + in_ms(found.bounds.ready) + " for its first part, " + in_ms(found.on_device) +
            " on the device and " + in_ms(found.bounds.last_window) + " for its last part, of " + right() +
            ", in the best split found"};
  }
  Words operator()(const ReservationsFound& found) const {
    return {"of each second of " + core_named(found.core) + " the CPU parts reserve " + in_ms(found.tasks) +
                ", most of it " + task_ +
                (found.others > 0 ? std::string(", and the scheduler ") +
                                        (found.copies ? "with the copy engines " : "") + in_ms(found.others)
                                  : "") +
                ", in the widest windows " +
                (found.beside_device ? "while device parts run" : "if the device takes no time") + "; " + right() +
                " can be reserved",
            reservations};
  }
  Words operator()(const PartTooLong&) const {
    return {"a CPU part of " + task_ + " is longer than any reservation", "Q <= the kernel's longest period"};
  }
  Words operator()(const DeadlineTooShort& found) const {
    return {task_ + " needs " + in_ms(found.parts) + " for its CPU parts and " + in_ms(found.device) +
                " on the device, of " + right(),
            "J + P + C + Q <= D"};
  }
  Words operator()(const DigestsUncharged& found) const {
    return {std::string("[swap] ") + (found.verify ? "verify" : "skip_unchanged") +
                " = true computes a digest of each chunk that moves, which is not charged; leave it out",
            "no digests: neither verify nor skip_unchanged"};
  }
  Words operator()(const LooksUncharged&) const {
    return {task_ + " is released by iceoryx messages, for which its release thread polls every " +
                in_ms(message_looks.count()) +
                ": under SCHED_DEADLINE polling uses up the reservation of its first part; use [executive] threads = "
                "\"fifo\", or trigger = \"timer\"",
            "no release thread that polls for messages"};
  }
  Words operator()(const CoRunUnreserved&) const {
    return {
        "[device] co_run needs two compute engines, but under SCHED_DEADLINE the first one reserves all of their core; "
        "use [executive] threads = \"fifo\", or leave out co_run",
        "one compute engine under SCHED_DEADLINE"};
  }
  Words operator()(const CopyEnginesStarved& found) const {
    return {core_named(found.core) + " of board '" + found.board + "' runs the compute engine, which " +
                (found.computes ? "computes" : "spins") +
                " there, and also the copy engines, which then get no time; give the board another service_core",
            "no copy engine on the core that executes device parts"};
  }
  Words operator()(const ServiceOverrun& found) const {
    using Thread = ServiceOverrun::Thread;
    const std::string who = found.thread == Thread::copy_in    ? "the copy-in engine's thread"
                            : found.thread == Thread::copy_out ? "the copy-out engine's thread"
                                                               : "the scheduler's thread";
    return {who + " may need " + left() + " in " + in_ms(found.window) + ", but its reservation is " + right() +
                (found.copies ? ", since the engine copies by itself; use threads = \"fifo\""
                              : "; use a larger chunk, or threads = \"fifo\""),
            "work in a window <= Q"};
  }
  Words operator()(const BudgetUncharged& found) const { return words_of(found, task_); }
  Words operator()(const DeviceAlone&) const {
    return {"at L = " + in_ms(finding_.instant) + " demand " + in_ms(finding_.demand) + ", blocking " +
            in_ms(finding_.blocking) + (finding_.blocker.empty() ? "" : " by " + task_named(finding_.blocker)) + ": " +
            (finding_.shares() ? share_text(finding_.left) + " of 1" : sides())};
  }

 private:
  std::string left() const { return in_ms(finding_.left); }
  std::string right() const { return in_ms(finding_.right); }
  std::string sides() const { return left() + " of " + right(); }
  static std::string at_least(bool settled) { return settled ? "" : "at least "; }
  std::string blocked() const {
    if (finding_.blocking == 0) return "";
    return ", blocked for " + in_ms(finding_.blocking) + " by " +
           (finding_.blocker.empty() ? "work that began before" : "a job of " + task_named(finding_.blocker));
  }
  /// Returns text about the pauses of the compute engine. The tests count a pause as a shorter deadline or a longer
  /// response.
  std::string pauses() const {
    const Nanos delay = named_->set.device_delay;
    return delay > 0 ? ", in addition to " + in_ms(delay) + " in which the compute engine may pause" : "";
  }

  const Finding& finding_;
  const NamedSet* named_;
  std::string task_;
};

std::variant<TimeBound, ShareBound, UnmetPrecondition> bound_of(const Finding& finding) {
  if (finding.shares()) return ShareBound{finding.left, finding.right};
  if (std::holds_alternative<DigestsUncharged>(finding.reason) ||
      std::holds_alternative<LooksUncharged>(finding.reason) ||
      std::holds_alternative<CoRunUnreserved>(finding.reason) ||
      std::holds_alternative<CopyEnginesStarved>(finding.reason) ||
      std::holds_alternative<BudgetUncharged>(finding.reason))
    return UnmetPrecondition{};
  return TimeBound{Duration(finding.left), Duration(finding.right)};
}

TestVerdict verdict_of(const Finding& finding, std::string inequality, const NamedSet* named) {
  TestVerdict verdict;
  verdict.test = finding.test;
  verdict.core = finding.core;
  verdict.proved = finding.proved;
  verdict.bound = bound_of(finding);
  verdict.slack = Duration(finding.slack());
  verdict.instant = Duration(finding.instant);
  verdict.demand = Duration(finding.demand);
  verdict.blocking = Duration(finding.blocking);
  verdict.limiting_task = finding.limiting;
  verdict.blocking_task = finding.blocker;
  Words words = std::visit(Sentences(finding, named), finding.reason);
  verdict.inequality = words.inequality.empty() ? std::move(inequality) : std::move(words.inequality);
  verdict.explanation = std::move(words.explanation);
  return verdict;
}

// ---- chains ----

/// Returns text that names the task with the largest share of a chain's reaction time.
std::string costliest(const PlannedChain& chain) {
  const auto cost = [](const ChainTerm& term) { return term.waits + term.takes; };
  const ChainTerm& most = *std::ranges::max_element(chain.terms, {}, cost);
  return "; most of it at " + task_named(most.task) + ": " + in_ms(most.waits.count()) + " until it is released, " +
         in_ms(most.takes.count()) + " from there on";
}

std::string exceeded(const PlannedChain& chain, const std::string& what, const std::string& key,
                     const std::optional<Duration>& bound, const std::optional<Duration>& limit) {
  if (!bound || !limit || *bound <= *limit) return {};
  return "its " + what + ", up to " + in_ms(bound->count()) + ", exceeds " + key + ", " + in_ms(limit->count()) +
         ", by " + in_ms((*bound - *limit).count()) + costliest(chain);
}

std::string why(const ChainObstacle& obstacle) {
  const std::string task = ": " + task_named(obstacle.task);
  switch (obstacle.why) {
  case ChainObstacle::Why::no_response: return task + " has no promised response";
  case ChainObstacle::Why::slow_follower: return task + " has a longer period than the task that releases it";
  case ChainObstacle::Why::drops_jobs:
    return task + " has no job while an input has no new data, for an unknown time; set its on_stale to \"reuse\"";
  case ChainObstacle::Why::sporadic: break;
  }
  return task + " is released by " + (obstacle.trigger == Trigger::input ? "inputs" : "calls") +
         ", and the maximum time between two jobs is not known";
}

} // namespace

std::string in_ms(Nanos value) {
  if (value < 0) return "-" + in_ms(-value);
  constexpr Nanos millisecond = 1'000'000;
  std::string fraction = std::to_string(millisecond + value % millisecond).substr(1);
  fraction.erase(fraction.find_last_not_of('0') + 1);
  return std::to_string(value / millisecond) + (fraction.empty() ? "" : "." + fraction) + "ms";
}

TestVerdict told(const Finding& finding, const NamedSet& named) {
  if (finding.test == AdmissionTest::core) return verdict_of(finding, core_inequality(named, *finding.core), &named);
  const Nanos stop = named.set.platform_stall;
  const bool whole = finding.test == AdmissionTest::end_to_end;
  TestVerdict verdict = verdict_of(finding, whole ? end_to_end_inequality(named) : device_inequality(named), &named);
  if (named.swap && !named.names.empty())
    verdict.explanation += swapping(*named.swap) + delays(named.load_delay, !finding.proved && !named.set.preempts);
  for (const auto& [core, facts] : named.regulated)
    if (whole) verdict.explanation += stalls(core, facts);
  if (whole && !named.services) verdict.explanation += looks(named);
  if (whole && stop > 0 && !named.names.empty())
    verdict.explanation +=
        "; for platform stalls of up to " + in_ms(stop) + ", releases are charged as " + in_ms(2 * stop) + " later";
  return verdict;
}

std::string told(const PlannedChain& chain, const std::optional<ChainObstacle>& obstacle) {
  std::string text = exceeded(chain, "reaction time", "max_reaction", chain.reaction, chain.max_reaction) +
                     exceeded(chain, "data age", "max_age", chain.age, chain.max_age);
  const std::string missing = std::string(chain.reaction ? "" : "its reaction time") +
                              (chain.reaction || chain.age ? "" : " and ") + (chain.age ? "" : "its data age");
  if (obstacle && !missing.empty()) text += (text.empty() ? "" : "; ") + ("no bound on " + missing) + why(*obstacle);
  else if (!missing.empty()) text += (text.empty() ? "" : "; ") + missing + ": too large to be computed";
  return text;
}

TestVerdict told(const Finding& finding, Order order) {
  return verdict_of(finding, inequality_of(finding.test, order), nullptr);
}

} // namespace rtexec::policies
