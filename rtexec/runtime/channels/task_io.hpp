// The inputs and outputs of one task of a run. Fills the inputs of the task's workload at the beginning of each job,
// and forwards the outputs at its end.
//
// Ownership: a TaskIo owns its sources and sinks, and its workload must outlive it. Threads: read() runs on the release
// thread, write() on the completion thread, report() on any thread.
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

  // The next two functions may be called during set-up only. `name` is the channel's name in reports. If it is empty,
  // the channel is not reported.
  void add_source(std::size_t input, std::unique_ptr<Source> source, OnStale on_stale, std::string name);
  void add_sink(std::unique_ptr<Sink> sink, std::string name);
  [[nodiscard]] bool asks_program() const noexcept { return static_cast<bool>(callbacks_.on_input); }
  /// True if code on the host reads the bytes of the output with this number.
  [[nodiscard]] bool reads(std::size_t output) const;
  /// Sets what happens to a job if the program's on_input callback returns Errc::stale because it has no new value.
  /// Only the first call has an effect.
  void answer_program(OnStale on_stale) noexcept;

  /// Opens all sources and sinks. Called after the workload is bound.
  [[nodiscard]] Result<> open();
  struct Tried {
    std::string name; // the channel's name in reports
    Result<> outcome;
  };
  /// Checks for each source and sink that needs resources of the machine if open() would acquire these resources.
  /// Returns the results. Called instead of open(), before any workload is bound. The destructor releases the
  /// resources.
  [[nodiscard]] std::vector<Tried> try_out();

  struct Read {
    /// If `outcome` is an error, the job fails. The error is `stale` if an input with on_stale = "miss" has no new
    /// value; otherwise it is the error of a source or of on_input.
    Status outcome;
    bool drops = false; // true: an input has no new value, and the job must not be executed
    Instant sampled{};  // the oldest sampling instant of the inputs
    // The number of inputs read. `inputs` and `stale` count only inputs that have a name in reports, which excludes
    // files and noise.
    std::uint32_t inputs = 0;
    std::uint32_t stale = 0; // inputs without a new value
  };
  /// The purpose of reading inputs: for a normal job, for a job that is measured, or for the warm-up (`warm_up`).
  /// Measurements and the warm-up accept stale values. The warm-up changes no counters.
  enum class For { job, measurement, warm_up };
  /// Fills all inputs for job `job`, released at `release`.
  [[nodiscard]] Read read(std::uint64_t job, Instant release, For what) noexcept;
  /// Drops old values of all sources, by Source::keep_up(). Called on the release thread while it waits for the start
  /// of the run. Returns true if it must be called again during this wait, at least once in each period.
  [[nodiscard]] bool keep_up() noexcept;
  /// Waits until the source that releases the task's jobs has a new value, or wake() is called. This source is the
  /// first source that can release jobs. Returns true if there is a new value, or an error if the source failed. Called
  /// on the release thread of a task with trigger = "input".
  [[nodiscard]] Expected<bool, Errc> await() noexcept;
  /// True if there is a source that can release jobs.
  [[nodiscard]] bool releases() const noexcept { return releasing() != nullptr; }
  /// Returns how many values of the source that releases jobs could be used by no job. Requires releases().
  [[nodiscard]] std::uint64_t passed_over() const noexcept { return releasing()->passed_over(); }
  /// Ends await(). Any thread.
  void wake() noexcept;
  /// Passes the workload's outputs to the sinks and on_output. In the warm-up (`warming_up`), only on_output gets the
  /// outputs. Returns the number of sinks that dropped the outputs.
  std::uint32_t write(std::uint64_t job, Instant release, Instant sampled, bool warming_up) noexcept;

  /// Closes the sinks, so that reports include failures with the last results. Called after the last job.
  void close();

  void report(std::vector<ChannelReport>& all) const;

 private:
  struct Counts {
    std::atomic<std::uint64_t> moved{0}, stale{0}, dropped{0};
    std::atomic<int> failure{0}; // the last error's number plus one; 0: none
  };
  struct Channel {
    std::string name;
    std::unique_ptr<Counts> counts = std::make_unique<Counts>();
  };
  struct Input : Channel {
    std::size_t tensor = 0;
    std::unique_ptr<Source> source;
    OnStale on_stale = OnStale::reuse;
    /// True if a new value was read for a job that was then dropped. The value counts as new for the next job.
    bool untaken = false;
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
  Input program_; // the channel of on_input, which has no source
  bool program_answered_ = false;
  std::vector<Output> outputs_;
};

} // namespace rtexec::channels
