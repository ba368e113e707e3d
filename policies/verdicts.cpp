#include "policies/verdicts.hpp"

#include "policies/core_windows.hpp"
#include "policies/device_response.hpp"

#include <set>

namespace rtexec::policies {
namespace {

std::string task_named(const std::string& name) { return "task '" + name + "'"; }

std::string core_named(unsigned core) { return "core " + std::to_string(core); }

std::set<unsigned> cores_of(const NamedSet& named) {
  std::set<unsigned> cores;
  for (const StagedTask& task : named.set.tasks) cores.insert(task.core);
  return cores;
}

void set_verdict(TestVerdict& verdict, bool proved, const std::string& limiting_task, Nanos left, Nanos right,
                 std::string explanation) {
  verdict.proved = proved;
  verdict.left = Duration(left);
  verdict.right = Duration(right);
  verdict.slack = Duration(right - left);
  verdict.limiting_task = limiting_task;
  verdict.explanation = std::move(explanation);
}

TestVerdict test(std::string name, std::string inequality) {
  TestVerdict verdict;
  verdict.name = std::move(name);
  verdict.inequality = std::move(inequality);
  return verdict;
}

void set_place(TestVerdict& verdict, Nanos instant, Wide demand, Nanos blocking, const std::string& blocking_task) {
  verdict.instant = Duration(instant);
  verdict.demand = Duration(static_cast<Nanos>(std::min<Wide>(demand, unbounded)));
  verdict.blocking = Duration(blocking);
  verdict.blocking_task = blocking_task;
}

const std::string too_close = "; the utilisation is too close to 1 to examine every instant, so nothing is promised";

/// Settles the tests that need no analysis.
bool nothing_to_test(TestVerdict& verdict, const NamedSet& named) {
  if (!named.names.empty()) return false;
  set_verdict(verdict, true, "", 0, 0, "there is no real-time task");
  return true;
}

/// The work asked for in each second reaches a second: no response time exists.
bool overloaded(TestVerdict& verdict, const NamedSet& named, std::span<const Nanos> costs,
                const std::string& resource) {
  Utilisation total;
  std::string limiting;
  for (std::size_t i = 0; i < named.names.size(); ++i) {
    total.add(costs[i], named.set.tasks[i].period);
    if (limiting.empty() && !total.below_one()) limiting = named.names[i];
  }
  if (total.below_one()) return false;
  constexpr Nanos below_a_second = 999'999'999;
  verdict.inequality = "sum of C/T on the " + resource + " < 1";
  set_verdict(verdict, false, limiting, total.per_second(), below_a_second,
              "the tasks ask for " + in_ms(total.per_second()) + " in each second of the " + resource + "; from " +
                  task_named(limiting) + " on no time is left. Lengthen periods, or shorten or remove tasks");
  return true;
}

/// CPU parts on the core that executes device parts: no test covers that.
bool on_compute_core(TestVerdict& verdict, const NamedSet& named) {
  const auto task =
      std::ranges::find(named.set.tasks, named.compute_core, [](const StagedTask& t) { return std::optional(t.core); });
  if (task == named.set.tasks.end()) return false;
  const std::string& name = named.names[static_cast<std::size_t>(task - named.set.tasks.begin())];
  verdict.inequality = "no CPU part on the core that executes device parts";
  set_verdict(verdict, false, name, task->before + task->after, 0,
              "the CPU parts of " + task_named(name) + " are pinned to core " + std::to_string(task->core) +
                  ", which executes the device parts; pin them to another core");
  return true;
}

// ---- device ----

std::vector<Nanos> parts_of(const NamedSet& named, Nanos StagedTask::*part) {
  std::vector<Nanos> parts;
  for (const StagedTask& task : named.set.tasks) parts.push_back(task.*part);
  return parts;
}

Utilisation utilisation_of(const NamedSet& named, std::span<const Nanos> costs) {
  Utilisation utilisation;
  for (std::size_t i = 0; i < costs.size(); ++i) utilisation.add(costs[i], named.set.tasks[i].period);
  return utilisation;
}

/// What each job costs the device; where jobs are loaded, by the lambda for which that is least.
std::vector<Nanos> device_costs(const NamedSet& named) {
  std::vector<Nanos> least = parts_of(named, &StagedTask::device);
  if (!named.set.loads(named.names.size())) return least;
  Nanos least_share = unbounded;
  for (const Overlap& overlap : named.set.overlapped()) {
    std::vector<Nanos> costs;
    for (const Overlap::Charge& charge : overlap.tasks) costs.push_back(charge.cost);
    const Nanos share = utilisation_of(named, costs).per_second();
    if (share >= least_share) continue;
    least_share = share;
    least = std::move(costs);
  }
  return least;
}

/// Settles the tests that some obstacle, or too much work, makes pointless.
bool hopeless(TestVerdict& verdict, const NamedSet& named) {
  if (!named.obstacle) return overloaded(verdict, named, device_costs(named), "device");
  const Obstacle& found = *named.obstacle;
  verdict.inequality = found.inequality;
  set_verdict(verdict, false, found.task, found.left, found.right, found.explanation);
  return true;
}

/// What deadlines are shortened by, or responses lengthened.
std::string pauses(const NamedSet& named) {
  return named.set.device_delay > 0
             ? ", besides " + in_ms(named.set.device_delay) + " in which the compute engine may pause"
             : "";
}

std::string demand_numbers(const NamedSet& named, const Demand& at) {
  const std::string blocker = at.blocker ? "a job of " + task_named(named.names[*at.blocker])
                              : named.background.empty() || named.rule == SwapRule::pipelined
                                  ? "work"
                                  : "a job of " + task_named(named.background);
  const auto demand = static_cast<Nanos>(std::min<Wide>(at.demand, unbounded));
  std::string result = "at L = " + in_ms(at.instant) + " the jobs due within L demand " + in_ms(demand);
  if (at.blocking > 0) result += ", and " + blocker + " that began before blocks for " + in_ms(at.blocking);
  return result + ": " + in_ms(at.instant - at.slack()) + " of " + in_ms(at.instant) + pauses(named);
}

/// A task that is due at the instant.
std::size_t due_at(const EdfBounds& bounds, Nanos instant) {
  for (std::size_t i = 0; i < bounds.device.size(); ++i) {
    const DemandTask& task = bounds.device[i];
    if (task.deadline <= instant && (instant - task.deadline) % task.period == 0) return i;
  }
  return 0;
}

/// By one job of lower priority, or by what began before; where jobs are loaded that depends on lambda, and is not
/// told.
struct Blocker {
  Nanos time = 0;
  std::string task; // empty: none, or not one alone
};

Blocker blocker_of(const NamedSet& named, std::size_t task) {
  if (named.set.loads(task + 1)) return {};
  Nanos longest = named.set.background;
  std::string by = named.background;
  for (std::size_t j = task + 1; j < named.names.size(); ++j) {
    if (named.set.tasks[j].blocks() <= longest) continue;
    longest = named.set.tasks[j].blocks();
    by = named.names[j];
  }
  return {longest, by};
}

std::string blocked(const Blocker& by) {
  if (by.time == 0) return "";
  return ", blocked for " + in_ms(by.time) + " by " +
         (by.task.empty() ? "work that began before" : "a job of " + task_named(by.task));
}

/// What the terms of a device test stand for where chunks are moved.
std::string terms(const NamedSet& named) {
  if (named.rule == SwapRule::pipelined)
    return "; e = lambda + p + q, p = max(C - lambda, 0), q = max(o - lambda, 0), o: load";
  if (named.rule == SwapRule::serial) return "; C: O_out + O_in + C, blocking: max(O_out, max(O_in, C of another) + C)";
  if (named.rule == SwapRule::rt_swap) return "; C: O_out + O_in + C, B: max(O_in + C, C_max1 + C_max2) + max O_out";
  return named.rule == SwapRule::demand_paging ? "; C: O_out + O_in + C" : "";
}

TestVerdict demand_test(const NamedSet& named) {
  if (named.rule == SwapRule::pipelined)
    return test("pipelined",
                "for every L, for some lambda: sum over d_i <= L of (floor((L - d_i)/T_i) + 1) e_i + max over d_i <= L "
                "of min(C_i, lambda) + "
                "max over d_b > L, a != b of max(lambda, C_a) + p_b + q_b <= L" +
                    terms(named));
  return test(
      "demand",
      "for every L: sum over d_i <= L of (floor((L - d_i)/T_i) + 1) C_i + max over d_k > L of C_k <= L" + terms(named));
}

TestVerdict response_test(const NamedSet& named) {
  if (named.rule == SwapRule::pipelined)
    return test("pipelined",
                "for some lambda: R = max over jobs q of w(q) - q T + C <= D, w(q) = B + q e + lambda + q_i + "
                "sum over higher priorities of (floor(w(q)/T) + 1) e, B = max over lower b, a != b of max(lambda, C_a) "
                "+ p_b + q_b" +
                    terms(named));
  return test("rta",
              "R = max over jobs q of w(q) - q T + C <= D, w(q) = B + q C + sum over higher priorities of "
              "(floor(w(q)/T) + 1) C" +
                  terms(named));
}

// ---- end to end ----

std::string stages(const StageBounds& bounds) {
  return "its first part ends by " + in_ms(bounds.ready) + ", its device part by " + in_ms(bounds.device_done) +
         ", its last part within " + in_ms(bounds.last_window);
}

std::size_t least_slack(const NamedSet& named, std::span<const StageBounds> bounds) {
  const auto slack = [&](std::size_t i) { return named.set.tasks[i].deadline - bounds[i].done; };
  std::size_t limiting = 0;
  for (std::size_t i = 1; i < bounds.size(); ++i)
    if (slack(i) < slack(limiting)) limiting = i;
  return limiting;
}

TestVerdict core_verdict(const NamedSet& named, unsigned core, std::span<const FixedPoint> responses) {
  const bool regulated = named.regulated.contains(core);
  TestVerdict verdict =
      test(core_named(core),
           std::string("R = J + w <= D, w = P + Q + sum over higher priorities of ceil((w + J)/T) (P + Q)") +
               (regulated ? " + X (1 + floor((lines moved + overshoot)/budget))" : ""));
  if (core == named.compute_core && on_compute_core(verdict, named)) return verdict;

  NamedSet alone;
  bool proved = true;
  for (std::size_t i = 0; i < named.names.size(); ++i) {
    StagedTask task = named.set.tasks[i];
    if (task.core != core) continue;
    task.before += task.after;
    alone.set.tasks.push_back(task);
    alone.names.push_back(named.names[i]);
    proved = proved && responses[i].settled;
    const Nanos response = responses[i].value;
    if (alone.names.size() > 1 && Duration(task.deadline - response) >= verdict.slack) continue;
    set_verdict(verdict, false, named.names[i], response, task.deadline,
                "the CPU parts of " + task_named(named.names[i]) + ", " + in_ms(task.before) +
                    " with their charges, end after " + (responses[i].settled ? "" : "at least ") + in_ms(response) +
                    " of " + in_ms(task.deadline) + " if the device takes no time" +
                    (service_on(named.set, core).empty() ? "" : ", beside what moving chunks takes of this core") +
                    (regulated ? named.regulated.at(core) : ""));
  }
  verdict.proved = proved;
  if (!proved) static_cast<void>(overloaded(verdict, alone, parts_of(alone, &StagedTask::before), verdict.name));
  return verdict;
}

TestVerdict decided(const NamedSet& named, const EdfBounds& bounds, const std::string& inequality) {
  TestVerdict verdict = test("end-to-end", inequality);
  if (nothing_to_test(verdict, named) || on_compute_core(verdict, named) || hopeless(verdict, named)) return verdict;

  if (bounds.proved()) {
    const std::size_t limiting = least_slack(named, bounds.tasks);
    const StageBounds& split = bounds.tasks[limiting];
    const Nanos deadline = named.set.tasks[limiting].deadline;
    set_verdict(verdict, true, named.names[limiting], split.done, deadline,
                task_named(named.names[limiting]) + " ends by " + in_ms(split.done) + " of " + in_ms(deadline) + ": " +
                    stages(split));
    return verdict;
  }
  const Demand& at = bounds.demand.tightest;
  const std::size_t limiting = due_at(bounds, at.instant);
  const StagedTask& task = named.set.tasks[limiting];
  const StageBounds& split = bounds.tasks[limiting];
  if (bounds.device[limiting].deadline < task.on_device())
    set_verdict(verdict, false, named.names[limiting], split.ready + task.on_device() + split.last_window,
                task.deadline,
                task_named(named.names[limiting]) + " needs " + in_ms(split.ready) + " for its first part, " +
                    in_ms(task.on_device()) + " on the device and " + in_ms(split.last_window) +
                    " for its last part, of " + in_ms(task.deadline) + ", in the best split found");
  else
    set_verdict(verdict, false, named.names[limiting], at.instant - at.slack(), at.instant,
                "in the best split found, " + demand_numbers(named, at) + (bounds.demand.settled ? "" : too_close));
  set_place(verdict, at.instant, at.demand, at.blocking, at.blocker ? named.names[*at.blocker] : named.background);
  return verdict;
}

TestVerdict decided(const NamedSet& named, std::span<const StageBounds> bounds, const std::string& inequality) {
  TestVerdict verdict = test("end-to-end", inequality);
  if (nothing_to_test(verdict, named) || on_compute_core(verdict, named) || hopeless(verdict, named)) return verdict;

  const auto kept = [&](std::size_t i) { return bounds[i].settled && bounds[i].done <= named.set.tasks[i].deadline; };
  const std::size_t last = bounds.size() - 1;
  const bool proved = bounds.size() == named.names.size() && kept(last);
  const std::size_t limiting = proved ? least_slack(named, bounds) : last;
  const Nanos done = bounds[limiting].done;
  const Nanos deadline = named.set.tasks[limiting].deadline;
  set_verdict(verdict, proved, named.names[limiting], done, deadline,
              task_named(named.names[limiting]) + " ends after " + (bounds[limiting].settled ? "" : "at least ") +
                  in_ms(done) + " of " + in_ms(deadline) + ": " + stages(bounds[limiting]) +
                  (!proved && done <= deadline ? too_close : ""));
  return verdict;
}

// ---- reservations ----

const std::string reservations_inequality = "sum of Q/d over the reservations of each core <= 0.9";

/// The task whose two reservations take the most of the core.
std::size_t largest_share(const NamedSet& named, std::span<const CpuWindows> windows, unsigned core) {
  const auto share = [&](std::size_t i) {
    const StagedTask& task = named.set.tasks[i];
    if (task.core != core) return 0.0;
    return static_cast<double>(runtime_of(task.before)) / static_cast<double>(windows[i].before) +
           static_cast<double>(runtime_of(task.after)) / static_cast<double>(windows[i].after);
  };
  std::size_t largest = 0;
  for (std::size_t i = 1; i < named.names.size(); ++i)
    if (share(i) > share(largest)) largest = i;
  return largest;
}

/// Sets the verdict on one core for the widest windows that `room` allows.
void set_share(TestVerdict& verdict, const NamedSet& named, const ServiceThread& service, std::span<const Nanos> room,
               unsigned core, const std::string& when) {
  const std::vector<CpuWindows> windows = split_windows(named.set, room);
  const Nanos tasks = reserved_share(named.set, windows, core);
  const Nanos others = service.share_on(core);
  const std::string& limiting = named.names[largest_share(named, windows, core)];
  set_verdict(verdict, tasks + others <= reservable, limiting, tasks + others, reservable,
              "of each second of " + core_named(core) + " the CPU parts reserve " + in_ms(tasks) + ", most of it " +
                  task_named(limiting) +
                  (others > 0 ? std::string(", and the scheduler ") + (service.copy ? "with the copy engines " : "") +
                                    in_ms(others)
                              : "") +
                  ", in the widest windows " + when + "; " + in_ms(reservable) + " can be reserved");
}

/// Why no windows fit: a deadline is too short for its parts, or a core has too little to give.
void set_misfit(TestVerdict& verdict, const NamedSet& named, const ServiceThread& service) {
  for (std::size_t i = 0; i < named.names.size(); ++i) {
    const StagedTask& task = named.set.tasks[i];
    const Nanos longest = std::max(runtime_of(task.before), runtime_of(task.after));
    if (longest > longest_window) {
      verdict.inequality = "Q <= the kernel's longest period";
      return set_verdict(verdict, false, named.names[i], longest, longest_window,
                         "a CPU part of " + task_named(named.names[i]) + " is longer than any reservation");
    }
    const Nanos parts = runtime_of(task.before) + runtime_of(task.after);
    const Nanos device = task.on_device() + named.set.device_delay;
    const Nanos needed = named.set.release_jitter + parts + device;
    if (needed <= task.deadline) continue;
    verdict.inequality = "J + P + C + Q <= D";
    return set_verdict(verdict, false, named.names[i], needed, task.deadline,
                       task_named(named.names[i]) + " needs " + in_ms(parts) + " for its CPU parts and " +
                           in_ms(device) + " on the device, of " + in_ms(task.deadline));
  }
  verdict.inequality = reservations_inequality;
  const std::vector<Nanos> room = room_beside_device(named.set);
  for (const unsigned core : cores_of(named)) {
    TestVerdict share = verdict;
    set_share(share, named, service, room, core, "beside the device parts");
    if (share.slack < verdict.slack) verdict = std::move(share);
  }
  verdict.proved = false;
}

template <class Bounds>
TestVerdict reserved_verdict(const NamedSet& named, const ServiceThread& service, const Reserved<Bounds>& reserved,
                             const std::string& inequality) {
  if (reserved.fits) return decided(named, reserved.bounds, inequality);
  TestVerdict verdict = test("end-to-end", inequality);
  if (!on_compute_core(verdict, named) && !hopeless(verdict, named)) set_misfit(verdict, named, service);
  return verdict;
}

} // namespace

std::string in_ms(Nanos value) {
  if (value < 0) return "-" + in_ms(-value);
  constexpr Nanos millisecond = 1'000'000;
  std::string fraction = std::to_string(millisecond + value % millisecond).substr(1);
  fraction.erase(fraction.find_last_not_of('0') + 1);
  return std::to_string(value / millisecond) + (fraction.empty() ? "" : "." + fraction) + "ms";
}

bool hopeless(const NamedSet& named) {
  TestVerdict verdict;
  return !named.names.empty() && hopeless(verdict, named);
}

TestVerdict demand_verdict(const NamedSet& named, const EdfBounds& bounds) {
  TestVerdict verdict = demand_test(named);
  if (nothing_to_test(verdict, named) || hopeless(verdict, named)) return verdict;
  const Demand& at = bounds.demand.tightest;
  set_verdict(verdict, bounds.demand.proved(), named.names[due_at(bounds, at.instant)], at.instant - at.slack(),
              at.instant, demand_numbers(named, at) + (bounds.demand.settled ? "" : too_close));
  set_place(verdict, at.instant, at.demand, at.blocking, at.blocker ? named.names[*at.blocker] : named.background);
  return verdict;
}

TestVerdict response_verdict(const NamedSet& named) {
  TestVerdict verdict = response_test(named);
  if (nothing_to_test(verdict, named) || hopeless(verdict, named)) return verdict;

  bool proved = true;
  bool examined = true;
  const std::vector<StageBounds> at_release(named.names.size());
  const std::vector<Overlap> overlaps = named.set.overlapped();
  for (std::size_t i = 0; i < named.names.size(); ++i) {
    const StagedTask& task = named.set.tasks[i];
    const DeviceResponse response = static_priority_device(named.set, overlaps, i, at_release, 0);
    const bool late = response.from_release > task.deadline;
    proved = proved && response.settled && !late;
    examined = examined && (response.settled || late);
    if (i > 0 && Duration(task.deadline - response.from_release) >= verdict.slack) continue;
    const Blocker by = blocker_of(named, i);
    std::string explanation = "the device part of " + task_named(named.names[i]) + ", " + in_ms(task.device) +
                              " with its charges" + (task.load > 0 ? " beside a load of " + in_ms(task.load) : "") +
                              ", ends after " + (response.settled ? "" : "at least ") + in_ms(response.from_release) +
                              " of " + in_ms(task.deadline) + blocked(by) + pauses(named);
    set_verdict(verdict, false, named.names[i], response.from_release, task.deadline, std::move(explanation));
    set_place(verdict, task.deadline, Wide{response.from_release} - by.time, by.time, by.task);
  }
  verdict.proved = proved;
  if (!examined) verdict.explanation += too_close;
  return verdict;
}

std::vector<TestVerdict> core_verdicts(const NamedSet& named) {
  const std::vector<FixedPoint> responses = core_responses(named.set);
  std::vector<TestVerdict> verdicts;
  for (const unsigned core : cores_of(named)) verdicts.push_back(core_verdict(named, core, responses));
  return verdicts;
}

TestVerdict end_to_end_verdict(const NamedSet& named, const EdfBounds& bounds) {
  return decided(named, bounds, "R1 <= d1, device demand with deadlines d2, w3 <= d3, d1 + d2 + d3 <= D");
}

TestVerdict end_to_end_verdict(const NamedSet& named, std::span<const StageBounds> bounds) {
  return decided(named, bounds, "R3 = min(R2 + w3, J + W) <= D");
}

std::vector<TestVerdict> core_verdicts(const NamedSet& named, const ServiceThread& service) {
  std::vector<Nanos> room;
  for (const StagedTask& task : named.set.tasks)
    room.push_back(
        std::max(task.deadline - named.set.release_jitter, runtime_of(task.before) + runtime_of(task.after)));
  std::vector<TestVerdict> verdicts;
  for (const unsigned core : cores_of(named)) {
    TestVerdict& verdict = verdicts.emplace_back(test(core_named(core), reservations_inequality));
    if (core != named.compute_core || !on_compute_core(verdict, named))
      set_share(verdict, named, service, room, core, "if the device takes no time");
  }
  return verdicts;
}

TestVerdict end_to_end_verdict(const NamedSet& named, const ServiceThread& service,
                               const Reserved<EdfBounds>& reserved) {
  return reserved_verdict(named, service, reserved,
                          reservations_inequality + ", device demand with deadlines d2, J + d1 + d2 + d3 <= D");
}

TestVerdict end_to_end_verdict(const NamedSet& named, const ServiceThread& service,
                               const Reserved<std::vector<StageBounds>>& reserved) {
  return reserved_verdict(named, service, reserved,
                          reservations_inequality + ", R2 + d3 <= D with jitters J + d1 on the device");
}

} // namespace rtexec::policies
