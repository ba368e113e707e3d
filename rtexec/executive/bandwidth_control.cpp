#include "rtexec/executive/bandwidth_control.hpp"

#include "traces/emit.hpp"

namespace rtexec::executive {

namespace {

constexpr Bandwidth beyond_any_core{1'000'000'000'000};

regulation::RegulationObserver to_trace() {
  return {.thread_begins = [](void*) noexcept { traces::prepare_thread(); },
          .budget = [](void*, unsigned core, Instant at, Bytes bytes, Duration period) noexcept { traces::bandwidth_budget(core, at, bytes, period); },
          .throttle_begin = [](void*, unsigned core, Instant at) noexcept { traces::throttle_begin(core, at); },
          .throttle_end = [](void*, unsigned core, Instant at) noexcept { traces::throttle_end(core, at); },
          .lost = [](void*, unsigned core) noexcept { traces::probe("bandwidth", ("core " + std::to_string(core) + " is no longer regulated: its counter counts no more").c_str()); },
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

} // namespace

BandwidthControl::BandwidthControl(BandwidthLocks locks, const TaskSet& tasks, const Board& board, regulation::RegulationPlan plan)
    : locks_(std::move(locks)), plan_(std::move(plan)) {
  first_.period = tasks.bandwidth.period;
  first_.limit = tasks.bandwidth.best_effort;
  first_.reasons = plan_.reasons;
  if (tasks.bandwidth.slowdown) loop_.emplace(loop_settings(tasks, board));
}

BandwidthControl::~BandwidthControl() = default;

Result<std::unique_ptr<BandwidthControl>> BandwidthControl::start(const TaskSet& tasks, const Board& board, const std::set<unsigned>& own) {
  if (!tasks.regulated()) return nullptr;
  const std::vector<unsigned> serving(own.begin(), own.end());
  auto plan = regulation::plan_regulation(tasks, board, serving, regulation::this_machine());
  if (!plan) return std::unexpected(plan.error());
  auto locks = BandwidthLocks::open();
  if (!locks) return std::unexpected(locks.error());
  std::unique_ptr<BandwidthControl> control(new BandwidthControl(std::move(*locks), tasks, board, std::move(*plan)));
  regulation::RegulationSettings settings{.period = tasks.bandwidth.period,
                                          .rules = {.reclaim = tasks.bandwidth.reclaim, .sharing = tasks.bandwidth.sharing, .overshoot = tasks.bandwidth.overshoot},
                                          .regulate_while = tasks.bandwidth.regulate_while,
                                          .observer = to_trace(),
                                          .open_counter = {}};
  auto regulation = regulation::Regulation::start(control->plan_.domains, settings, control->locks_);
  if (!regulation) return std::unexpected(regulation.error());
  control->regulation_ = std::move(*regulation);
  if (control->loop_) control->executed(0, Duration(0));
  return control;
}

void BandwidthControl::executed(std::uint32_t task, Duration execution) noexcept {
  if (!loop_) return;
  const Bandwidth limit = execution > Duration(0) ? loop_->executed(task, execution) : loop_->limit();
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
