// A simulated device and its clients on a virtual clock, around a Dispatcher: two copy engines, frames with contents,
// programs that request jobs, agents that carry out commands. The test fails if a client does not find its own data
// when it executes, or touches a frame that belongs to another one.
#pragma once

#include "rtexec/sharing/daemon/client_admission.hpp"
#include "rtexec/sharing/daemon/dispatcher.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <vector>

namespace rtexec::daemon::test {

/// Returns options with `frames` chunks of 2 MiB, each of which takes 100 us each way, on two copy engines; EDF.
AdmissionOptions admission_options(std::uint32_t frames, std::uint32_t places);

/// How a simulated client behaves.
struct Program {
  /// The least and the longest time from one request to the next. A request waits until the previous job has ended.
  Duration least{0}, longest{0};
  /// The least and the longest execution time of a job.
  Duration quickest{0}, slowest{0};
  bool reports_failed_saves = false;
  bool ignores_commands = false;
  bool never_ends = false;
  bool asks_at_once = false; // its first request comes at once
  bool rests = false;        // sends no request until it becomes another program
};

class SimulatedDevice final : public ClientSink {
 public:
  SimulatedDevice(const DispatcherOptions& options, Duration chunk, std::uint64_t seed);

  void attach(std::uint32_t place, const Contract& contract, const Program& program);
  void change(std::uint32_t place, const Contract& contract, bool interrupt);
  /// Makes the program behave as `program` from its next job on.
  void become(std::uint32_t place, const Program& program) { clients_[place].program = program; }
  [[nodiscard]] bool alive(std::uint32_t place) const { return clients_[place].life != 0; }
  /// Ends the process now, whatever it does.
  void kill(std::uint32_t place);
  void run_until(Instant when);
  [[nodiscard]] Instant now() const { return now_; }
  [[nodiscard]] Dispatcher& dispatcher() { return dispatcher_; }

  struct Seen {
    std::uint64_t executions = 0, loads = 0, saves = 0, changed = 0, hurried = 0, failed = 0;
    std::vector<std::pair<std::uint32_t, Expelled>> expelled;
  };
  Seen seen;
  /// The maximum time until the end of an expelled client's process is noticed.
  Duration dies_within{std::chrono::milliseconds(2)};
  /// Called when a place becomes vacant.
  std::function<void(std::uint32_t)> on_vacant;

  void command(std::uint32_t place, const protocol::Entry& entry) noexcept override;
  void verdict(std::uint32_t place, protocol::JobVerdict verdict) noexcept override;
  void changed(std::uint32_t place) noexcept override;
  void expel(std::uint32_t place, Expelled why) noexcept override;
  void vacant(std::uint32_t place) noexcept override;

 private:
  /// A client's knowledge of its memory.
  struct Slot {
    std::optional<std::uint32_t> frame;
    std::uint64_t written = 0; // the contents that its program wrote last; 0: none yet
    std::uint64_t saved = 0;   // the contents saved on the host
  };
  struct Client {
    std::uint64_t life = 0; // identifies the process; 0: none
    Program program;
    std::vector<Slot> slots;
    std::uint64_t job = 0;
    bool executes = false;
    bool dying = false;
  };
  using Agenda = std::multimap<Instant, std::function<void()>>;

  void at(Instant when, std::function<void()> what) { agenda_.emplace(when, std::move(what)); }
  /// Calls `what` at `when`, unless the process is another one by then.
  void later(std::uint32_t place, Instant when, std::function<void(Client&)> what);
  void say(std::uint32_t place, protocol::EntryKind kind, std::uint32_t slot, std::uint32_t frame, std::uint64_t job,
           bool failed = false);
  void ask(std::uint32_t place);
  void execute(std::uint32_t place);
  void load(std::uint32_t place, std::uint32_t slot, std::uint32_t frame);
  void save(std::uint32_t place, std::uint32_t slot, std::uint32_t frame);
  [[nodiscard]] Duration between(Duration least, Duration most);

  Dispatcher dispatcher_;
  Duration chunk_;
  std::mt19937_64 random_;
  std::vector<Client> clients_;
  struct Frame {
    std::optional<std::uint32_t> owner;
    std::uint64_t contents = 0;
  };
  std::vector<Frame> frames_;
  Agenda agenda_;
  Instant now_{};
  Instant loads_until_{}, saves_until_{};
  std::uint64_t lives_ = 0, stamp_ = 0;
};

} // namespace rtexec::daemon::test
