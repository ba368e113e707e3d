// Back ends `core` and `polling`: a counter of all threads of a core, and a thread of high priority that holds the
// core. Holding a core means keeping other work off the core.
#include "config/counter_events.hpp"
#include "hal/perf/counters.hpp"
#include "hal/perf/perf_event.hpp"
#include "hal/system.hpp"
#include "hal/thread.hpp"

#include <algorithm>
#include <array>
#include <poll.h>

namespace rtexec::hal {
namespace {

class CoreCounter final : public BandwidthCounter {
 public:
  CoreCounter(const CounterSettings& settings, PerfEvent reads, std::optional<PerfEvent> writes)
      : settings_(settings), reads_(std::move(reads)), writes_(std::move(writes)) {}

  Status arm(std::uint64_t reads, std::uint64_t writes) noexcept override {
    if (elsewhere_.load(std::memory_order_relaxed)) return Unexpected(Errc::io_error);
    const TrafficCount last{.reads = last_reads_.load(std::memory_order_relaxed),
                            .writes = last_writes_.load(std::memory_order_relaxed)};
    limit_ = {.reads = beyond(last.reads, reads), .writes = beyond(last.writes, writes)};
    return polling() ? Status() : be_told(last);
  }

  Expected<TrafficCount, Errc> count() noexcept override {
    if (elsewhere_.load(std::memory_order_relaxed)) return Unexpected(Errc::io_error);
    // `held_` is read before the counter, so that `reads` includes all events that `held` includes
    const std::uint64_t held = held_.load(std::memory_order_acquire);
    const auto reads = reads_.count();
    const auto writes = writes_ ? writes_->count() : 0;
    if (!reads || !writes) return Unexpected(Errc::io_error);
    last_reads_.store(*reads - held, std::memory_order_relaxed);
    last_writes_.store(*writes, std::memory_order_relaxed);
    return TrafficCount{.reads = *reads - held, .writes = *writes};
  }

  Waited wait(Instant until) noexcept override {
    if (limit_.reads == no_limit && limit_.writes == no_limit) return wait_without_limit(until);
    for (;;) {
      const Instant now = hal::now();
      const Instant wakes = polling() ? std::min(until, now + settings_.period / settings_.polls) : until;
      const bool told = now < wakes && sleep(wakes - now);
      if (!here()) return {};
      const auto counted = count();
      if (!counted) return {};
      reads_.clear();
      if (writes_) writes_->clear();
      if (counted->reads >= limit_.reads || counted->writes >= limit_.writes) {
        if (!told && !polling()) lost_overflows_.fetch_add(1, std::memory_order_relaxed);
        return {Wake::overflow, *counted};
      }
      if (hal::now() >= until) return {Wake::time, *counted};
      if (!polling() && !be_told(*counted)) return {};
    }
  }

  void hold(Instant until, bool (*over)(void* self) noexcept, void* self) noexcept override {
    if (config::meaning_of(settings_.reads.name) != config::EventMeaning::time) return spin(until, over, self);
    // The event counts time, so the spinning causes events that are not traffic. An overflow by these events must not
    // interrupt the spinning
    told_at_.reads = no_limit;
    static_cast<void>(reads_.arm(no_limit));
    const auto before = reads_.count();
    spin(until, over, self);
    if (const auto after = reads_.count(); before && after)
      held_.fetch_add(*after - *before, std::memory_order_release);
  }

  std::string description() const override {
    return std::string(polling() ? "polled: " : "core: ") + settings_.reads.name +
           (settings_.writes ? " and " + settings_.writes->name : "");
  }
  std::uint64_t lost_overflows() const noexcept override { return lost_overflows_.load(std::memory_order_relaxed); }

 private:
  [[nodiscard]] bool polling() const noexcept { return settings_.back_end == CounterBackEnd::polling; }
  static std::uint64_t beyond(std::uint64_t count, std::uint64_t more) noexcept {
    return more > no_limit - count ? no_limit : count + more;
  }

  /// Spins until `over(self)` is true or until `until`. If the core goes offline, the kernel moves this thread to
  /// another core, and the spinning stops.
  void spin(Instant until, bool (*over)(void* self) noexcept, void* self) noexcept {
    while (hal::now() < until && !over(self)) {
      if (!here()) return elsewhere_.store(true, std::memory_order_relaxed);
      pause_core();
    }
  }
  [[nodiscard]] bool here() const noexcept { return current_core() == settings_.core; }

  /// Arms the kernel's notifications for both limits. A notification that comes too early costs one reading of the
  /// counts. A pending notification at or below the limit stays unchanged.
  Status be_told(const TrafficCount& now) noexcept {
    if (const Status told = be_told(reads_, now.reads, limit_.reads, told_at_.reads); !told) return told;
    return writes_ ? be_told(*writes_, now.writes, limit_.writes, told_at_.writes) : Status();
  }
  static Status be_told(const PerfEvent& event, std::uint64_t now, std::uint64_t limit,
                        std::uint64_t& told_at) noexcept {
    const bool reached = limit <= now; // the caller reads the counts at once
    const bool pending = told_at > now && told_at <= limit;
    if (reached || pending) return {};
    told_at = limit;
    return event.arm(limit == no_limit ? no_limit : limit - now);
  }

  Waited wait_without_limit(Instant until) noexcept {
    sleep_until(until);
    const auto counted = here() ? count() : Unexpected(Errc::io_error);
    return counted ? Waited{Wake::time, *counted} : Waited{};
  }

  /// Sleeps until an overflow or a timeout. Returns true if the kernel signalled an overflow. The signal may belong to
  /// an earlier overflow, so only the counts decide.
  bool sleep(Duration at_most) noexcept {
    const timespec timeout{.tv_sec = at_most.count() / 1'000'000'000, .tv_nsec = at_most.count() % 1'000'000'000};
    std::array<pollfd, 2> files{
        pollfd{.fd = polling() ? -1 : reads_.file(), .events = POLLIN, .revents = 0},
        pollfd{.fd = writes_ && !polling() ? writes_->file() : -1, .events = POLLIN, .revents = 0}};
    return sys().ppoll(files.data(), files.size(), &timeout) > 0;
  }

  CounterSettings settings_;
  PerfEvent reads_;
  std::optional<PerfEvent> writes_;
  std::atomic<std::uint64_t> last_reads_{0}, last_writes_{0}; // last result of count(), on any thread
  std::atomic<std::uint64_t> held_{0};                        // events of `reads` that were caused by holding the core
  TrafficCount limit_{.reads = no_limit, .writes = no_limit}; // counts at which wait() returns
  // The count at which the kernel sends its next notification; no_limit: no notification is pending
  TrafficCount told_at_{.reads = no_limit, .writes = no_limit};
  std::atomic<bool> elsewhere_{false}; // the holding thread was moved to another core
  std::atomic<std::uint64_t> lost_overflows_{0};
};

} // namespace

Result<std::unique_ptr<BandwidthCounter>> open_core_counter(const CounterSettings& settings) {
  const auto tells = settings.back_end == CounterBackEnd::polling ? PerfEvent::Tells::nothing : PerfEvent::Tells::poll;
  auto reads = PerfEvent::open(settings.reads, settings.core, tells);
  if (!reads) return Unexpected(reads.error());
  std::optional<PerfEvent> writes;
  if (settings.writes) {
    auto opened = PerfEvent::open(*settings.writes, settings.core, tells);
    if (!opened) return Unexpected(opened.error());
    writes = std::move(*opened);
  }
  return std::make_unique<CoreCounter>(settings, std::move(*reads), std::move(writes));
}

} // namespace rtexec::hal
