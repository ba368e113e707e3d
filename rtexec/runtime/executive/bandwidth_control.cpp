#include "rtexec/runtime/executive/bandwidth_control.hpp"

#include "config/base/text.hpp"
#include "traces/emit.hpp"

#include <algorithm>
#include <iterator>
#include <span>

namespace rtexec::executive {

namespace {

/// The upper limit of the closed loop if the board file does not state the bandwidth of a core.
constexpr Bandwidth beyond_any_core{100'000'000'000};

regulation::RegulationObserver to_trace() {
  return {.thread_begins = [](void*) noexcept { traces::prepare_thread(); },
          .budget = [](void*, unsigned core, Instant at, Bytes bytes,
                       Duration period) noexcept { traces::bandwidth_budget(core, at, bytes, period); },
          .throttle_begin = [](void*, unsigned core, Instant at) noexcept { traces::throttle_begin(core, at); },
          .throttle_end = [](void*, unsigned core, Instant at) noexcept { traces::throttle_end(core, at); },
          .lost =
              [](void*, unsigned core) noexcept {
                traces::probe(
                    "bandwidth",
                    ("core " + std::to_string(core) + " is no longer regulated: its counter has stopped").c_str());
              },
          .self = nullptr};
}

policies::BandwidthLoop::Settings loop_settings(const TaskSet& tasks, const Board& board) {
  const bool known = board.memory.core_bandwidth != Bandwidth{};
  return {.slowdown = *tasks.bandwidth.slowdown,
          .start = *tasks.bandwidth.best_effort,
          .floor = tasks.bandwidth.floor,
          .ceiling = known ? board.memory.core_bandwidth : beyond_any_core,
          .kinds = tasks.tasks.size()};
}

Unexpected<Error> refusal(std::span<const std::string> degraded) {
  std::string lines;
  for (const std::string& each : degraded) config::add_line(lines, each);
  return fail(Errc::refused, lines);
}

/// Claims the cores that regulation may throttle, so that no other run uses them. If another run holds such a core, the
/// core is not regulated; if the task set defines a budget for this core, an error is returned.
Result<std::vector<hal::CoreClaim>> claim_cores(regulation::RegulationPlan& plan, const std::set<unsigned>& claimed) {
  std::vector<hal::CoreClaim> claims;
  std::vector<regulation::RegulatedDomain> own;
  for (regulation::RegulatedDomain& domain : plan.domains) {
    std::vector<unsigned> cores;
    if (domain.counter.back_end != CounterBackEnd::thread)
      std::ranges::copy_if(domain.cores, std::back_inserter(cores),
                           [&](unsigned core) { return !claimed.contains(core); });
    auto claim = hal::CoreClaim::take(cores);
    if (!claim && domain.always) return Unexpected(claim.error());
    if (!claim) {
      plan.reasons.push_back("not regulated: " + claim.error().what);
      continue;
    }
    claims.push_back(std::move(*claim));
    own.push_back(std::move(domain));
  }
  plan.domains = std::move(own);
  return claims;
}

} // namespace

BandwidthControl::BandwidthControl(BandwidthLocks locks, const ResolvedSet& set, regulation::RegulationPlan plan)
    : locks_(std::move(locks)), plan_(std::move(plan)) {
  const TaskSet& tasks = set.tasks;
  first_.period = tasks.bandwidth.period;
  first_.limit = tasks.bandwidth.best_effort;
  first_.reasons = plan_.reasons;
  if (!tasks.bandwidth.slowdown) return;
  const policies::BandwidthLoop::Settings settings = loop_settings(tasks, set.board);
  loop_.emplace(settings);
  first_.reasons.push_back("best_effort is set by the closed loop, from " + to_string(settings.floor) + " to " +
                           to_string(settings.ceiling));
}

BandwidthControl::~BandwidthControl() = default;

Result<regulation::RegulationPlan> BandwidthControl::plan(const ResolvedSet& set, const RegulatedRun& run) {
  const TaskSet& tasks = set.tasks;
  const std::vector<unsigned> serving(run.serving.begin(), run.serving.end());
  auto plan = regulation::plan_regulation(tasks, set.board, serving, regulation::regulated(set.machine));
  if (!plan) return Unexpected(plan.error());
  if (!run.proved) plan->degraded.clear();
  if (!plan->degraded.empty() && !tasks.executive.allow_degraded) return refusal(plan->degraded);
  return std::move(*plan);
}

Result<std::unique_ptr<BandwidthControl>> BandwidthControl::start(const ResolvedSet& set, const RegulatedRun& run,
                                                                  regulation::RegulationPlan plan) {
  const TaskSet& tasks = set.tasks;
  auto claims = claim_cores(plan, run.claimed);
  if (!claims) return Unexpected(claims.error());
  auto locks = BandwidthLocks::open();
  if (!locks) return Unexpected(locks.error());
  std::unique_ptr<BandwidthControl> control(new BandwidthControl(std::move(*locks), set, std::move(plan)));
  regulation::RegulationSettings settings{.period = tasks.bandwidth.period,
                                          .rules = {.reclaim = tasks.bandwidth.reclaim,
                                                    .sharing = tasks.bandwidth.sharing,
                                                    .overshoot = tasks.bandwidth.overshoot},
                                          .regulate_while = tasks.bandwidth.regulate_while,
                                          .observer = to_trace()};
  auto regulation = regulation::Regulation::start(control->plan_.domains, settings, control->locks_);
  if (!regulation) return Unexpected(regulation.error());
  control->regulation_ = std::move(*regulation);
  control->claims_ = std::move(*claims);
  if (control->loop_) control->set_limit(control->loop_->limit());
  return control;
}

void BandwidthControl::note_execution(std::uint32_t task, Duration execution) noexcept {
  if (loop_) set_limit(loop_->executed(task, execution));
}

void BandwidthControl::set_limit(Bandwidth limit) noexcept {
  if (limit.bytes_per_second == limit_.load(std::memory_order_relaxed)) return;
  limit_.store(limit.bytes_per_second, std::memory_order_relaxed);
  regulation_->set_limit(limit);
}

BandwidthReport BandwidthControl::report() const {
  BandwidthReport report = first_;
  if (const std::uint64_t limit = limit_.load(std::memory_order_relaxed); limit > 0) report.limit = Bandwidth{limit};
  if (regulation_) report.domains = regulation_->report();
  return report;
}

void BandwidthControl::end() {
  regulation_->end();
  first_ = report();
  regulation_.reset();
}

} // namespace rtexec::executive
