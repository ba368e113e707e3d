// The circumstances of each execution of a part: the time since its previous execution, the previous user of its core
// or of the device, concurrent work, and the clock. Counts execution times by each of these factors. The memory does
// not grow with the recording.
#pragma once

#include "traces/analysis/analysis.hpp"
#include "traces/analysis/clock_history.hpp"
#include "traces/analysis/distribution.hpp"
#include "traces/analysis/timeline.hpp"

#include <array>
#include <map>
#include <optional>
#include <rtexec/choices.hpp>
#include <vector>

namespace rtexec::traces {

constexpr std::size_t parts = 3;
[[nodiscard]] std::string_view name(Part part);

/// An execution that has ended.
struct PartExecution {
  policies::JobId job;
  Part part{};
  unsigned core = 0; // the core of a CPU part
  Instant begin{}, end{};
  Duration took{0}; // CPU time of a CPU part, executed time of the device part
};

class Surroundings {
 public:
  /// `setup` must outlive this object.
  explicit Surroundings(const RunSetup& setup) : setup_(setup), accounts_(setup.tasks.size()) {}

  /// Adds an execution. Executions come in the order of their ends, except for small delays between threads. `timeline`
  /// must contain all work that overlaps the execution.
  void add(const PartExecution& execution, const Timeline& timeline);
  void see_clock(const Record& record) { clocks_.see(record); }
  /// Processes a core_stolen record: time that a hypervisor took from a core. The record comes after the executions
  /// that it may concern.
  void see_theft(const Record& record);
  /// Adds an execution that ended without a result. The execution itself is not counted. It is only the previous
  /// execution for the executions after it.
  void add_failed(const PartExecution& execution) { note_end(execution); }

  [[nodiscard]] std::vector<FactorAnalysis> factors_of(std::uint32_t task, Part part) const;
  [[nodiscard]] std::vector<ClockAnalysis> clocks() const { return clocks_.analysis(); }
  [[nodiscard]] std::vector<StolenAnalysis> stolen() const;
  [[nodiscard]] std::uint64_t excesses() const { return excesses_; }
  [[nodiscard]] const std::vector<Excess>& above_wcet() const { return above_wcet_; }

 private:
  using Key = std::uint32_t; // identifies a group
  using Keys = std::array<std::optional<Key>, factors>;
  struct Group {
    Key key = 0;
    std::uint64_t above_wcet = 0;
    DistributionBuilder times;
  };
  /// The executions of one part of a task, counted separately for each factor, and grouped by the value of the factor.
  struct PartAccount {
    std::array<std::vector<Group>, factors> groups;
    std::optional<Instant> last_end;
  };
  struct End {
    std::uint32_t task = 0;
    Part part{};
    Instant at{};
  };

  void note_end(const PartExecution& execution);
  [[nodiscard]] PartAccount& account(std::uint32_t task, Part part);
  [[nodiscard]] Keys keys_of(const PartExecution& execution, const Timeline& timeline);
  void count(const PartExecution& execution, Factor factor, Key key, bool above_wcet);
  [[nodiscard]] Key neighbour_of(const PartExecution& execution) const;
  void keep_excess(const PartExecution& execution, Duration wcet, const Keys& keys);
  [[nodiscard]] std::string group_name(Factor factor, Key key) const;
  [[nodiscard]] FactorAnalysis analysis(Factor factor, const std::vector<Group>& groups) const;

  const RunSetup& setup_;
  Clocks clocks_;
  std::vector<std::array<PartAccount, parts>> accounts_; // by task
  std::optional<End> last_on_device_;
  std::map<unsigned, End> last_on_core_;
  std::uint64_t excesses_ = 0;
  std::vector<Excess> above_wcet_;
  std::vector<PartExecution> exceeding_;     // parallel to above_wcet_
  std::map<std::uint32_t, Duration> stolen_; // by core
};

} // namespace rtexec::traces
