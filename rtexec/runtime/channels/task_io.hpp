// The inputs and outputs of one task of a run: fills its workload's inputs at the begin of each job, and hands its
// outputs on at the end.
//
// Ownership: it owns its sources and sinks; the workload outlives it. Threads: read() on the release thread, write() on
// the completion thread, report() on any.
#pragma once

#include <rtexec/channels.hpp>
#include <rtexec/report.hpp>
#include <rtexec/choices.hpp>
#include <rtexec/workload.hpp>
#include "rtexec/runtime/channels/sink.hpp"
#include "rtexec/runtime/channels/source.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace rtexec::channels {

class TaskIo {
 public:
  TaskIo(std::string task, const Workload& workload, TaskCallbacks callbacks);

  // Set-up. `name`: as reports show it; empty: they do not.
  void add_source(std::size_t input, std::unique_ptr<Source> source, OnStale on_stale, std::string name);
  void add_sink(std::unique_ptr<Sink> sink, std::string name);
  [[nodiscard]] bool asks_program() const noexcept { return static_cast<bool>(callbacks_.on_input); }
  /// Whether somebody on the host looks at the bytes of output `output`.
  [[nodiscard]] bool reads(std::size_t output) const;
  /// What answers where on_input has nothing new: said first, it stays.
  void answer_program(OnStale on_stale) noexcept;

  /// Once the workload is bound.
  [[nodiscard]] Result<> open();
  struct Tried {
    std::string name; // of the input or output, as reports show it
    Result<> outcome;
  };
  /// Instead of open(), before any workload is bound: whether each input and output that asks something of the
  /// machine would be given it. What that took is given back with this.
  [[nodiscard]] std::vector<Tried> try_out();

  struct Read {
    /// stale: nothing new is there, and the job fails; others as of the sources, and of on_input
    Status outcome;
    bool drops = false; // nothing new is there, and the job is not to be executed
    Instant sampled{};  // when the oldest of what was read was so
    // Of the inputs that reports show, so far as they were read.
    std::uint32_t inputs = 0;
    std::uint32_t stale = 0; // had nothing new
  };
  /// What inputs are read for. Of the latter two whatever is there will do, and a rehearsal counts nothing.
  enum class For { job, measurement, rehearsal };
  /// Fills all inputs for job `job`.
  [[nodiscard]] Read read(std::uint64_t job, Instant release, For what) noexcept;
  /// Release thread, before the first job: its sources keep up. Whether they are to do so again, at least each period.
  [[nodiscard]] bool keep_up() noexcept;
  /// Release thread of a task that its inputs release: until the first of its sources that can has something new, or
  /// wake(). Whether it has; an error where it has failed.
  [[nodiscard]] Expected<bool, Errc> await() noexcept;
  /// Whether there is such a source.
  [[nodiscard]] bool releases() const noexcept { return releasing() != nullptr; }
  /// By it: values that no job could take.
  [[nodiscard]] std::uint64_t passed_over() const noexcept { return releasing()->passed_over(); }
  /// Any thread.
  void wake() noexcept;
  /// Hands on what the workload's outputs hold, to nobody but on_output where that is a rehearsal. How many sinks
  /// dropped it.
  std::uint32_t write(std::uint64_t job, Instant release, Instant sampled, bool rehearsing) noexcept;

  /// After the last job: what went wrong with its results is known then, too.
  void close();

  void report(std::vector<ChannelReport>& all) const;

 private:
  struct Counts {
    std::atomic<std::uint64_t> moved{0}, stale{0}, dropped{0};
    std::atomic<int> failure{0}; // the last error's number and one; 0: none
  };
  struct Channel {
    std::string name;
    std::unique_ptr<Counts> counts = std::make_unique<Counts>();
  };
  struct Input : Channel {
    std::size_t tensor = 0;
    std::unique_ptr<Source> source;
    OnStale on_stale = OnStale::reuse;
    bool untaken = false; // what was new for jobs that were then dropped
  };
  struct Output : Channel {
    std::unique_ptr<Sink> sink;
  };

  [[nodiscard]] Source* releasing() const noexcept;
  bool settle(Read& read, Input& input, const Expected<Sample, Errc>& sample, For what) noexcept;
  Expected<Sample, Errc> ask_program(std::uint64_t job, Instant release, Instant sampled) noexcept;

  std::string task_;
  const Workload& workload_;
  TaskCallbacks callbacks_;
  std::vector<Input> inputs_;
  Input program_; // without a source
  bool program_answered_ = false;
  std::vector<Output> outputs_;
};

} // namespace rtexec::channels
