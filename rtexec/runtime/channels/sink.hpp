// Where the outputs of one task go.
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

  /// Once, before the first job, when the workload is bound: takes what it needs of the machine.
  [[nodiscard]] virtual Result<> open() { return {}; }
  /// Instead of open(), also where no workload is bound: whether it would be given what it asks of the machine. Nothing
  /// is left of that once it is destroyed. Absent: it asks nothing of it.
  [[nodiscard]] virtual std::optional<Result<>> try_out() { return std::nullopt; }
  /// In the first CPU part of each job that is to be executed, on the release thread: as put().
  virtual void begin() noexcept {}
  /// Takes a copy of what it is for. On the completion thread of the task, in the last CPU part: no allocation, no
  /// lock, no call that blocks. False: there was no room, the results are dropped.
  [[nodiscard]] virtual bool put(const OutputJob& results) noexcept = 0;
  /// Of the job before the first: what put() needs is in memory then, and nothing was handed on.
  virtual void rehearse(const OutputJob&) noexcept {}
  /// Whether put() looks at the bytes of output `output`: they need not be filled else.
  [[nodiscard]] virtual bool reads(std::size_t) const { return true; }
  /// Once, after the last job: what was taken is handed on, or failure() says why not. Blocks.
  virtual void close() {}
  /// How many of those that it took it could not hand on. Any thread.
  [[nodiscard]] virtual std::uint64_t lost() const noexcept { return 0; }
  /// What went wrong last, where and what to do; empty: nothing. Any thread.
  [[nodiscard]] virtual std::string failure() const { return {}; }
};

} // namespace rtexec::channels
