// Feeds the recorded inputs of the scheduler core to a new instance of the core, and compares each decision of the new
// instance with the recorded decision. Also compares inputs and decisions with the begins and ends that threads and
// engines recorded. Stores the first difference, with the expected decision.
#pragma once

#include "policies/scheduler/device_scheduler.hpp"
#include "traces/analysis/analysis.hpp"
#include "traces/reading/record.hpp"
#include "traces/reading/recorded_setup.hpp"

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace rtexec::traces {

class Replay {
 public:
  explicit Replay(const RunSetup& setup);

  /// Processes a record. Records must come in the order of the recording.
  void see(const Record& record);

  /// Returns the number of frames that hold a chunk or to which a chunk is on its way. Returns nullopt if no memory is
  /// swapped, before the replay begins, and after its end.
  [[nodiscard]] std::optional<std::uint32_t> frames_in_use() const;

  /// Returns the outcome. `whole`: true if the recording contains the run up to its end. `lost`: true if events are
  /// missing from the recording; a difference then proves nothing.
  [[nodiscard]] ReplayAnalysis finish(bool whole, bool lost);

 private:
  void take_request(const Record& record);
  void take_input(const Record& record);
  void take_action(const Record& record);
  void check_cause(const policies::Event& input);
  void expect_start(const policies::Action& action);
  void begin(policies::Action::Kind kind, const Record& record);
  void end(policies::Action::Kind kind, const Record& record);
  void begin_in_the_middle();
  void differ(std::string what);
  [[nodiscard]] std::string task(std::uint32_t index) const;
  [[nodiscard]] std::string text(const policies::Event& event) const;
  [[nodiscard]] std::string text(const policies::Action& action) const;
  [[nodiscard]] std::string text(policies::JobId job) const;
  [[nodiscard]] bool over() const { return !result_.difference.empty() || !result_.not_replayed.empty(); }

  /// The state of one engine: the ordered, the running and the ended executions or transfers.
  struct Engine {
    std::deque<policies::Action> ordered;
    std::optional<policies::Action> under_way;
    std::deque<policies::Event> ended;     // ends that the engine recorded and the core has not received yet
    std::optional<policies::JobId> failed; // the last job that failed on this engine
  };
  [[nodiscard]] Engine& engine(policies::Action::Kind kind) { return engines_[static_cast<std::size_t>(kind)]; }
  [[nodiscard]] Engine& engine_of(policies::Action::Kind kind, policies::JobId job);

  std::vector<std::string> names_;
  std::uint32_t frames_ = 0;
  policies::DeviceScheduler scheduler_;
  std::span<const policies::Action> unrecorded_; // actions of the last input that have not been recorded yet
  std::uint64_t next_input_ = 0;
  bool cut_off_ = false; // true if the end of the run cuts off running work, as in a simulated run
  /// True after the warm-up, of which only decisions are recorded; true from the start if there is no warm-up
  bool released_ = false;
  std::array<Engine, 3> engines_; // execution, copy in, copy out
  Engine secondary_compute_;      // the second compute engine, for executions that co-run with another execution
  /// By task: the number of a job that has ended its first part but has not requested the device yet, and the end of
  /// that part
  std::map<std::uint32_t, std::pair<std::uint64_t, Instant>> ready_;
  struct Request {
    policies::JobId job;
    Instant at{}, deadline{};
  };
  std::optional<Request> requested_;    // the recorded request that the core has not received yet
  std::optional<policies::JobId> left_; // the last job that was dropped or failed, perhaps between two segments
  ReplayAnalysis result_;
};

} // namespace rtexec::traces
