// The source of the values of one input tensor.
#pragma once

#include <rtexec/result.hpp>
#include <rtexec/tensor.hpp>
#include <rtexec/units.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace rtexec::channels {

/// The result of filling a tensor.
struct Sample {
  Instant sampled{}; // when the values were sampled
  bool fresh = true; // false: they are the values of the previous job
};

class Source {
 public:
  Source() = default;
  virtual ~Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  /// Acquires the resources that the source needs. Called once, before the first job, when the workload is bound.
  [[nodiscard]] virtual Result<> open() { return {}; }
  /// Checks if open() would succeed. Called instead of open(), possibly without a bound workload. The source's
  /// destructor releases everything. Absent: it needs no resources.
  [[nodiscard]] virtual std::optional<Result<>> try_out() { return std::nullopt; }
  /// Fills `into`, which has the type and shape that the source was made for, for job `job`, released at `release`.
  /// Called on the task's release thread, in the first CPU part: no allocation, no lock, no call that blocks. Returns
  /// stale if there was never a value, and leaves the tensor unchanged; other errors if the source has failed.
  [[nodiscard]] virtual Expected<Sample, Errc> fetch(std::uint64_t job, Instant release,
                                                     const Tensor& into) noexcept = 0;
  /// Keeps old values from blocking newer ones before the first job, in a short time. Returns true if it must be called
  /// again, at least once each period. Called on the release thread.
  [[nodiscard]] virtual bool keep_up() noexcept { return false; }
  /// True if new values can release jobs (trigger = "input"): then await() waits for them.
  [[nodiscard]] virtual bool releases() const noexcept { return false; }
  /// Waits until new values arrive, wake() is called, or `until`. Returns true if there are new values. Called on the
  /// release thread.
  [[nodiscard]] virtual Expected<bool, Errc> await(Instant) noexcept { return Unexpected(Errc::unsupported); }
  /// Returns the number of values that a newer one replaced before a job could take them. Also for real-time threads,
  /// once the source is opened.
  [[nodiscard]] virtual std::uint64_t passed_over() const noexcept { return 0; }
  /// Ends the current await(), or else the next one. Any thread, even if the source was not opened.
  virtual void wake() noexcept {}
  /// Returns the last failure, its place and a remedy; empty: none. Any thread.
  [[nodiscard]] virtual std::string failure() const { return {}; }
};

} // namespace rtexec::channels
