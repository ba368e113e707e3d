// rtexecd: listens for clients, admits them, and passes their entries to the dispatcher. A place is the number that a
// client has at the daemon.
//
// Threads: the thread that calls run() is the server's thread. The server's thread answers set-up messages, one at a
// time, and notices the ends of processes. Each client has two threads in the daemon (connection.hpp). The clock's
// thread calls the dispatcher at the instants that the dispatcher requests. Each thread holds the dispatcher's lock for
// one function call. All threads except the server's are real-time threads.
#pragma once

#include <rtexec/board.hpp>
#include <rtexec/result.hpp>
#include "config/daemon_settings.hpp"
#include "hal/idle_states.hpp"
#include "hal/inheriting_mutex.hpp"
#include "hal/shared_chunks.hpp"
#include "hal/thread.hpp"
#include "rtexec/sharing/daemon/client_admission.hpp"
#include "rtexec/sharing/daemon/connection.hpp"
#include "rtexec/sharing/daemon/dispatcher.hpp"
#include "rtexec/sharing/daemon/line_limit.hpp"
#include "rtexec/sharing/daemon/metrics.hpp"
#include "rtexec/sharing/daemon/recording.hpp"
#include "rtexec/sharing/daemon/status.hpp"
#include "rtexec/sharing/protocol/channel.hpp"

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace rtexec::daemon {

struct ServerOptions {
  config::DaemonSettings settings;
  Board board;
  AdmissionOptions admission;   // from the daemon's file, with all defaults for the board
  DispatcherOptions dispatcher; // from the daemon's file too
  protocol::Mode mode = protocol::Mode::shared_chunks;
  int priority = 0; // SCHED_FIFO priority of the real-time threads; 0: none
  /// Receives a log line for each client that connects, ends, is refused or is expelled. May be empty
  std::function<void(const std::string&)> notice;
};

class Server final : public ClientSink, private Connection::Listener {
 public:
  /// Creates the chunks if clients share chunks, and listens on the socket. Returns the errors of listen_in().
  [[nodiscard]] static Result<std::unique_ptr<Server>> open(ServerOptions options);
  ~Server();

  /// Serves clients until stop() is called.
  [[nodiscard]] Result<> run();
  /// Makes run() return. May be called on any thread and in a signal handler.
  void stop() noexcept;
  /// Returns a counter for the heartbeat. The counter increases at least five times a second while run() makes progress
  /// and no other thread blocks the dispatcher's lock. Any thread.
  [[nodiscard]] std::uint64_t rounds() const noexcept { return rounds_.load(std::memory_order_relaxed); }

 private:
  explicit Server(ServerOptions options);
  [[nodiscard]] Result<> listen();
  [[nodiscard]] Result<> share();
  [[nodiscard]] Result<> keep_awake();
  [[nodiscard]] Result<> start_clock();

  // Functions of the server's thread
  void accept();
  void hear(Connection& connection);
  void answer(Connection& connection, const protocol::Letter& letter);
  void hello(Connection& connection, const protocol::Hello& said);
  [[nodiscard]] std::optional<std::string> unsupported(const protocol::Hello& said) const;
  [[nodiscard]] Result<> start_client(Connection& connection, std::uint32_t place);
  [[nodiscard]] protocol::Delivery welcome(Connection& connection);
  void declare(Connection& connection, const protocol::Declare& said);
  void grow(Connection& connection, const protocol::Grow& said);
  void need_frame(Connection& connection, const protocol::NeedFrame& said);
  void tell_status(Connection& connection);
  [[nodiscard]] ServerStatus status();
  void refuse(Connection& connection, protocol::Refusal code, const std::string& why);
  [[nodiscard]] static bool to_be_logged(Connection& connection, const Refusal& refusal);
  void look_for_quiet();
  void closed(Connection& connection);
  void ended(Connection& connection);
  void turn_out(Connection& connection);
  void look_after();
  void expelled(Connection& connection, Expelled reason);
  void vacate(Connection& connection);
  void apply_changes(std::optional<std::uint32_t> interrupted);
  /// Returns the connection of the client at `place`, or null if the place is free.
  [[nodiscard]] Connection* at(std::uint32_t place) const noexcept { return by_place_[place].load(); }
  [[nodiscard]] std::optional<std::string> too_many(const Connection& connection) const;
  void turn_away(Connection& connection, const std::string& why);
  bool tell(const Connection& connection, const std::string& text);
  void tell(const std::string& text) const {
    if (options_.notice) options_.notice(text);
  }

  // Functions of ClientSink: called under `lock_`
  void command(std::uint32_t place, const protocol::Entry& entry) noexcept override;
  void verdict(std::uint32_t place, protocol::JobVerdict verdict) noexcept override;
  void changed(std::uint32_t place) noexcept override;
  void expel(std::uint32_t place, Expelled why) noexcept override;
  void vacant(std::uint32_t place) noexcept override;
  // Functions of Connection::Listener: called on the clients' threads
  void said(std::uint32_t place, const protocol::Entry& entry) noexcept override;
  void broken(std::uint32_t place) noexcept override;
  void ending(std::uint32_t place) noexcept override;

  void count_round();
  void keep_time() noexcept;
  template <class Function> void drive(Function function) noexcept;
  void wake() noexcept; // wakes the server's thread

  ServerOptions options_;
  std::optional<hal::SharedChunks> chunks_;
  ClientAdmission admission_;
  // The connection of the client at each place, or null. Written by the server's thread
  std::vector<std::atomic<Connection*>> by_place_;
  hal::InheritingMutex lock_;
  Dispatcher dispatcher_;        // under lock_
  bool notifies_ = false;        // under `lock_`: a connection has a report for the server's thread
  std::uint64_t quiet_ = 0;      // number of quiet instants (Dispatcher::quiet_instants) that `admission_` knows
  std::int64_t due_ = INT64_MAX; // next wake-up of the clock's thread, its only writer; under lock_
  config::Descriptor listener_, wakeup_;
  Instant listens_from_{};
  std::vector<std::unique_ptr<Connection>> connections_;
  LineLimit lines_;
  Totals totals_;
  Recording recording_;
  std::optional<Metrics> metrics_;
  std::atomic<bool> stopping_{false};
  std::atomic<std::uint64_t> rounds_{0};
  Instant next_round_{};
  hal::ShallowIdle shallow_idle_;
  hal::KeepAwake awake_;
  hal::Signal time_;
  hal::Thread clock_;
};

} // namespace rtexec::daemon
