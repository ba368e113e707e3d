#include "policies/bandwidth/bandwidth_budget.hpp"

#include <algorithm>

namespace rtexec::policies {

namespace {

using Kind = BandwidthRegulator::Answer::Kind;
__extension__ typedef unsigned __int128 WideLines;

constexpr WideLines second = 1'000'000'000; // in nanoseconds
constexpr Lines most = unlimited - 1;
constexpr Lines steps = 4; // a domain takes a quarter of its budget from the pool at a time

/// Saturating arithmetic on numbers of lines: a sum or product that is too large becomes `most`.
constexpr Lines sum(Lines a, Lines b) { return a > most - std::min(b, most) ? most : a + b; }
constexpr Lines product(Lines a, std::uint64_t b) {
  return static_cast<Lines>(std::min<WideLines>(WideLines{a} * b, most));
}
constexpr Lines quotient_up(Lines a, std::uint64_t b) { return a / b + (a % b != 0); }

/// Returns (a + b) / 2, rounded up.
constexpr Lines mean(Lines a, Lines b) { return a / 2 + b / 2 + ((a | b) & 1); }

} // namespace

Lines lines_of(Bandwidth bandwidth, Bytes line, Duration period) {
  const WideLines lines =
      WideLines{bandwidth.bytes_per_second} * static_cast<std::uint64_t>(period.count()) / (second * line.count);
  return static_cast<Lines>(std::clamp<WideLines>(lines, 1, most));
}

Bandwidth bandwidth_of(Lines lines, Bytes line, Duration period) {
  const auto nanoseconds = static_cast<std::uint64_t>(period.count());
  const WideLines bytes = WideLines{lines} * line.count;
  const WideLines per_nanosecond = std::min<WideLines>(bytes / nanoseconds, unlimited);
  return {static_cast<std::uint64_t>(
      std::min<WideLines>(per_nanosecond * second + bytes % nanoseconds * second / nanoseconds, unlimited))};
}

// ---- the regulator ----

BandwidthRegulator::BandwidthRegulator(std::span<const BandwidthDomain> domains, const BandwidthRules& rules)
    : domains_(domains.size()), rules_(rules) {
  for (std::size_t i = 0; i < domains.size(); ++i) {
    domains_[i].always = domains[i].always;
    domains_[i].donates = domains[i].donates;
    set_budget(i, domains[i].budget);
    domains_[i].state.budget = domains_[i].next_budget;
  }
}

void BandwidthRegulator::set_budget(std::size_t domain, Lines budget) noexcept {
  domains_[domain].next_budget = std::max<Lines>(budget, 1);
}

Lines BandwidthRegulator::begin_period(std::size_t domain, Lines used, bool in_force, std::uint64_t periods) noexcept {
  Domain& d = domains_[domain];
  end_period(d, used, std::max<std::uint64_t>(periods, 1));
  enter_period(d, std::max<std::uint64_t>(periods, 1));
  give(d, in_force);
  return d.state.given;
}

Lines BandwidthRegulator::pause(std::size_t domain, std::uint64_t periods) const noexcept {
  const Domain& d = domains_[domain];
  const bool alone = !rules_.reclaim && rules_.sharing == BandwidthSharing::none;
  if (!alone || !d.donates || d.state.debt > 0 || d.state.given < d.state.budget || d.state.budget == unlimited)
    return 0;
  const Lines half = d.state.budget / 2;
  return product(d.state.predicted, periods) <= half ? half : 0;
}

void BandwidthRegulator::end_period(Domain& domain, Lines used, std::uint64_t periods) const noexcept {
  State& state = domain.state;
  const Lines next = domain.next_budget;
  if (domain.period == 0) {
    state.predicted = next == unlimited ? 0 : next;
    state.budget = next;
    return;
  }
  if (rules_.overshoot == Overshoot::carry && state.given != unlimited) {
    const Lines allowed = sum(std::max(state.given, domain.own), product(state.budget, periods - 1));
    if (used > allowed) state.debt = sum(state.debt, used - allowed);
  }
  const Lines of_one = quotient_up(used, periods);
  if (state.mispredicted) state.predicted = sum(state.budget, domain.own - std::min(used, domain.own));
  else state.predicted = mean(state.predicted, state.held ? std::max(of_one, state.budget) : of_one);
  if (next != unlimited && state.predicted >= state.budget) state.predicted = std::max(state.predicted, next);
  state.budget = next;
}

void BandwidthRegulator::enter_period(Domain& domain, std::uint64_t periods) noexcept {
  domain.period = std::max(period_, domain.period + periods);
  if (domain.period == period_) return;
  period_ = domain.period;
  pool_ = 0;
}

void BandwidthRegulator::give(Domain& domain, bool in_force) noexcept {
  State& state = domain.state;
  state.held = state.mispredicted = false;
  domain.own = state.given = unlimited;
  if (state.budget == unlimited || !(domain.always || in_force)) return;
  const Lines paid = std::min(state.debt, state.budget);
  state.debt -= paid;
  domain.own = state.given = state.budget - paid;
  state.held = domain.own == 0;
  if (!rules_.reclaim || !domain.donates || state.predicted >= domain.own) return;
  state.given = std::max<Lines>(state.predicted, 1);
  pool_ = sum(pool_, domain.own - state.given);
}

BandwidthRegulator::Answer BandwidthRegulator::used_up(std::size_t domain, Lines used, bool in_force) noexcept {
  Domain& d = domains_[domain];
  State& state = d.state;
  if (!d.always && !in_force) state.given = unlimited;
  if (rules_.reclaim && d.period == period_ && used >= state.given) take_from_pool(d, used);
  if (state.given != unlimited && state.given <= used) return hold(d, used);
  state.held = state.mispredicted = false;
  return {Kind::more, state.given == unlimited ? unlimited : state.given - used};
}

void BandwidthRegulator::take_from_pool(Domain& domain, Lines used) noexcept {
  const auto take = [&](Lines wanted) {
    const Lines taken = std::min({wanted, pool_, most - domain.state.given});
    pool_ -= taken;
    domain.state.given += taken;
  };
  if (domain.state.given < domain.own) take(domain.own - domain.state.given);
  if (domain.state.given > used) return;
  const Lines over = used - domain.state.given;
  if (pool_ > over) take(sum(over, quotient_up(domain.state.budget, steps)));
}

BandwidthRegulator::Answer BandwidthRegulator::hold(Domain& domain, Lines used) noexcept {
  const bool late = domain.period != period_;
  domain.state.held = true;
  domain.state.mispredicted = used < domain.own && !late;
  if (rules_.sharing == BandwidthSharing::none || late || !all_used_up()) return {Kind::hold, 0};
  if (rules_.sharing == BandwidthSharing::proportional) return {Kind::new_period, 0};
  for (Domain& each : domains_) {
    if (each.period != period_) continue;
    each.state.given = unlimited;
    each.state.held = each.state.mispredicted = false;
  }
  return {Kind::go_on, unlimited};
}

bool BandwidthRegulator::all_used_up() const noexcept {
  return std::ranges::all_of(domains_, [&](const Domain& each) {
    if (each.period != period_) return each.next_budget == unlimited;
    return each.state.held || each.state.given == unlimited;
  });
}

// ---- the closed loop ----

namespace {

/// After each `block` executions of a kind of job, its undisturbed time is lowered if at least two of these executions
/// were shorter
constexpr unsigned block = 16;
/// The undisturbed time is lowered only if the executions take less than this fraction of the undisturbed time. A
/// smaller difference counts as noise
constexpr double shorter = 63.0 / 64;
/// After the undisturbed time of a kind of job was lowered, the control loop measures that time again under the lowest
/// limit. The loop does so only if at least this number of executions of all kinds have passed since learning ended
constexpr unsigned relearning = 256;
/// The loop raises the limit only if the slowdown is below 1 + `aim` * (allowed slowdown - 1)
constexpr double aim = 7.0 / 8;
constexpr double deepest_cut = 1.0 / 2; // the smallest factor by which one execution cuts the limit
constexpr double min_cut = 15.0 / 16;   // the largest factor by which one execution cuts the limit
constexpr double steepest = 1.0 / 8;    // the largest increase of the limit in one round, as a share of the limit
/// The largest increase of the limit in one round, as a share of the range between lowest and highest limit
constexpr double longest_step = 1.0 / 32;

double times(Duration execution, Duration undisturbed) {
  return static_cast<double>(execution.count()) / static_cast<double>(undisturbed.count());
}

} // namespace

BandwidthLoop::BandwidthLoop(const Settings& settings) : settings_(settings), kinds_(settings.kinds) {
  settings_.slowdown = std::max(settings.slowdown, 1.0);
  settings_.floor.bytes_per_second = std::max<std::uint64_t>(settings.floor.bytes_per_second, 1);
  settings_.ceiling = std::max(settings.ceiling, settings_.floor);
  limit_ = settings_.floor.bytes_per_second;
  resume_ = std::clamp(settings.start, settings_.floor, settings_.ceiling).bytes_per_second;
}

Bandwidth BandwidthLoop::executed(std::size_t kind, Duration execution) noexcept {
  if (kind >= kinds_.size() || execution <= Duration{0}) return limit();
  Kind& k = kinds_[kind];
  k.last = ++executions_;
  learn(k, execution);
  if (learning_) go_on_learning();
  else if (k.known) control(k, execution);
  else {
    learning_ = true;
    began_ = executions_;
    resume_ = limit_;
    set_limit(0);
  }
  return limit();
}

void BandwidthLoop::Shortest::add(Duration execution) noexcept {
  second = std::min(second, std::max(first, execution));
  first = std::min(first, execution);
  ++count;
}

void BandwidthLoop::learn(Kind& kind, Duration execution) noexcept {
  // The first execution after a change of the limit may have begun before the change, so it is not counted.
  const bool quiet = limit_ == settings_.floor.bytes_per_second && (changed_ == 0 || executions_ - changed_ > 1);
  if (quiet) kind.quiet.add(execution);
  kind.recent.add(execution);
  if (kind.quiet.count == learnt_from) {
    kind.undisturbed = kind.quiet.robust();
    kind.known = true;
    kind.quiet = {};
  }
  if (kind.recent.count == block) {
    if (kind.known && times(kind.recent.robust(), kind.undisturbed) < shorter) {
      kind.undisturbed = kind.recent.robust(); // provisional: these executions may have been disturbed
      kind.known = executions_ - learnt_ < relearning;
      kind.quiet = {};
    }
    kind.recent = {};
  }
}

void BandwidthLoop::go_on_learning() noexcept {
  const bool enough = executions_ - began_ >= learning_window;
  for (Kind& kind : kinds_)
    if (kind.last > 0 && !kind.known) {
      if (!enough) return;
      if (kind.undisturbed == Duration{0}) kind.undisturbed = kind.recent.robust();
      kind.known = true;
    }
  learning_ = false;
  learnt_ = executions_;
  set_limit(static_cast<double>(resume_));
}

void BandwidthLoop::control(Kind& kind, Duration execution) noexcept {
  const double slowdown = times(execution, kind.undisturbed);
  if (slowdown > settings_.slowdown) return cut(slowdown);
  kind.slowdown = std::max(kind.slowdown, slowdown);
  kind.in_round = true;
  double worst = 0;
  for (const Kind& each : kinds_) {
    if (!executes(each)) continue;
    if (!each.in_round) return;
    worst = std::max(worst, each.slowdown);
  }
  raise(worst);
}

void BandwidthLoop::cut(double slowdown) noexcept {
  set_limit(static_cast<double>(limit_) * std::clamp((settings_.slowdown - 1) / (slowdown - 1), deepest_cut, min_cut));
}

void BandwidthLoop::raise(double slowdown) noexcept {
  const double room = 1 + (settings_.slowdown - 1) * aim - slowdown;
  const double range = static_cast<double>(settings_.ceiling.bytes_per_second - settings_.floor.bytes_per_second);
  const double step = std::min(static_cast<double>(limit_) * steepest, range * longest_step);
  // `room`: by how much the slowdown is below the value at which the limit is no longer raised. A round raises the
  // limit by a full step if `room` is at least (allowed slowdown - 1) / 2. With less room, the step shrinks in
  // proportion.
  if (room > 0)
    set_limit(static_cast<double>(limit_) +
              std::max(1.0, step * std::min(1.0, 2 * room / std::max(settings_.slowdown - 1, room))));
  else begin_round();
}

void BandwidthLoop::set_limit(double limit) noexcept {
  const std::uint64_t floor = settings_.floor.bytes_per_second;
  const std::uint64_t ceiling = settings_.ceiling.bytes_per_second;
  const std::uint64_t next =
      limit >= static_cast<double>(ceiling) ? ceiling : std::max(floor, static_cast<std::uint64_t>(limit));
  begin_round();
  if (next == limit_) return;
  limit_ = next;
  changed_ = executions_;
}

void BandwidthLoop::begin_round() noexcept {
  for (Kind& each : kinds_) {
    each.slowdown = 0;
    each.in_round = false;
  }
}

} // namespace rtexec::policies
