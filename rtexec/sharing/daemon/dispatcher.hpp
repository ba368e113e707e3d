// Drives the scheduler core for clients in other processes. Takes the entries of their rings, sends commands and
// grants, and decides which clients to expel. Knows no socket, no memory and no clock: callers pass the time, and an
// Outlet carries out the decisions. So the dispatcher runs on a virtual clock as well.
//
// A place is a client's number at the daemon, and its task number in the core. Clients are not trusted. Each entry is
// checked against the client's grants and commands. An impossible entry counts as a violation, and too many expel the
// client. A client is also expelled if it fails to save a chunk, answers a command too late, or holds the device for
// too long. The outlet then ends its process, and the server calls died() after that. Only then others get its frames.
// So one client delays others by `patience` or `stuck_after` at most, and once.
//
// The death of a client makes no job of others fail: its pending saves count as done, its pending loads as failed, and
// its job is withdrawn.
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

/// The reason for expelling a client.
enum class Expelled : std::uint8_t {
  violations, // it sent too many impossible entries
  silent,     // it did not carry out a command in time
  not_saved,  // it could not save a chunk
  stuck,      // it held the device for longer than its WCET and `stuck_after`, while others waited
  overrun,    // it exceeded its WCET, and on_overrun is stop
};

/// Carries out the dispatcher's decisions. Called under the caller's lock, from the dispatcher's functions; must not
/// call back.
class Outlet {
 public:
  virtual ~Outlet() = default;
  /// Pushes a command into the client's ring.
  virtual void command(std::uint32_t place, const protocol::Entry& entry) noexcept = 0;
  /// Writes a verdict into the client's state, and rings its bell.
  virtual void verdict(std::uint32_t place, protocol::JobVerdict verdict) noexcept = 0;
  /// Reports that a contract passed to change() has taken effect.
  virtual void changed(std::uint32_t place) noexcept = 0;
  /// Ends the client's process; a call of died() follows.
  virtual void expel(std::uint32_t place, Expelled why) noexcept = 0;
  /// Reports, after died(), that no trace of the client is left in the core: the place is free.
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
  /// True if frames are chunks of the daemon, which outlive the clients that map them.
  bool frames_outlive_clients = false;
  Bytes chunk{}; // for recordings
};

/// The counters of one client since it connected, and the state of its job.
struct ClientStatistics {
  std::uint64_t jobs = 0, missed = 0, overruns = 0, failed = 0, violations = 0;
  std::uint64_t loaded = 0, saved = 0; // chunks
  Duration executed{0};                // total of all ended jobs
  Duration longest_execution{0}, longest_response{0};
  protocol::Activity activity{};
  std::uint32_t reserved = 0;
  friend bool operator==(const ClientStatistics&, const ClientStatistics&) = default;
};

class Dispatcher {
 public:
  /// `outlet` must outlive the dispatcher.
  Dispatcher(const DispatcherOptions& options, Outlet& outlet);

  // ---- clients ----

  /// Adds a client at `place`. False: the place is not vacant.
  [[nodiscard]] bool attach(std::uint32_t place, const Contract& contract, Instant now) noexcept;
  /// Replaces the contract of the client at `place` as soon as possible, then calls Outlet::changed(). If the client
  /// keeps its number of slots, its job keeps its turn, and the change takes effect when the job ends. If it gets more,
  /// a waiting job continues as the client's next one, from its next release, once all its chunks are mapped: others
  /// were promised no more than that job. So does a job that holds the device, if `interrupt` says that it has
  /// synchronised; otherwise the change takes effect when it ends. Replaces an earlier change that has not taken
  /// effect. False: no client is at `place`, or it would lose slots.
  [[nodiscard]] bool change(std::uint32_t place, const Contract& contract, bool interrupt, Instant now) noexcept;
  /// Delays jobs of the client at `place`, which may be about to declare itself. A newly requested job waits until
  /// change() or resume(). The caller must read delays() after this call.
  void hold(std::uint32_t place) noexcept;
  /// Ends hold(): the client at `place` has not declared itself.
  void resume(std::uint32_t place, Instant now) noexcept;
  /// Reports that the client's process is ending. Its entries are ignored, and its job is withdrawn unless it holds the
  /// device. If frames outlive clients, and this one does not hold the device, others get its frames at once, except
  /// those of loads under way.
  void ending(std::uint32_t place, Instant now) noexcept;
  /// Reports that the client's process has ended, and that its device memory is free.
  void died(std::uint32_t place, Instant now) noexcept;

  // ---- entries of clients ----

  void take(std::uint32_t place, const protocol::Entry& entry, Instant now) noexcept;
  /// Counts a violation, as after an impossible entry: its ring is broken, for example.
  void violated(std::uint32_t place) noexcept;

  // ---- time ----

  /// Returns when tick() is needed next, if no event comes before; nullopt: not needed.
  [[nodiscard]] std::optional<Instant> next_tick() const noexcept;
  void tick(Instant now) noexcept;

  // ---- state ----

  /// Returns the number of quiet instants so far. At a quiet instant no job is outstanding of a client that is
  /// declared, or may be about to declare itself. No chunk moves for a withdrawn job then. Jobs released later are not
  /// delayed by jobs that ended before (policies/proofs/exchanges.md).
  [[nodiscard]] std::uint64_t quiet_instants() const noexcept { return quiet_instants_; }
  /// True if a job of the client at `place`, present or last, is in the core, or was after the last quiet instant.
  [[nodiscard]] bool delays(std::uint32_t place) const noexcept { return clients_[place].delays; }
  /// Returns the statistics of the client at `place`, as of the last event. Any thread, without the caller's lock.
  [[nodiscard]] ClientStatistics statistics(std::uint32_t place) const noexcept { return statistics_[place].read(); }
  /// Returns the number of free frames of the device. Any thread, without the caller's lock.
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
    ending, // its process is ending, or will be killed: its entries are ignored
    gone,   // its process has ended; its transfers and job in the core still have to end
  };
  enum class Stage : std::uint8_t {
    none,
    early,     // requested before its release
    requested, // in the core
    granted,
    lingering, // it has ended, but keeps the device for a continuation within Contract::gap
    leaving,   // withdrawn from the core for a pending change, after which it continues
  };
  /// The client at one place, and its outstanding job.
  struct Client {
    Presence presence = Presence::nobody;
    bool freed = false;    // others may have its frames
    bool declares = false; // true since hold(), until the client is declared or resume() is called
    bool delays = false;   // the value of delays()
    Contract contract;
    std::optional<Contract> next; // the contract passed to change(), until it takes effect
    // The outstanding job
    Stage stage = Stage::none;
    std::uint64_t job = 0;    // number of the client's last job, as the client counts
    std::uint64_t number = 0; // number of its last job in the core; continues from client to client
    Instant release{}, deadline{}, granted{};
    Instant ended{}, lingers_until{};  // of a lingering job
    std::optional<Instant> hurried;    // since when others wait for the device that it holds
    Instant earliest = Instant::min(); // the earliest next release
    ClientStatistics statistics;
    ClientStatistics published; // the statistics published last
    JobRecord record;
  };
  /// A command that has not been answered.
  struct Flight {
    policies::Transfer transfer;
    bool in = false;
    policies::JobId job; // the job that needs the transfer
    Instant since{};
    policies::Action recorded; // the action with the numbers of tasks and jobs in recordings
  };

  // The core: one event at a time
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
  std::vector<Event> events_; // the events to be fed, the oldest first; capacity reserved
  bool feeding_ = false;
  std::uint64_t quiet_instants_ = 0;
  Instant now_{};
};

} // namespace rtexec::daemon
