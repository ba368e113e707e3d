// Back end `thread`: all threads of a domain share one budget of events. Each thread that joined has its own counter
// and a share of the budget. When the share is used up, the counter signals its thread. In the signal handler the
// thread takes another share. If the budget is used up, the thread waits there for a new budget.
#include "hal/perf/counters.hpp"
#include "hal/perf/perf_event.hpp"
#include "hal/system.hpp"
#include "hal/thread.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <linux/perf_event.h>
#include <mutex>
#include <unistd.h>

namespace rtexec::hal {
namespace {

constexpr int trap_of_perf = 6; // TRAP_PERF; glibc 2.36 has no name for it

class ThreadCounter;

/// The counter of a thread that registered itself.
struct Meter {
  explicit Meter(PerfEvent opened) : event(std::move(opened)) {}
  const PerfEvent event;
  std::atomic<std::uint64_t> seen{0}; // the number of counted events that were already subtracted from the budget
};

/// The slot of a thread that registered itself with the counter.
struct Member {
  ThreadCounter* counter = nullptr;
  std::atomic<Meter*> meter{nullptr}; // null: free
};

void on_overflow(int signal, siginfo_t* info, void* context);

/// Returns the previous action of SIGTRAP, which handles signals that are not from these counters.
struct sigaction& previous_action() {
  static struct sigaction action {};
  return action;
}

Result<> install_handlers() {
  static const Result<> installed = []() -> Result<> {
    struct sigaction ours {};
    ours.sa_sigaction = on_overflow;
    ours.sa_flags = SA_SIGINFO | SA_RESTART;
    if (::sigaction(SIGTRAP, &ours, &previous_action()) != 0 ||
        ::sigaction(PerfEvent::old_signal(), &ours, nullptr) != 0)
      return call_failed("installing the handler of overflows", errno);
    return {};
  }();
  return installed;
}

Member*& joined() noexcept {
  static thread_local Member* member = nullptr;
  return member;
}

class ThreadCounter final : public BandwidthCounter {
 public:
  static constexpr std::size_t max_members = 64;

  explicit ThreadCounter(const CounterSettings& settings) : settings_(settings) {}
  ~ThreadCounter() override {
    ending_.store(true);
    gate_.raise();
  }

  Status arm(std::uint64_t reads, std::uint64_t) noexcept override {
    Status outcome = settle();
    left_.store(reads == no_limit ? endless : static_cast<std::int64_t>(std::min<std::uint64_t>(reads, endless)),
                std::memory_order_release);
    const std::uint64_t share = share_of(left_.load(std::memory_order_relaxed));
    for (Member& member : members_)
      if (const Meter* meter = member.meter.load(std::memory_order_acquire))
        if (const Status armed = meter->event.arm(share); !armed) outcome = armed;
    gate_.raise();
    return outcome;
  }

  /// Returns all events of the domain. The count never decreases, even if threads leave.
  Expected<TrafficCount, Errc> count() noexcept override {
    if (const Status settled = settle(); !settled) return Unexpected(settled.error());
    return TrafficCount{.reads = counted_.load(std::memory_order_acquire), .writes = 0};
  }

  Waited wait(Instant until) noexcept override {
    const bool told = exhausted_before(until);
    const auto counted = count();
    if (!counted) return {};
    if (!told && left_.load(std::memory_order_acquire) > 0) return {Wake::time, *counted};
    if (!told) ++lost_overflows_;
    return {Wake::overflow, *counted};
  }

  /// Only waits: the threads have already stopped themselves. The next arm() lets the threads continue.
  void hold(Instant until, bool (*over)(void* self) noexcept, void* self) noexcept override {
    const Duration step = std::max(Duration(settings_.period / 20), Duration(20'000));
    for (Instant now = hal::now(); now < until && !over(self); now = hal::now())
      sleep_until(std::min(until, now + step));
  }

  Result<> join() override {
    if (const auto installed = install_handlers(); !installed) return installed;
    auto opened = PerfEvent::open(settings_.reads, std::nullopt, PerfEvent::Tells::signal);
    if (!opened) return Unexpected(opened.error());
    const std::lock_guard guard(joining_);
    const auto place = std::ranges::find_if(members_, [](const Member& each) { return each.meter.load() == nullptr; });
    if (place == members_.end())
      return fail(Errc::out_of_memory,
                  "at most " + std::to_string(max_members) + " threads share the budget of a core");
    Meter& meter = *opened_.emplace_back(std::make_unique<Meter>(std::move(*opened)));
    place->counter = this;
    joined() = &*place; // must precede the first signal
    place->meter.store(&meter, std::memory_order_release);
    if (!meter.event.arm(share_of(left_.load(std::memory_order_acquire))))
      return fail(Errc::io_error, "a thread's counter of " + settings_.reads.name + " cannot be armed");
    return {};
  }

  void leave() noexcept override {
    Member* member = std::exchange(joined(), nullptr);
    if (member == nullptr) return;
    Meter* meter = member->meter.exchange(nullptr, std::memory_order_acq_rel);
    static_cast<void>(meter->event.arm(no_limit));
    static_cast<void>(take_off(*meter));
  }

  std::string description() const override { return "threads: " + settings_.reads.name; }
  std::uint64_t lost_overflows() const noexcept override { return lost_overflows_.load(std::memory_order_relaxed); }

  /// Runs in the signal handler, on the thread that used up its share.
  void used_up(Member& member) noexcept {
    Meter* meter = member.meter.load(std::memory_order_acquire);
    if (meter == nullptr) return;
    static_cast<void>(take_off(*meter));
    for (;;) {
      const std::int64_t left = left_.load(std::memory_order_acquire);
      if (ending_.load()) return;
      if (left > 0) return static_cast<void>(meter->event.arm(share_of(left)));
      const std::uint32_t seen = gate_.value();
      exhausted_.raise();
      if (left_.load(std::memory_order_acquire) > 0) continue;
      // After a timeout: the regulating thread has set no budget for several periods. The thread then continues without
      // a budget, which is better than staying stopped for ever
      if (!gate_.wait_until(seen, hal::now() + timeout * settings_.period))
        return static_cast<void>(meter->event.arm(no_limit));
    }
  }

 private:
  bool exhausted_before(Instant until) noexcept {
    for (;;) {
      const std::uint32_t seen = exhausted_.value();
      if (left_.load(std::memory_order_acquire) <= 0) return true;
      if (!exhausted_.wait_until(seen, until) || hal::now() >= until) return false;
    }
  }

  static constexpr std::int64_t endless = INT64_MAX / 2;
  static constexpr int timeout = 4; // periods

  /// Returns the share of a thread in the remaining budget. A single thread gets the whole budget. With several
  /// threads, each thread gets a quarter of an even share. When a thread has used up its share, it takes another share.
  [[nodiscard]] std::uint64_t share_of(std::int64_t left) const noexcept {
    if (left >= endless / 2) return no_limit;
    const auto active = static_cast<std::uint64_t>(std::ranges::count_if(
        members_, [](const Member& each) { return each.meter.load(std::memory_order_relaxed) != nullptr; }));
    const auto lines = static_cast<std::uint64_t>(std::max<std::int64_t>(left, 1));
    return active <= 1 ? lines : std::max<std::uint64_t>(1, lines / (4 * active));
  }

  /// Subtracts new events of a meter from the budget. The meter's own thread and the regulating thread may call this
  /// concurrently; each event is subtracted once.
  Status take_off(Meter& meter) noexcept {
    const auto counted = meter.event.count();
    if (!counted) return Unexpected(counted.error());
    std::uint64_t before = meter.seen.load(std::memory_order_relaxed);
    while (before < *counted && !meter.seen.compare_exchange_weak(before, *counted, std::memory_order_acq_rel)) {}
    if (before >= *counted) return {};
    left_.fetch_sub(static_cast<std::int64_t>(*counted - before), std::memory_order_acq_rel);
    counted_.fetch_add(*counted - before, std::memory_order_acq_rel);
    return {};
  }

  Status settle() noexcept {
    Status outcome;
    for (Member& member : members_)
      if (Meter* meter = member.meter.load(std::memory_order_acquire))
        if (const Status taken = take_off(*meter); !taken) outcome = taken;
    return outcome;
  }

  CounterSettings settings_;
  std::array<Member, max_members> members_;
  std::mutex joining_; // held only by threads that call join()
  // All meters so far. Meters are deleted only at the end, because the regulating thread may still use the meter of a
  // thread that left
  std::vector<std::unique_ptr<Meter>> opened_;
  std::atomic<std::int64_t> left_{endless}; // the remaining budget
  std::atomic<std::uint64_t> counted_{0};   // events of all threads, including threads that left
  std::atomic<bool> ending_{false};
  Signal gate_;      // threads wait on it for a new budget
  Signal exhausted_; // the regulating thread waits on it for the end of the budget
  std::atomic<std::uint64_t> lost_overflows_{0};
};

void on_overflow(int signal, siginfo_t* info, void* context) {
  const int error = errno;
  if (signal != SIGTRAP || info->si_code == trap_of_perf) {
    if (Member* member = joined()) member->counter->used_up(*member);
  } else if (const auto& previous = previous_action(); (previous.sa_flags & SA_SIGINFO) != 0) {
    previous.sa_sigaction(signal, info, context);
  } else if (previous.sa_handler == SIG_DFL) {
    ::sigaction(SIGTRAP, &previous, nullptr);
    ::raise(SIGTRAP);
  } else if (previous.sa_handler != SIG_IGN) {
    previous.sa_handler(signal);
  }
  errno = error;
}

} // namespace

Result<std::unique_ptr<BandwidthCounter>> open_thread_counter(const CounterSettings& settings) {
  if (settings.writes)
    return fail(Errc::unsupported,
                "counter = \"thread\" counts one event; leave out write_event of the board, or use counter = \"core\"");
  // The event is tried here, on the calling thread. Threads join later, when no error can be reported
  const auto tried = PerfEvent::open(settings.reads, std::nullopt, PerfEvent::Tells::signal);
  if (!tried) return Unexpected(tried.error());
  return std::make_unique<ThreadCounter>(settings);
}

Result<std::unique_ptr<BandwidthCounter>> open_counter(const CounterSettings& settings) {
  return settings.back_end == CounterBackEnd::thread ? open_thread_counter(settings) : open_core_counter(settings);
}

} // namespace rtexec::hal
