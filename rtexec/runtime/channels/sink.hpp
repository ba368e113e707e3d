// The destination of one or more outputs of a task.
#pragma once

#include <rtexec/channels.hpp>

#include <cstddef>
#include <optional>
#include <cstdint>
#include <string>

namespace rtexec::channels {

class Sink {
 public:
  Sink() = default;
  virtual ~Sink() = default;
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;

  /// Acquires the resources that the sink needs. Called once, before the first job, when the workload is bound.
  [[nodiscard]] virtual Result<> open() { return {}; }
  /// Checks whether open() would succeed, and returns its result. Called instead of open(), possibly before the
  /// workload is bound. The destructor releases the resources that try_out() acquired. Returns nullopt if the sink
  /// needs no resources.
  [[nodiscard]] virtual std::optional<Result<>> try_out() { return std::nullopt; }
  /// Prepares a job. Called in the first CPU part of each job that will be executed, on the release thread. The
  /// restrictions of put() apply.
  virtual void begin() noexcept {}
  /// Copies the results that the sink needs. Called on the task's completion thread, in the last CPU part. Must not
  /// allocate, take a lock, or block. Returns false, and drops the results, if the sink's buffers are full.
  [[nodiscard]] virtual bool put(const OutputJob& results) noexcept = 0;
  /// Called instead of put() for the warm-up job. Touches the memory and the code that put() will use, and forwards
  /// nothing.
  virtual void warm_up(const OutputJob&) noexcept {}
  /// Returns true if put() reads the bytes of the output with this number. If no sink reads them, the workload need not
  /// fill them.
  [[nodiscard]] virtual bool reads(std::size_t) const { return true; }
  /// Forwards all results that put() took. If that is impossible, failure() then returns the reason. Called once, after
  /// the last job. May block.
  virtual void close() {}
  /// Returns the number of results that put() took but that could not be forwarded. Any thread.
  [[nodiscard]] virtual std::uint64_t lost() const noexcept { return 0; }
  /// Returns the last failure with its location and a remedy, or an empty text without a failure. Any thread.
  [[nodiscard]] virtual std::string failure() const { return {}; }
};

} // namespace rtexec::channels
