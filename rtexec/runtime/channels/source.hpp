// Where the values of one input tensor come from.
#pragma once

#include <rtexec/result.hpp>
#include <rtexec/tensor.hpp>
#include <rtexec/units.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace rtexec::channels {

/// What a source has put into a tensor.
struct Sample {
  Instant sampled{}; // when the values were so
  bool fresh = true; // false: they are those of the job before
};

class Source {
 public:
  Source() = default;
  virtual ~Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  /// Once, before the first job, when the workload is bound: takes what it needs of the machine.
  [[nodiscard]] virtual Result<> open() { return {}; }
  /// Instead of open(), also where no workload is bound: whether it would be given what it asks of the machine. Nothing
  /// is left of that once it is destroyed. Absent: it asks nothing of it.
  [[nodiscard]] virtual std::optional<Result<>> try_out() { return std::nullopt; }
  /// Fills `into`, which has the type and shape that the source was made for, for job `job`, released at `release`. On
  /// the release thread of the task, in the first CPU part: no allocation, no lock, no call that blocks. Errors: stale
  /// (there never was anything: the tensor is left alone), others where the source has failed.
  [[nodiscard]] virtual Expected<Sample, Errc> fetch(std::uint64_t job, Instant release,
                                                     const Tensor& into) noexcept = 0;
  /// On the release thread, before the first job: takes no more than a moment to see to it that what nobody takes does
  /// not keep out what is newer. Whether that is to be done again, at least each period.
  [[nodiscard]] virtual bool keep_up() noexcept { return false; }
  /// Whether new values can release jobs (trigger = "input"): then await() waits for them.
  [[nodiscard]] virtual bool releases() const noexcept { return false; }
  /// On the release thread: until new values are there, somebody called wake(), or `until`. Whether there are new ones.
  [[nodiscard]] virtual Expected<bool, Errc> await(Instant) noexcept { return Unexpected(Errc::unsupported); }
  /// How many values a newer one replaced before a job could take them. Real-time threads too, once it is opened.
  [[nodiscard]] virtual std::uint64_t passed_over() const noexcept { return 0; }
  /// Any thread, also where it was not opened: ends the await() under way, or else the next one.
  virtual void wake() noexcept {}
  /// What went wrong last, where and what to do; empty: nothing. Any thread.
  [[nodiscard]] virtual std::string failure() const { return {}; }
};

} // namespace rtexec::channels
