#include "rtexec/studies/simulator/core_supply.hpp"

#include "policies/exact_arithmetic.hpp"

#include <algorithm>

namespace rtexec::simulator {
namespace {

constexpr Instant never = Instant::max();

using policies::Wide;

Wide product(Duration a, Duration b) { return Wide{a.count()} * b.count(); }

} // namespace

// ---- reserved ----

void ReservedCore::Server::begin(Instant now) {
  const bool keeps =
      awake && deadline > now && product(budget, reservation.window) <= product(deadline - now, reservation.runtime);
  if (keeps) return;
  awake = true;
  deadline = now + reservation.window;
  budget = reservation.runtime;
}

/// Replenishes the budget if it is used up and the reservation's deadline has passed.
void ReservedCore::Server::replenish(Instant now) {
  if (budget > Duration(0) || deadline > now) return;
  deadline += reservation.window;
  budget = reservation.runtime;
}

ReservedCore::ReservedCore(std::span<const PlannedTask> tasks, std::span<const InterferenceTask> interference,
                           unsigned core)
    : last_(tasks.size(), false) {
  const auto server = [](const std::optional<CpuReservation>& reservation) {
    return reservation ? std::optional(Server{.reservation = *reservation}) : std::nullopt;
  };
  for (const PlannedTask& task : tasks) {
    before_.push_back(server(task.before_reservation));
    after_.push_back(server(task.after_reservation));
  }
  for (const InterferenceTask& each : interference)
    if (each.core == core) interference_.push_back({.reservation = each.reservation, .since = each.since});
}

void ReservedCore::wake_up(std::uint32_t task, bool last, Instant now) {
  last_[task] = last;
  if (of(task)) of(task)->begin(now);
}

std::optional<std::uint32_t> ReservedCore::choose(std::span<const std::uint32_t> ready, Instant now) {
  running_ = nullptr;
  next_ = never;
  std::optional<std::uint32_t> chosen;
  const auto consider = [&](Server& server, std::optional<std::uint32_t> task) {
    server.replenish(now);
    if (server.budget == Duration(0)) {
      next_ = std::min(next_, server.deadline);
    } else if (running_ == nullptr || server.deadline < running_->deadline) {
      running_ = &server;
      chosen = task;
    }
  };
  for (Server& each : interference_) {
    if (each.since > now) {
      next_ = std::min(next_, each.since);
      continue;
    }
    if (!each.awake) each.begin(now);
    consider(each, std::nullopt);
  }
  for (const std::uint32_t task : ready)
    if (of(task)) consider(*of(task), task);
  if (running_ != nullptr) return chosen;
  const auto rest = std::ranges::find_if(ready, [&](std::uint32_t task) { return !of(task); });
  return rest == ready.end() ? std::nullopt : std::optional(*rest);
}

Instant ReservedCore::changes_at(Instant now) const {
  return running_ == nullptr ? next_ : std::min(next_, now + running_->budget);
}

void ReservedCore::pass(Duration time) {
  if (running_ != nullptr) running_->budget -= time;
}

// ---- regulated ----

RegulatedCore::RegulatedCore(const CoreRegulation& regulation, std::size_t tasks)
    : regulation_(regulation),
      regulator_(std::vector{policies::BandwidthDomain{.budget = regulation.budget, .always = true, .donates = false}},
                 {.overshoot = regulation.overshoot}),
      parts_(tasks),
      grid_(regulation.first_period),
      tick_at_(regulation.first_period) {}

Duration RegulatedCore::time_of(policies::Lines lines) const {
  return lines == policies::unlimited ? Duration::max() : regulation_.line * static_cast<Duration::rep>(lines);
}

void RegulatedCore::wake_up(std::uint32_t task, bool last, Instant) {
  parts_[task] = {.burst = regulation_.burst(task, last)};
}

/// Begins a period. A memory line that is being moved counts towards the period in which its move ends.
void RegulatedCore::begin_period() {
  const policies::Lines lines =
      regulator_.begin_period(0, static_cast<policies::Lines>(moved_ / regulation_.line), true);
  moved_ %= regulation_.line;
  given_ = time_of(lines);
  held_ = lines == 0;
  holds_at_ = never;
  tick_left_ = regulation_.tick;
  grid_ += regulation_.period;
  tick_at_ = grid_ + regulation_.latency();
}

void RegulatedCore::use_up(Instant now) {
  const auto answer = regulator_.used_up(0, static_cast<policies::Lines>(moved_ / regulation_.line), true);
  if (answer.kind == policies::BandwidthRegulator::Answer::Kind::more) given_ += time_of(answer.lines);
  else holds_at_ = now + regulation_.latency();
}

std::optional<std::uint32_t> RegulatedCore::choose(std::span<const std::uint32_t> ready, Instant now) {
  if (now >= tick_at_) begin_period();
  if (!held_ && holds_at_ == never && moved_ >= given_) use_up(now);
  held_ = held_ || now >= holds_at_;
  running_ = tick_left_ > Duration(0) ? Running::tick
             : held_                  ? Running::nobody
             : !ready.empty()         ? Running::part
             : regulation_.greedy     ? Running::greedy
                                      : Running::nobody;
  if (running_ != Running::part) return std::nullopt;
  part_ = ready.front();
  return part_;
}

bool RegulatedCore::moves() const {
  if (running_ != Running::part) return running_ == Running::greedy;
  const auto& [burst, executed] = parts_[part_];
  return executed >= burst.begin && executed < burst.begin + burst.length;
}

Instant RegulatedCore::changes_at(Instant now) const {
  Instant next = held_ ? tick_at_ : std::min(tick_at_, holds_at_);
  if (running_ == Running::tick) next = std::min(next, now + tick_left_);
  if (running_ == Running::part) {
    const auto& [burst, executed] = parts_[part_];
    if (executed < burst.begin) next = std::min(next, now + (burst.begin - executed));
    else if (moves()) next = std::min(next, now + (burst.begin + burst.length - executed));
  }
  if (moves() && holds_at_ == never && given_ != Duration::max()) next = std::min(next, now + (given_ - moved_));
  return next;
}

void RegulatedCore::pass(Duration time) {
  if (moves()) moved_ += time;
  if (running_ == Running::tick) tick_left_ -= time;
  if (running_ == Running::part) parts_[part_].executed += time;
}

} // namespace rtexec::simulator
