// Drives the scheduler core for clients in other processes. The dispatcher handles the entries of the clients' rings,
// sends commands and grants, and decides which clients to expel. It uses no socket, no shared memory and no clock.
// Callers pass the time, and a ClientSink executes the decisions. Therefore tests can run the dispatcher on a virtual
// clock.
//
// A place is a client's number at the daemon, and the number of its task in the scheduler core. Clients are not
// trusted. Each entry is checked against the client's grants and commands. An impossible entry counts as a violation,
// and a client with too many violations is expelled. A client is also expelled if it fails to save a chunk, answers a
// command too late, or holds the device for too long. The sink then kills the process of the expelled client, and the
// server calls died() afterwards. Only after died() do other clients get the frames (chunks of device memory) of the
// expelled client. Therefore one client delays other clients at most once, by at most `command_timeout` or
// `stuck_after`.
//
// If a client dies, no job of other clients fails. The pending saves of the dead client count as done, and its pending
// loads count as failed. Its job is withdrawn.
//
// One thread at a time, under a lock of the caller. Only the constructor allocates. All other functions are noexcept,
// and their time is bounded.
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
  violations, // the client sent too many impossible entries
  silent,     // the client did not execute a command in time
  not_saved,  // the client could not save a chunk
  stuck,      // the client held the device for longer than its WCET plus `stuck_after`, while other clients waited
  overrun,    // a job exceeded its WCET, and on_overrun is stop
};

/// The receiver of the dispatcher's decisions. The dispatcher calls these functions under the caller's lock. The
/// functions must not call the dispatcher.
class ClientSink {
 public:
  virtual ~ClientSink() = default;
  /// Pushes a command into the client's ring.
  virtual void command(std::uint32_t place, const protocol::Entry& entry) noexcept = 0;
  /// Writes the verdict on a job into the client's shared state, and wakes the client.
  virtual void verdict(std::uint32_t place, protocol::JobVerdict verdict) noexcept = 0;
  /// Reports that a contract passed to Dispatcher::change() has taken effect.
  virtual void changed(std::uint32_t place) noexcept = 0;
  /// Kills the client's process. The server calls died() afterwards.
  virtual void expel(std::uint32_t place, Expelled why) noexcept = 0;
  /// Reports, after died(), that the scheduler core has no data of the client any more. The place is free.
  virtual void vacant(std::uint32_t place) noexcept = 0;
};

struct DispatcherOptions {
  std::uint32_t places = 32;
  std::uint32_t frames = 0;
  unsigned copy_engines = 1;
  SwapPolicy policy = SwapPolicy::pipelined;
  Duration command_timeout = std::chrono::milliseconds(500); // maximum time for one command
  /// The maximum time beyond a job's WCET for which a client may hold the device while other clients wait.
  Duration stuck_after = std::chrono::seconds(1);
  std::uint32_t max_violations = 100; // violations after which a client is expelled
  /// True if frames are chunks of the daemon. Such frames remain valid after the end of a client that has mapped them.
  bool frames_outlive_clients = false;
  Bytes chunk{}; // size of a chunk, for recordings
};

/// The counters of one client since it connected, and the state of its job.
struct ClientStatistics {
  std::uint64_t jobs = 0, missed = 0, overruns = 0, failed = 0, violations = 0;
  std::uint64_t loaded = 0, saved = 0; // numbers of chunks
  Duration executed{0};                // total execution time of all ended jobs
  Duration longest_execution{0}, longest_response{0};
  protocol::Activity activity{};
  std::uint32_t reserved = 0;
  friend bool operator==(const ClientStatistics&, const ClientStatistics&) = default;
};

class Dispatcher {
 public:
  /// `sink` must outlive the dispatcher.
  Dispatcher(const DispatcherOptions& options, ClientSink& sink);

  // ---- clients ----

  /// Adds a client at `place`. Returns false if the place is not free.
  [[nodiscard]] bool attach(std::uint32_t place, const Contract& contract, Instant now) noexcept;
  /// Replaces the contract of the client at `place` as soon as possible, and then calls ClientSink::changed().
  ///
  /// If the number of slots does not change, the client's job keeps its position, and the change takes effect when the
  /// job ends. If the client gets more slots, a waiting job is interrupted. The job then continues as the client's next
  /// job, from its next release, after all its chunks are mapped. The reason is that the promises to other clients
  /// include delays by the original job only. If `interrupt` is true, a job that holds the device is interrupted in the
  /// same way. The interruption requires that the client's work on the device has ended. If `interrupt` is false, the
  /// change takes effect when the job that holds the device ends.
  ///
  /// Replaces an earlier change that has not taken effect. Returns false if no client is at `place`, or if the client
  /// would lose slots.
  [[nodiscard]] bool change(std::uint32_t place, const Contract& contract, bool interrupt, Instant now) noexcept;
  /// Delays new jobs of the client at `place`, which has asked to declare its period, deadline and WCET. A job that is
  /// requested after this call waits until change() or resume(). The caller must call delays() after hold(). Otherwise
  /// a new job could enter the scheduler core after delays() has returned.
  void hold(std::uint32_t place) noexcept;
  /// Ends the delay by hold() for the client at `place`, if the client's declaration was not admitted.
  void resume(std::uint32_t place, Instant now) noexcept;
  /// Reports that the client's process is ending. From now on its entries are ignored. Its job is withdrawn unless the
  /// job holds the device. If frames outlive clients and the client does not hold the device, other clients get its
  /// frames at once, except frames of its loads in progress.
  void ending(std::uint32_t place, Instant now) noexcept;
  /// Reports that the client's process has ended and its device memory is free.
  void died(std::uint32_t place, Instant now) noexcept;

  // ---- entries of clients ----

  void take(std::uint32_t place, const protocol::Entry& entry, Instant now) noexcept;
  /// Counts a violation that the caller has noticed, such as a broken ring.
  void violated(std::uint32_t place) noexcept;

  // ---- time ----

  /// Returns the instant at which tick() must be called if no other event occurs earlier. Returns nullopt if no call is
  /// needed.
  [[nodiscard]] std::optional<Instant> next_tick() const noexcept;
  void tick(Instant now) noexcept;

  // ---- state ----

  /// Returns the number of quiet instants so far. At a quiet instant, no client has an outstanding job if it has
  /// declared its period, deadline and WCET, or if its declaration may be under way. Also, no chunk is being
  /// transferred for a withdrawn job. Therefore jobs that ended before this instant cannot delay jobs that are released
  /// later (policies/proofs/exchanges.md).
  [[nodiscard]] std::uint64_t quiet_instants() const noexcept { return quiet_instants_; }
  /// True if a job of the present or last client at `place` is in the scheduler core, or was in the scheduler core
  /// after the last quiet instant.
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
    ending, // the process is ending or will be killed; its entries are ignored
    gone,   // the process has ended; its transfers and its job are still in the scheduler core
  };
  enum class Stage : std::uint8_t {
    none,
    early,     // the job was requested before its release
    requested, // the job is in the scheduler core
    granted,
    lingering, // the job has ended, but may continue within Contract::gap
    leaving,   // the job was withdrawn from the scheduler core for a pending change; it continues afterwards
  };
  /// The client with one number at the daemon (its place), together with the client's outstanding job.
  struct Client {
    Presence presence = Presence::nobody;
    bool freed = false;    // true: other clients may get its frames
    bool declares = false; // true from hold() until the client is declared or resume() is called
    bool delays = false;   // result of delays()
    Contract contract;
    std::optional<Contract> next; // contract of a change() that has not taken effect
    // ---- the outstanding job of the client ----
    Stage stage = Stage::none;
    std::uint64_t job = 0;    // number of the client's last job, counted by the client
    std::uint64_t number = 0; // number of the client's last job in the scheduler core; not reset for a new client
    Instant release{}, deadline{}, granted{};
    Instant ended{}, lingers_until{}; // for a job in Stage::lingering: its end, and the limit of its continuation
    /// The instant since which other clients wait for the device that the client holds.
    std::optional<Instant> hurried;
    Instant earliest = Instant::min(); // earliest next release
    ClientStatistics statistics;
    ClientStatistics published; // the statistics that were published last
    JobRecord record;
  };
  /// A transfer whose command has not been answered.
  struct Flight {
    policies::Transfer transfer;
    bool in = false;
    policies::JobId job; // the job that needs the transfer
    Instant since{};
    policies::Action recorded; // the action, with task and job numbers of the recording
  };

  // ---- events of the core, one at a time ----
  void feed(const Event& event) noexcept;
  void obey(const Action& action) noexcept;
  void follow_up() noexcept;
  bool take_change(std::uint32_t place) noexcept;
  [[nodiscard]] bool exchange(std::uint32_t place, const policies::DeviceScheduler::TaskParameters& with) noexcept;

  // ---- jobs ----
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

  // ---- chunks ----
  void order(const Action& action, bool in) noexcept;
  void answered(std::uint32_t place, const protocol::Entry& entry) noexcept;

  // ---- clients ----
  void interrupt(std::uint32_t place) noexcept;
  void reclaim_copies(std::uint32_t place, bool loads) noexcept;
  void expel(std::uint32_t place, Expelled why) noexcept;
  void withdraw(std::uint32_t place) noexcept;
  [[nodiscard]] policies::JobId id(std::uint32_t place) const noexcept { return {place, clients_[place].number}; }
  [[nodiscard]] std::optional<Instant> held_until(const Client& client) const noexcept;

  DispatcherOptions options_;
  ClientSink& sink_;
  policies::DeviceScheduler core_;
  std::vector<Client> clients_;                         // by place
  std::vector<Published<ClientStatistics>> statistics_; // by place
  std::atomic<std::uint32_t> free_frames_;
  std::vector<Flight> flights_; // transfers without an answer; capacity reserved
  MoveRecord moves_;
  std::vector<Event> events_; // events to feed, the oldest first; capacity reserved
  bool feeding_ = false;
  std::uint64_t quiet_instants_ = 0;
  Instant now_{};
};

} // namespace rtexec::daemon
