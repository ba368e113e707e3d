// rtexecd: listens for clients, admits them, and drives the dispatcher with what they say.
//
// Threads: the caller of run() answers set-up messages, one at a time, and notices ends of processes; each client has
// a session's thread; one keeps the dispatcher's time. The dispatcher is under one lock, which each holds for one of
// its functions. Real-time threads are those of sessions and of time.
#pragma once

#include <rtexec/board.hpp>
#include <rtexec/result.hpp>
#include "config/daemon_settings.hpp"
#include "hal/idle_states.hpp"
#include "hal/inheriting_mutex.hpp"
#include "hal/shared_chunks.hpp"
#include "hal/thread.hpp"
#include "rtexec/sharing/daemon/clients.hpp"
#include "rtexec/sharing/daemon/dispatcher.hpp"
#include "rtexec/sharing/daemon/line_limit.hpp"
#include "rtexec/sharing/daemon/metrics.hpp"
#include "rtexec/sharing/daemon/recording.hpp"
#include "rtexec/sharing/daemon/client_session.hpp"
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
  Terms terms;                  // of the settings, settled for the board
  DispatcherOptions dispatcher; // likewise
  protocol::Mode mode = protocol::Mode::shared_chunks;
  int priority = 0; // SCHED_FIFO of its real-time threads; 0: none is asked for
  /// A line for each client that comes, goes, is refused or expelled; may be empty.
  std::function<void(const std::string&)> notice;
};

class Server final : public Outlet, private Session::Listener {
 public:
  /// Makes the chunks, where they are shared, and listens. refused: another daemon listens there, or the directory
  /// cannot be had as it is asked for.
  [[nodiscard]] static Result<std::unique_ptr<Server>> open(ServerOptions options);
  ~Server();

  /// Until stop().
  [[nodiscard]] Result<> run();
  /// Any thread, and a signal handler.
  void stop() noexcept;
  /// Counts up five times a second at least, while run() goes on and nobody holds the dispatcher. Any thread.
  [[nodiscard]] std::uint64_t rounds() const noexcept { return rounds_.load(std::memory_order_relaxed); }

 private:
  /// Who has connected: a client once it has said Hello, otherwise one who looks on.
  struct Peer {
    protocol::Channel channel;
    config::Descriptor process; // a pidfd
    pid_t number = 0;
    uid_t user = 0;
    std::filesystem::path executable;
    config::Descriptor address_space{}; // a client's, as it was when it said Hello; none: it may not be looked at
    std::optional<std::uint32_t> place{};
    std::string name{};
    std::unique_ptr<Session> session{};
    bool gone = false;                 // its socket is closed
    std::optional<Instant> leave_by{}; // where its process lives on
    std::optional<std::uint32_t> growing{};
    bool asks_again = false;                   // was refused for a while, and that was told
    std::optional<std::uint32_t> told_up_to{}; // of the places that it asked for, while its socket takes no more
  };

  explicit Server(ServerOptions options);
  [[nodiscard]] Result<> listen();
  [[nodiscard]] Result<> share();
  [[nodiscard]] Result<> keep_awake();
  [[nodiscard]] Result<> start_clock();

  // The caller's thread
  void accept();
  void hear(Peer& peer);
  void answer(Peer& peer, const protocol::Letter& letter);
  void hello(Peer& peer, const protocol::Hello& said);
  [[nodiscard]] std::optional<std::string> unsupported(const protocol::Hello& said) const;
  [[nodiscard]] Result<> begin_session(Peer& peer, std::uint32_t place);
  [[nodiscard]] protocol::Delivery welcome(Peer& peer);
  void declare(Peer& peer, const protocol::Declare& said);
  void grow(Peer& peer, const protocol::Grow& said);
  void need_frame(Peer& peer, const protocol::NeedFrame& said);
  void tell_status(Peer& peer);
  [[nodiscard]] ServerStatus status();
  void refuse(Peer& peer, protocol::Refusal code, const std::string& why);
  [[nodiscard]] static bool to_be_told(Peer& peer, const Refusal& refusal);
  void look_for_quiet();
  void closed(Peer& peer);
  void ended(Peer& peer);
  void turn_out(Peer& peer);
  void look_after();
  void expelled(Peer& peer, Expelled reason);
  void vacate(Peer& peer);
  void apply_changes(std::optional<std::uint32_t> interrupted);
  [[nodiscard]] Peer* at(std::uint32_t place);
  [[nodiscard]] std::optional<std::string> too_many(const Peer& peer) const;
  void turn_away(Peer& peer, const std::string& why);
  bool tell(const Peer& peer, const std::string& text);
  void tell(const std::string& text) const {
    if (options_.notice) options_.notice(text);
  }

  // Outlet: under lock_
  void command(std::uint32_t place, const protocol::Entry& entry) noexcept override;
  void verdict(std::uint32_t place, protocol::JobVerdict verdict) noexcept override;
  void changed(std::uint32_t place) noexcept override;
  void expel(std::uint32_t place, Expelled why) noexcept override;
  void vacant(std::uint32_t place) noexcept override;
  // Session::Listener: on the sessions' threads
  void said(std::uint32_t place, const protocol::Entry& entry) noexcept override;
  void broken(std::uint32_t place) noexcept override;
  void ending(std::uint32_t place) noexcept override;

  void count_round();
  void keep_time() noexcept;
  template <class Function> void drive(Function function) noexcept;
  void wake() noexcept; // the caller of run()

  /// What the dispatcher tells of a place, for the caller's thread.
  struct Told {
    std::atomic<Session*> session{nullptr};
    std::atomic<int> process{-1};
    std::atomic<bool> changed{false}, vacant{false};
    std::atomic<std::int64_t> ending{0}; // since when, ns
    std::atomic<int> expelled{-1};
  };

  ServerOptions options_;
  std::optional<hal::SharedChunks> chunks_;
  Clients clients_;
  std::vector<Told> told_; // by place
  hal::InheritingMutex lock_;
  Dispatcher dispatcher_;        // under lock_
  bool to_tell_ = false;         // likewise: told_ has news
  std::uint64_t quiet_ = 0;      // instants of the dispatcher's that clients_ knows of
  std::int64_t due_ = INT64_MAX; // when the clock's thread wakes; it alone writes it, under lock_
  config::Descriptor listener_, wakeup_;
  Instant listens_from_{};
  std::vector<std::unique_ptr<Peer>> peers_;
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
