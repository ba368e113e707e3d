#include "rtexec/runtime/regulation/regulation.hpp"

#include "hal/thread.hpp"
#include "rtexec/runtime/statistics/histogram.hpp"

#include <algorithm>
#include <optional>

namespace rtexec::regulation {
namespace {

using policies::Lines;

/// Increments a counter. Needs no atomic read-modify-write, because only one thread writes each counter.
void increment(std::atomic<std::uint64_t>& counter, std::uint64_t by = 1) noexcept {
  counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
}

std::int64_t ns(Instant at) noexcept { return at.time_since_epoch().count(); }

/// A spin lock between regulating threads, held for some hundred nanoseconds. If each thread has its own core, and all
/// threads have the same FIFO priority, the holder runs while other threads spin. Threads under SCHED_DEADLINE or
/// SCHED_OTHER may share a core. Therefore a thread that has spun for long sleeps, so that the holder can run.
class SpinLock {
 public:
  void lock() noexcept {
    for (unsigned attempt = 1; held_.test_and_set(std::memory_order_acquire); ++attempt)
      if (attempt % longest_spin == 0) hal::sleep_until(hal::now() + pause);
  }
  void unlock() noexcept { held_.clear(std::memory_order_release); }

 private:
  static constexpr unsigned longest_spin = 4096;
  static constexpr Duration pause = std::chrono::microseconds(20);
  std::atomic_flag held_;
};

constexpr Duration shortest_rest = std::chrono::microseconds(100);
constexpr Duration time_paused = std::chrono::milliseconds(20);
constexpr std::uint64_t max_paused = 16;

/// The state that all domains share.
struct Shared {
  Shared(const RegulationSettings& asked, std::span<const policies::BandwidthDomain> domains, BandwidthLocks& page)
      : settings(asked), locks(page), regulator(domains, asked.rules) {}

  [[nodiscard]] bool in_force() const noexcept {
    if (settings.regulate_while == RegulateWhile::always) return true;
    const BandwidthHolders held = locks.holders();
    const Instant since = hal::now() - grace;
    if (held.locks > 0 || held.unlocked > since) return true;
    return settings.regulate_while == RegulateWhile::device_busy && (held.busy > 0 || held.left > since);
  }

  const RegulationSettings settings;
  /// The longest gap, between two jobs or between a copy and the execution after it, during which the device still
  /// counts as working.
  const Duration grace = std::max<Duration>(settings.period / 10, shortest_rest);
  /// The length of a pause, in periods. During a pause, the thread of a domain with little traffic does not wake up at
  /// the ends of periods.
  const std::uint64_t longest_pause =
      std::clamp<std::uint64_t>(static_cast<std::uint64_t>(time_paused / settings.period), 1, max_paused);
  BandwidthLocks& locks;
  SpinLock lock; // protects the regulator
  policies::BandwidthRegulator regulator;
  std::atomic<bool> stopping{false};
  /// The beginning of a period, in ns. All later periods begin an integral number of periods after this instant.
  std::atomic<std::int64_t> grid{0};
  std::atomic<std::int64_t> free_until{0}; // no core is throttled before this instant, in ns
  // The limit of domains without RegulatedDomain::always, in bytes per second; 0: the planned budget
  std::atomic<std::uint64_t> limit{0};
  hal::Signal started;
};

constexpr std::uint64_t lifted = UINT64_MAX; // the value of Shared::limit that means no limit

class Domain {
 public:
  Domain(std::size_t index, const RegulatedDomain& planned, std::unique_ptr<hal::BandwidthCounter> counter,
         Shared& shared)
      : index_(index), planned_(planned), counter_(std::move(counter)), shared_(shared) {}

  [[nodiscard]] const RegulatedDomain& planned() const noexcept { return planned_; }
  [[nodiscard]] hal::BandwidthCounter& counter() noexcept { return *counter_; }

  /// The body of the domain's regulating thread, which reads the counter.
  void regulate() noexcept {
    if (const auto& observer = shared_.settings.observer; observer.thread_begins != nullptr)
      observer.thread_begins(observer.self);
    await_start();
    while (!shared_.stopping.load(std::memory_order_acquire) && !lost_.load(std::memory_order_relaxed)) period();
    if (!lost_.load(std::memory_order_relaxed) && count()) {
      if (paused_ > 1) end_pause();
      store_counts();
    }
    static_cast<void>(counter_->arm(hal::no_limit, hal::no_limit));
    following_.raise();
  }

  /// The body of the threads on the domain's other cores. These threads occupy their cores while the regulating thread
  /// throttles the domain.
  void follow(unsigned core) noexcept {
    for (;;) {
      const std::uint32_t seen = following_.value();
      if (shared_.stopping.load(std::memory_order_acquire)) return;
      while (holding_.load(std::memory_order_acquire) && !shared_.stopping.load(std::memory_order_acquire))
        if (hal::current_core() != core) return; // the thread was moved, because its core went offline
      following_.wait(seen);
    }
  }

  void wake() noexcept { following_.raise(); }
  [[nodiscard]] bool lost() const noexcept { return lost_.load(); }

  [[nodiscard]] DomainReport report() const {
    return {.cores = planned_.cores,
            .counter = counter_->description(),
            .line = planned_.line,
            .budget = planned_.budget,
            .reads = reads_.load(),
            .writes = writes_.load(),
            .periods = periods_.load(),
            .missed_periods = missed_periods_.load(),
            .throttled_periods = throttled_periods_.load(),
            .throttled = Duration(static_cast<Duration::rep>(throttled_.load())),
            .overshoot = overshoot_.percentiles(),
            .late = late_.percentiles(),
            .lost_overflows = counter_->lost_overflows(),
            .lost = lost_.load()};
  }

 private:
  void await_start() noexcept {
    while (shared_.grid.load(std::memory_order_acquire) == 0 && !shared_.stopping.load()) {
      const std::uint32_t seen = shared_.started.value();
      if (shared_.grid.load(std::memory_order_acquire) == 0 && !shared_.stopping.load()) shared_.started.wait(seen);
    }
    grid_ = shared_.grid.load();
    const Instant now = hal::now(); // the first period may have begun before this thread was ready
    end_ = ns(now) < grid_ ? Instant(Duration(grid_)) : next_boundary(now);
  }

  /// Returns the end of the period that contains `now`, by the grid that all domains share.
  Instant next_boundary(Instant now) noexcept {
    grid_ = shared_.grid.load(std::memory_order_acquire);
    const Duration since = now - Instant(Duration(grid_));
    return Instant(Duration(grid_)) + (since / shared_.settings.period + 1) * shared_.settings.period;
  }

  void period() noexcept {
    if (hal::now() < end_) hal::sleep_until(end_);
    const Instant now = hal::now();
    late_.add(now - end_);
    const Instant next = next_boundary(now);
    // The number of period ends since this thread had to wake up; 1 if the thread woke up in time
    const auto ended = static_cast<std::uint64_t>(std::max<std::int64_t>((next - end_) / shared_.settings.period, 1));
    increment(missed_periods_, ended - 1);
    const std::uint64_t planned = std::exchange(paused_, 1);
    end_ = next;
    unthrottled_ = throttled_in_period_ = false;
    if (!std::exchange(counted_at_end_, false) && !count()) return;
    // Traffic before the first period does not count against the budget
    if (periods_.load(std::memory_order_relaxed) == 0) base_ = begin_ = counted_;
    const Lines used = moved_since_begin();
    if (allowed_ != policies::unlimited && allowed_ > 0 && used >= allowed_) overshoot_.add(used - allowed_);
    begin_ = counted_;
    store_counts();
    increment(periods_, planned);
    given_ = begin_period(used, planned + ended - 1);
    const Lines of_pause = pause();
    allow(of_pause > 0 ? of_pause : given_);
    serve();
  }

  /// Begins a pause if the domain has little traffic. Returns the number of cache lines that are allowed during the
  /// pause, or 0 if there is no pause. The reason for pauses is that waking up is the largest cost of regulation. There
  /// is no pause if the limit may change during the run.
  Lines pause() noexcept {
    // An overflow during a pause would stop threads that have no limit
    const bool stops_threads = planned_.counter.back_end == CounterBackEnd::thread && given_ == policies::unlimited;
    if (shared_.longest_pause == 1 || limit_ != 0 || stops_threads) return 0;
    shared_.lock.lock();
    const Lines lines = shared_.regulator.pause(index_, shared_.longest_pause);
    shared_.lock.unlock();
    if (lines == 0) return 0;
    paused_ = shared_.longest_pause;
    end_ += static_cast<Duration::rep>(paused_ - 1) * shared_.settings.period;
    return lines;
  }

  /// Ends a pause early, because the domain has moved more lines than predicted. All traffic since the beginning of the
  /// pause counts in the current period. If no limit was in force before the pause, this traffic counts as at most the
  /// number of lines that were allowed in the pause.
  void end_pause() noexcept {
    if (given_ == policies::unlimited) {
      begin_.reads = std::max(begin_.reads, counted_.reads - std::min(counted_.reads, allowed_));
      begin_.writes = std::max(begin_.writes, counted_.writes - std::min(counted_.writes, allowed_));
    }
    const Instant next = next_boundary(hal::now());
    const auto begun =
        static_cast<std::int64_t>(std::exchange(paused_, 1) - 1) + (next - end_) / shared_.settings.period;
    end_ = next;
    if (begun > 0) {
      increment(periods_, static_cast<std::uint64_t>(begun));
      given_ = begin_period(0, static_cast<std::uint64_t>(begun));
    }
    allowed_ = given_;
    store_counts();
  }

  bool count() noexcept {
    const auto counted = counter_->count();
    if (counted) counted_ = *counted;
    else lose();
    return counted.has_value();
  }

  Lines begin_period(Lines used, std::uint64_t ended) noexcept {
    const bool in_force = planned_.always || shared_.in_force();
    shared_.lock.lock();
    if (const std::uint64_t limit = shared_.limit.load(std::memory_order_relaxed);
        limit != limit_ && !planned_.always) {
      limit_ = limit;
      shared_.regulator.set_budget(index_, limit == lifted
                                               ? policies::unlimited
                                               : policies::lines_of({limit}, planned_.line, shared_.settings.period));
    }
    const Lines given = shared_.regulator.begin_period(index_, used, in_force, ended);
    const Lines budget = shared_.regulator.state(index_).budget;
    shared_.lock.unlock();
    tell_budget(in_force ? budget : policies::unlimited);
    return given;
  }

  void allow(Lines lines) noexcept {
    allowed_ = lines;
    if (!counter_->arm(lines == policies::unlimited ? hal::no_limit : lines, writes_allowed(lines))) lose();
  }

  /// Returns the number of lines moved since the period began. If writes are counted separately, they have the same
  /// budget as reads, and the function returns the larger of the two numbers.
  [[nodiscard]] Lines moved_since_begin() const noexcept {
    return std::max(counted_.reads - begin_.reads, counted_.writes - begin_.writes);
  }
  Lines writes_allowed(Lines lines) const noexcept {
    return !planned_.counter.writes || lines == policies::unlimited ? hal::no_limit : std::max<Lines>(lines, 1);
  }

  /// Handles overflows of the counter until the period ends.
  void serve() noexcept {
    if (allowed_ == 0) ask();
    while (!lost_.load(std::memory_order_relaxed) && !shared_.stopping.load(std::memory_order_acquire) &&
           hal::now() < end_ && !moved()) {
      if (std::exchange(unthrottled_, false)) {
        released();
        continue;
      }
      const auto waited = counter_->wait(end_);
      counted_ = waited.counted;
      switch (waited.wake) {
      case hal::BandwidthCounter::Wake::time: counted_at_end_ = true; return;
      case hal::BandwidthCounter::Wake::lost: return lose();
      case hal::BandwidthCounter::Wake::overflow:
        if (paused_ > 1 && hal::now() >= end_) return overslept();
        ask();
        break;
      }
    }
  }

  /// Handles an overflow during a pause (see pause()) that this thread notices only after the pause, because the kernel
  /// signalled the overflow late or not at all. The traffic then counts in all periods of the pause, instead of only in
  /// the last period.
  void overslept() noexcept {
    counted_at_end_ = true;
    allowed_ = policies::unlimited;
  }

  /// True if another domain has begun a new period for all domains. In this case, ends this domain's period at the
  /// instant when the new period began.
  [[nodiscard]] bool moved() noexcept {
    if (shared_.grid.load(std::memory_order_acquire) == grid_) return false;
    end_ = Instant(Duration(shared_.grid.load(std::memory_order_acquire)));
    return true;
  }

  /// Asks the regulator what to do when all allowed lines are used up. Executes its decision: allows more lines,
  /// throttles, or begins a new period.
  void ask() noexcept {
    if (paused_ > 1) end_pause();
    const Lines used = moved_since_begin();
    using Kind = policies::BandwidthRegulator::Answer::Kind;
    const auto answer = used_up(used);
    switch (answer.kind) {
    case Kind::more:
      if (answer.lines == policies::unlimited) return go_on();
      allowed_ = used + answer.lines;
      if (!counter_->arm(allowed_ - (counted_.reads - begin_.reads),
                         writes_allowed(allowed_ - std::min(allowed_, counted_.writes - begin_.writes))))
        lose();
      return;
    case Kind::hold: return hold();
    case Kind::go_on: shared_.free_until.store(ns(end_), std::memory_order_release); return go_on();
    case Kind::new_period:
      shared_.grid.store(ns(hal::now()), std::memory_order_release);
      end_ = hal::now();
      return;
    }
  }

  policies::BandwidthRegulator::Answer used_up(Lines used) noexcept {
    const bool in_force = planned_.always || shared_.in_force();
    shared_.lock.lock();
    const auto answer = shared_.regulator.used_up(index_, used, in_force);
    shared_.lock.unlock();
    return answer;
  }

  void go_on() noexcept {
    allowed_ = policies::unlimited;
    if (!counter_->arm(hal::no_limit, hal::no_limit)) lose();
  }

  void hold() noexcept {
    const Instant begin = hal::now();
    tell(shared_.settings.observer.throttle_begin, begin);
    if (!std::exchange(throttled_in_period_, true)) increment(throttled_periods_);
    holding_.store(true, std::memory_order_release);
    if (planned_.cores.size() > 1) following_.raise();
    counter_->hold(
        end_, [](void* self) noexcept { return static_cast<Domain*>(self)->may_go_on(); }, this);
    holding_.store(false, std::memory_order_release);
    const Instant end = hal::now();
    increment(throttled_, static_cast<std::uint64_t>((end - begin).count()));
    tell(shared_.settings.observer.throttle_end, end);
    unthrottled_ = true; // if the period has not ended, serve() then calls released()
  }

  /// Continues after throttling that ended before the end of the period. Throttling ends early if the regulator lets
  /// all cores continue without a limit (`free_until`), or if the device is idle, so that the budget is not in force.
  void released() noexcept {
    if (hal::now() < Instant(Duration(shared_.free_until.load(std::memory_order_acquire)))) return go_on();
    if (count()) ask();
  }

  [[nodiscard]] bool may_go_on() noexcept {
    return shared_.stopping.load(std::memory_order_acquire) || shared_.grid.load(std::memory_order_acquire) != grid_ ||
           ns(hal::now()) < shared_.free_until.load(std::memory_order_acquire) ||
           !(planned_.always || shared_.in_force());
  }

  void store_counts() noexcept {
    reads_.store(counted_.reads - base_.reads, std::memory_order_relaxed);
    writes_.store(counted_.writes - base_.writes, std::memory_order_relaxed);
  }

  void lose() noexcept {
    lost_.store(true);
    shared_.lock.lock();
    // Domains that have used up their budgets share spare lines only when no limited domain has lines left. This domain
    // counts no lines any more, so that its budget must be unlimited.
    shared_.regulator.set_budget(index_, policies::unlimited);
    shared_.lock.unlock();
    tell_budget(policies::unlimited);
  }

  void tell(void (*event)(void*, unsigned, Instant) noexcept, Instant at) const noexcept {
    if (event == nullptr) return;
    for (const unsigned core : planned_.cores) event(shared_.settings.observer.self, core, at);
  }

  void tell_budget(Lines budget) noexcept {
    if (told_ == budget) return;
    told_ = budget;
    const auto& observer = shared_.settings.observer;
    if (observer.budget == nullptr) return;
    const Bytes bytes = budget == policies::unlimited ? Bytes{0} : planned_.line * budget;
    for (const unsigned core : planned_.cores)
      observer.budget(observer.self, core, hal::now(), bytes, shared_.settings.period);
  }

  const std::size_t index_;
  const RegulatedDomain planned_;
  std::unique_ptr<hal::BandwidthCounter> counter_;
  Shared& shared_;
  std::int64_t grid_ = 0;
  Instant end_{}; // the end of the current period or pause
  /// The number of periods from the beginning of the current period or pause to `end_`. It is more than 1 in a pause.
  std::uint64_t paused_ = 1;
  /// Counts at the start of regulation, counts at the beginning of the period, and the newest counts.
  hal::TrafficCount base_, begin_, counted_;
  bool counted_at_end_ = false;         // true: `counted_` was read at the end of the period
  Lines given_ = policies::unlimited;   // lines that the regulator allowed at the beginning of this period
  Lines allowed_ = policies::unlimited; // lines that are allowed in this period so far
  Lines told_ = 0;
  bool unthrottled_ = false; // true: the domain was throttled in this period, and is no longer throttled
  bool throttled_in_period_ = false;
  std::uint64_t limit_ = 0;
  std::atomic<bool> holding_{false};
  hal::Signal following_;
  std::atomic<bool> lost_{false};
  std::atomic<std::uint64_t> periods_{0}, throttled_periods_{0}, throttled_{0}, reads_{0}, writes_{0},
      missed_periods_{0};
  Histogram overshoot_; // numbers of lines above the allowed lines
  DurationHistogram late_;
};

class Running final : public Regulation {
 public:
  Running(std::span<const RegulatedDomain> planned, const RegulationSettings& settings, BandwidthLocks& locks)
      : shared_(settings, domains_of(planned, settings.period), locks) {}

  ~Running() override { end(); }

  void end() override {
    shared_.stopping.store(true, std::memory_order_release);
    shared_.started.raise();
    for (const auto& domain : domains_) domain->wake();
    stopped_.raise();
    threads_.clear();
  }

  Result<> open(std::span<const RegulatedDomain> planned) {
    for (std::size_t i = 0; i < planned.size(); ++i) {
      auto counter = shared_.settings.open_counter ? shared_.settings.open_counter(planned[i].counter)
                                                   : hal::open_counter(planned[i].counter);
      if (!counter) return Unexpected(counter.error());
      domains_.push_back(std::make_unique<Domain>(i, planned[i], std::move(*counter), shared_));
    }
    return {};
  }

  Result<> start_threads() {
    std::vector<unsigned> held;
    for (const auto& domain : domains_) {
      const hal::CounterSettings& counter = domain->planned().counter;
      if (counter.back_end == CounterBackEnd::thread) continue;
      held.insert(held.end(), domain->planned().cores.begin(), domain->planned().cores.end());
      if (counter.reads.counted_on)
        held.push_back(*counter.reads.counted_on); // the core on which the kernel signals overflows
    }
    auto raised = hal::OverflowPriority::raise(held, shared_.settings.priority);
    if (!raised) return Unexpected(raised.error());
    overflows_ = std::move(*raised);
    for (const auto& domain : domains_)
      for (const unsigned core : domain->planned().cores)
        if (const auto started = start_thread(*domain, core); !started) return started;
    auto watcher = hal::Thread::start({.name = "regulate-watch", .core = {}, .reservation = {}}, [this] { watch(); });
    if (!watcher) return Unexpected(watcher.error());
    threads_.push_back(std::move(*watcher));
    shared_.grid.store(ns(hal::now() + shared_.settings.period), std::memory_order_release);
    shared_.started.raise();
    return {};
  }

  void set_limit(std::optional<Bandwidth> limit) noexcept override {
    shared_.limit.store(limit ? std::max<std::uint64_t>(limit->bytes_per_second, 1) : lifted,
                        std::memory_order_relaxed);
  }

  std::vector<DomainReport> report() const override {
    std::vector<DomainReport> reports;
    for (const auto& domain : domains_) reports.push_back(domain->report());
    return reports;
  }

  Result<> join(unsigned core) override {
    Domain* domain = domain_of(core);
    return domain == nullptr ? Result<>() : domain->counter().join();
  }

  void leave(unsigned core) noexcept override {
    if (Domain* domain = domain_of(core)) domain->counter().leave();
  }

 private:
  /// Returns the domain of the core, or null if the core is not regulated.
  [[nodiscard]] Domain* domain_of(unsigned core) const noexcept {
    for (const auto& domain : domains_)
      if (std::ranges::find(domain->planned().cores, core) != domain->planned().cores.end()) return domain.get();
    return nullptr;
  }

  static std::vector<policies::BandwidthDomain> domains_of(std::span<const RegulatedDomain> planned, Duration period) {
    std::vector<policies::BandwidthDomain> domains;
    for (const RegulatedDomain& each : planned)
      domains.push_back(
          {.budget = each.budget ? policies::lines_of(*each.budget, each.line, period) : policies::unlimited,
           .always = each.always,
           .donates = each.donates});
    return domains;
  }

  /// Starts a thread of the domain. With CounterBackEnd::thread, counted threads stop themselves, and the regulating
  /// thread need not occupy the core. If real-time priority is then refused, the regulating thread runs without
  /// priority. The only effect is that budgets are granted late.
  Result<> start_thread(Domain& domain, unsigned core) {
    const bool leads = core == domain.planned().cores.front();
    const bool holds = domain.planned().counter.back_end != CounterBackEnd::thread;
    if (!holds && !leads) return {};
    hal::ThreadSettings settings{.name = "regulate-" + std::to_string(core),
                                 .core = core,
                                 .fifo_priority = shared_.settings.priority,
                                 .reservation = {}};
    const auto body = [&domain, leads, core] { leads ? domain.regulate() : domain.follow(core); };
    auto thread = hal::Thread::start(settings, body);
    if (!thread && !holds) {
      settings.fifo_priority = 0;
      settings.core.reset();
      settings.reservation = hal::Reservation{.runtime = shared_.settings.period / 10,
                                              .deadline = shared_.settings.period,
                                              .period = shared_.settings.period};
      thread = hal::Thread::start(settings, body);
    }
    if (!thread && !holds) {
      settings.reservation.reset();
      thread = hal::Thread::start(settings, body);
    }
    if (!thread) return Unexpected(thread.error());
    threads_.push_back(std::move(*thread));
    return {};
  }

  /// The body of a thread without priority, which releases the locks of dead processes and reports failed counters.
  void watch() {
    std::vector<bool> told(domains_.size(), false);
    while (!shared_.stopping.load(std::memory_order_acquire)) {
      const std::uint32_t seen = stopped_.value();
      shared_.locks.forget_dead();
      for (std::size_t i = 0; i < domains_.size(); ++i) {
        if (told[i] || !domains_[i]->lost()) continue;
        told[i] = true;
        const auto& observer = shared_.settings.observer;
        for (const unsigned core : domains_[i]->planned().cores)
          if (observer.lost != nullptr) observer.lost(observer.self, core);
      }
      if (!shared_.stopping.load(std::memory_order_acquire)) stopped_.wait_until(seen, hal::now() + watch_period);
    }
  }

  static constexpr Duration watch_period = std::chrono::milliseconds(500);

  Shared shared_;
  hal::Signal stopped_;
  std::vector<std::unique_ptr<Domain>> domains_;
  hal::OverflowPriority overflows_;
  std::vector<hal::Thread> threads_;
};

} // namespace

Result<std::unique_ptr<Regulation>> Regulation::start(std::span<const RegulatedDomain> domains,
                                                      const RegulationSettings& settings, BandwidthLocks& locks) {
  auto running = std::make_unique<Running>(domains, settings, locks);
  if (const auto opened = running->open(domains); !opened) return Unexpected(opened.error());
  if (const auto started = running->start_threads(); !started) return Unexpected(started.error());
  return running;
}

} // namespace rtexec::regulation
