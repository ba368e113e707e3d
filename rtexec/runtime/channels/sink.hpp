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
  /// Checks if open() would succeed. Called instead of open(), possibly without a bound workload. The sink's destructor
  /// releases everything. Absent: it needs no resources.
  [[nodiscard]] virtual std::optional<Result<>> try_out() { return std::nullopt; }
  /// Prepares a job. Called in the first CPU part of each job that will be executed, on the release thread; the rules
  /// of put() hold.
  virtual void begin() noexcept {}
  /// Copies the results that it needs. Called on the task's completion thread, in the last CPU part: no allocation, no
  /// lock, no call that blocks. Returns false if there was no room, and the results are dropped.
  [[nodiscard]] virtual bool put(const OutputJob& results) noexcept = 0;
  /// Warms up with the job before the first one: brings the memory that put() needs into use, and forwards nothing.
  virtual void rehearse(const OutputJob&) noexcept {}
  /// Returns true if put() reads the bytes of output `output`. If no sink does, they need not be filled.
  [[nodiscard]] virtual bool reads(std::size_t) const { return true; }
  /// Forwards all results that were taken, or lets failure() return the reason. Called once, after the last job.
  /// Blocks.
  virtual void close() {}
  /// Returns the number of results that were taken and could not be forwarded. Any thread.
  [[nodiscard]] virtual std::uint64_t lost() const noexcept { return 0; }
  /// Returns the last failure, its place and a remedy; empty: none. Any thread.
  [[nodiscard]] virtual std::string failure() const { return {}; }
};

} // namespace rtexec::channels
