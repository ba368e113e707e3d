// Drives the scheduler core for clients in other processes: takes the entries of their rings, gives them commands and
// grants, and tells who must go. Knows no socket, no memory and no clock: it is told the time, and an Outlet carries
// out what it says, so that it runs on a virtual clock as well.
//
// A place is a client's number at the daemon, and its task number in the core. Nothing that a client says is believed:
// an entry is checked against what the client was granted and ordered to do, and one that is not possible is a
// violation, counted, and too many are the end. A client that is ordered to save a chunk and fails to, that answers too
// late, or that holds the device for too long, is expelled: the outlet ends its process, and says died() when it is no
// more. Only then its frames are others'. So one client delays others by `patience` or `stuck_after` at most, and once.
//
// A client that died is no reason for others to fail: what it was ordered to save counts as saved, what it was loading
// has failed, and its job is withdrawn.
//
// One thread at a time: the caller's lock. Allocates in the constructor only; noexcept afterwards, and bounded.
#pragma once

#include <rtexec/plan.hpp>
#include <rtexec/units.hpp>
#include "policies/scheduler/device_scheduler.hpp"
#include "rtexec/sharing/daemon/contract.hpp"
#include "rtexec/sharing/daemon/published.hpp"
#include "rtexec/sharing/daemon/work_record.hpp"
#include "rtexec/sharing/protocol/messages.hpp"
#include "rtexec/sharing/protocol/ring.hpp"
#include "rtexec/sharing/protocol/segment.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace rtexec::daemon {

/// Why a client is expelled.
enum class Expelled : std::uint8_t {
  violations, // it said what was not possible, too often
  silent,     // it did not carry out a command in time
  not_saved,  // it could not save a chunk
  stuck,      // it held the device for longer than its WCET and `stuck_after`, while others waited
  overrun,    // it exceeded its WCET, and on_overrun is stop
};

/// What the dispatcher asks for. Called under the caller's lock, from within its functions; must not call back.
class Outlet {
 public:
  virtual ~Outlet() = default;
  /// Into the client's ring.
  virtual void command(std::uint32_t place, const protocol::Entry& entry) noexcept = 0;
  /// Into the client's state, whose bell is rung.
  virtual void verdict(std::uint32_t place, protocol::JobVerdict verdict) noexcept = 0;
  /// What change() asked for has come about.
  virtual void changed(std::uint32_t place) noexcept = 0;
  /// The client's process is to end; died() follows.
  virtual void expel(std::uint32_t place, Expelled why) noexcept = 0;
  /// After died(): nothing is left of the client, and the place is free.
  virtual void vacant(std::uint32_t place) noexcept = 0;
};

struct DispatcherOptions {
  std::uint32_t places = 32;
  std::uint32_t frames = 0;
  unsigned copy_engines = 1;
  SwapPolicy policy = SwapPolicy::pipelined;
  Duration patience = std::chrono::milliseconds(500); // for one command
  Duration stuck_after = std::chrono::seconds(1);     // beyond a job's WCET, while others wait
  std::uint32_t max_violations = 100;                 // of one client
  /// Whether frames are chunks of the daemon's, which outlive the client that they were mapped in.
  bool frames_outlive_clients = false;
  Bytes chunk{}; // for recordings
};

/// The counters of one client since it connected, and what its job does.
struct ClientStatistics {
  std::uint64_t jobs = 0, missed = 0, overruns = 0, failed = 0, violations = 0;
  std::uint64_t loaded = 0, saved = 0; // chunks
  Duration executed{0};                // by all jobs that have ended
  Duration longest_execution{0}, longest_response{0};
  protocol::Activity activity{};
  std::uint32_t reserved = 0;
  friend bool operator==(const ClientStatistics&, const ClientStatistics&) = default;
};

class Dispatcher {
 public:
  /// `outlet` must outlive it.
  Dispatcher(const DispatcherOptions& options, Outlet& outlet);

  // ---- who is there ----

  /// Adds a client at `place`. False: the place is not vacant.
  [[nodiscard]] bool attach(std::uint32_t place, const Contract& contract, Instant now) noexcept;
  /// Replaces the contract of the client at `place` as soon as possible, then calls Outlet::changed(). If the client
  /// keeps its number of slots, its job keeps its turn, and the change takes effect when the job ends. If it gets more,
  /// a waiting job continues as the client's next one, from its next release, once all its chunks are mapped: others
  /// were promised no more than that job. So does a job that holds the device, if `interrupt` says that it has
  /// synchronised; otherwise the change takes effect when it ends. Replaces an earlier change that has not taken
  /// effect. False: no client is at `place`, or it would lose slots.
  [[nodiscard]] bool change(std::uint32_t place, const Contract& contract, bool interrupt, Instant now) noexcept;
  /// The client of `place` may be about to declare itself: from now on until change(), or resume(), a job that it asks
  /// for waits. What has to be known of its past is asked for after it.
  void hold(std::uint32_t place) noexcept;
  /// It has not declared itself.
  void resume(std::uint32_t place, Instant now) noexcept;
  /// The client's process is ending: nothing that it says counts, and its job leaves unless it has the device. Where
  /// frames outlive it, and it does not have the device, others get them at once, but for those that it was loading.
  void ending(std::uint32_t place, Instant now) noexcept;
  /// The client's process has ended, and the device's memory of it is free.
  void died(std::uint32_t place, Instant now) noexcept;

  // ---- what they say ----

  void take(std::uint32_t place, const protocol::Entry& entry, Instant now) noexcept;
  /// A ring was broken, a message was none...: as an impossible entry.
  void violated(std::uint32_t place) noexcept;

  // ---- time ----

  /// When tick() is needed next, if nothing happens before; absent: not at all.
  [[nodiscard]] std::optional<Instant> next_tick() const noexcept;
  void tick(Instant now) noexcept;

  // ---- what is so ----

  /// How many quiet instants there were: events after which no job of a client with a declaration is outstanding, nor
  /// one of a client that has declared itself since, and nothing moves for one that was withdrawn. A job that is
  /// released later is delayed by none that ended before (policies/proofs/exchanges.md).
  [[nodiscard]] std::uint64_t quiet_instants() const noexcept { return quiet_instants_; }
  /// True if a job of the client at `place`, present or last, was in the core after the last quiet instant, or is.
  [[nodiscard]] bool delays(std::uint32_t place) const noexcept { return clients_[place].delays; }
  /// Returns the statistics of the client at `place`, as of the last event. Any thread, without the caller's lock.
  [[nodiscard]] ClientStatistics statistics(std::uint32_t place) const noexcept { return statistics_[place].read(); }
  /// Likewise: of the device's frames.
  [[nodiscard]] std::uint32_t free_frames() const noexcept { return free_frames_.load(std::memory_order_relaxed); }
  [[nodiscard]] bool occupied(std::uint32_t place) const noexcept {
    return clients_[place].presence != Presence::nobody;
  }
  [[nodiscard]] const policies::DeviceScheduler::State& state() const noexcept { return core_.state(); }

 private:
  using Event = policies::Event;
  using Action = policies::Action;

  enum class Presence : std::uint8_t {
    nobody,
    here,
    ending, // its process is to end, or does: nothing that it says counts
    gone,   // its process has ended; what it was doing in the core ends
  };
  enum class Stage : std::uint8_t {
    none,
    early,     // it was asked for before its release
    requested, // in the core
    granted,
    lingering, // it has ended, and holds the device for a continuation within Contract::gap
    leaving,   // withdrawn from the core, because a change is to come: it goes on after it
  };
  /// The client at one place, and its outstanding job.
  struct Client {
    Presence presence = Presence::nobody;
    bool freed = false;    // others may have its frames
    bool declares = false; // hold(), until that has come about
    bool delays = false;   // delays()
    Contract contract;
    std::optional<Contract> next; // of change(), until it takes effect
    // The job that is outstanding
    Stage stage = Stage::none;
    std::uint64_t job = 0;    // as the client counts it: the last one
    std::uint64_t number = 0; // as the core does: goes on from client to client
    Instant release{}, deadline{}, granted{};
    Instant ended{}, lingers_until{};  // of a lingering one
    std::optional<Instant> hurried;    // since when others wait for the device that it holds
    Instant earliest = Instant::min(); // the next release
    ClientStatistics statistics;
    ClientStatistics published; // the latest
    JobRecord record;
  };
  /// A command that has not been answered.
  struct Flight {
    policies::Transfer transfer;
    bool in = false;
    policies::JobId job; // that it is for
    Instant since{};
    policies::Action recorded; // as recordings number tasks and jobs
  };

  // The core, one event after the other
  void feed(const Event& event) noexcept;
  void obey(const Action& action) noexcept;
  void follow_up() noexcept;
  bool take_change(std::uint32_t place) noexcept;
  [[nodiscard]] bool exchange(std::uint32_t place, const policies::DeviceScheduler::TaskParameters& with) noexcept;

  // Jobs
  void ask(std::uint32_t place, const protocol::Entry& entry) noexcept;
  void await_release(std::uint32_t place) noexcept;
  void release_due() noexcept;
  void release(std::uint32_t place) noexcept;
  void set_terms(Client& client) noexcept;
  void request(std::uint32_t place) noexcept;
  void grant(std::uint32_t place) noexcept;
  void end(std::uint32_t place, const protocol::Entry& entry) noexcept;
  void finish(std::uint32_t place) noexcept;
  void account(Client& client) noexcept;
  void hurry_holder() noexcept;
  void look_for_quiet() noexcept;
  [[nodiscard]] bool quiet() const noexcept;
  [[nodiscard]] static bool in_core(const Client& client) noexcept;
  [[nodiscard]] static bool held(const Client& client) noexcept;
  void publish(std::uint32_t place) noexcept;
  [[nodiscard]] static Instant deadline_of(const Client& client) noexcept;
  [[nodiscard]] protocol::Activity activity(std::uint32_t place) const noexcept;
  void tell(std::uint32_t place, protocol::Verdict verdict) noexcept;

  // Chunks
  void order(const Action& action, bool in) noexcept;
  void answered(std::uint32_t place, const protocol::Entry& entry) noexcept;

  // Clients
  void interrupt(std::uint32_t place) noexcept;
  void bury(std::uint32_t place, bool loads) noexcept;
  void expel(std::uint32_t place, Expelled why) noexcept;
  void withdraw(std::uint32_t place) noexcept;
  [[nodiscard]] policies::JobId id(std::uint32_t place) const noexcept { return {place, clients_[place].number}; }
  [[nodiscard]] std::optional<Instant> held_until(const Client& client) const noexcept;

  DispatcherOptions options_;
  Outlet& outlet_;
  policies::DeviceScheduler core_;
  std::vector<Client> clients_;                         // by place
  std::vector<Published<ClientStatistics>> statistics_; // by place
  std::atomic<std::uint32_t> free_frames_;
  std::vector<Flight> flights_; // capacity reserved
  MoveRecord moves_;
  std::vector<Event> events_; // to be fed, the oldest first; capacity reserved
  bool feeding_ = false;
  std::uint64_t quiet_instants_ = 0;
  Instant now_{};
};

} // namespace rtexec::daemon
