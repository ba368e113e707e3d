// The inputs and outputs of one task of a run: fills its workload's inputs at the beginning of each job, and forwards
// its outputs at the end.
//
// Ownership: it owns its sources and sinks; the workload outlives it. Threads: read() runs on the release thread,
// write() on the completion thread, report() on any.
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

  // Set-up. `name` appears in reports; with an empty name the channel is not reported.
  void add_source(std::size_t input, std::unique_ptr<Source> source, OnStale on_stale, std::string name);
  void add_sink(std::unique_ptr<Sink> sink, std::string name);
  [[nodiscard]] bool asks_program() const noexcept { return static_cast<bool>(callbacks_.on_input); }
  /// Returns true if code on the host reads the bytes of output `output`.
  [[nodiscard]] bool reads(std::size_t output) const;
  /// Sets the reaction to an on_input without a new value. Only the first call has an effect.
  void answer_program(OnStale on_stale) noexcept;

  /// Opens all sources and sinks. Called after the workload is bound.
  [[nodiscard]] Result<> open();
  struct Tried {
    std::string name; // of the input or output, as in reports
    Result<> outcome;
  };
  /// Checks if each input and output that needs resources of the machine would get them. Called instead of open(),
  /// before any workload is bound. The resources are released when this object is destroyed.
  [[nodiscard]] std::vector<Tried> try_out();

  struct Read {
    /// stale: there is no new value, and the job fails; other errors of the sources and of on_input
    Status outcome;
    bool drops = false; // there is no new value, and the job must not be executed
    Instant sampled{};  // the oldest sampling instant of the inputs
    // Counts of the reported inputs, as far as they were read.
    std::uint32_t inputs = 0;
    std::uint32_t stale = 0; // inputs without a new value
  };
  /// The purpose of reading inputs. `measurement` and `rehearsal`, the warm-up, accept stale values. Only `rehearsal`
  /// changes no counters.
  enum class For { job, measurement, rehearsal };
  /// Fills all inputs for job `job`.
  [[nodiscard]] Read read(std::uint64_t job, Instant release, For what) noexcept;
  /// Lets the sources keep up. Returns true if this must be called again, at least once each period. Called on the
  /// release thread, before the first job.
  [[nodiscard]] bool keep_up() noexcept;
  /// Waits until the first source that can release jobs has a new value, or wake() is called. Returns true if there is
  /// a new value; an error if the source failed. Called on the release thread of a task that its inputs release.
  [[nodiscard]] Expected<bool, Errc> await() noexcept;
  /// Returns true if there is a source that can release jobs.
  [[nodiscard]] bool releases() const noexcept { return releasing() != nullptr; }
  /// Returns the number of values of that source that no job could take.
  [[nodiscard]] std::uint64_t passed_over() const noexcept { return releasing()->passed_over(); }
  /// Ends await(). Any thread.
  void wake() noexcept;
  /// Passes the workload's outputs to the sinks and on_output. In the warm-up (`rehearsing`) only on_output gets them.
  /// Returns the number of sinks that dropped them.
  std::uint32_t write(std::uint64_t job, Instant release, Instant sampled, bool rehearsing) noexcept;

  /// Closes the sinks. Called after the last job. Failures of its results are known afterwards, too.
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
    bool untaken = false; // a new value was read for jobs that were then dropped
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
  Input program_; // has no source
  bool program_answered_ = false;
  std::vector<Output> outputs_;
};

} // namespace rtexec::channels
