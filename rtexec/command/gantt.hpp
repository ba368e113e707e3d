// Draws a stretch of a simulated run: one lane for each task (releases, responses, deadlines, misses), one for each core with CPU parts, for the
// device and for each direction of copies. The picture is one SVG file that needs nothing else.
#pragma once

#include "config/plan.hpp"
#include "config/task_set.hpp"
#include "rtexec/simulator/simulator.hpp"

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace rtexec::command {

class Gantt {
 public:
  /// At most so many bars and marks are drawn; the picture ends where they are used up.
  static constexpr std::size_t most_marks = 20'000;

  /// Draws from `from` to `to`. `tasks` and `plan` outlive it.
  Gantt(const TaskSet& tasks, const Plan& plan, Instant from, Instant to);

  void see(const simulator::Step& step);
  void see(const simulator::Stretch& stretch);
  /// `end` of the run.
  [[nodiscard]] std::string svg(Instant end) const;

 private:
  struct Bar {
    std::size_t lane = 0;
    policies::JobId job;
    Instant begin{}, end{};
    std::uint32_t owner = 0; // whose memory moves; whose job it is
  };
  struct Mark {
    enum class Kind : std::uint8_t { release, deadline, miss, dropped };
    Kind kind{};
    policies::JobId job;
    Instant at{};
  };
  struct Lane {
    std::string name;
    double top = 0, height = 0;
  };
  /// What goes on, and since when.
  struct Open {
    policies::JobId job;
    Instant since{};
    std::uint32_t owner = 0;
  };
  class Page;

  [[nodiscard]] std::size_t lane_of_core(unsigned core) const;
  [[nodiscard]] std::size_t lane_of(policies::Action::Kind direction) const { return direction == policies::Action::Kind::copy_in ? device_ + 1 : device_ + 2; }
  [[nodiscard]] bool room();
  void mark(Mark::Kind kind, policies::JobId job, Instant at);
  void add(std::size_t lane, policies::JobId job, Instant begin, Instant end, std::uint32_t owner);
  void end_job(const simulator::Step& step);
  [[nodiscard]] std::vector<Lane> lanes() const;

  const TaskSet& tasks_;
  const Plan& plan_;
  Instant from_, to_;
  std::vector<unsigned> cores_;
  std::size_t device_ = 0; // its lane
  std::vector<Bar> bars_;
  std::vector<Mark> marks_;
  std::vector<std::optional<Open>> jobs_; // by task
  std::optional<Open> execution_;
  std::array<std::optional<Open>, 2> copies_; // by direction
};

} // namespace rtexec::command
