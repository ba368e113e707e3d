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
  Instant sampled{}; // the instant at which the values were sampled
  bool fresh = true; // false: the values are the values of the previous job
};

class Source {
 public:
  Source() = default;
  virtual ~Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  /// Acquires the resources that the source needs. Called once, before the first job, when the workload is bound.
  [[nodiscard]] virtual Result<> open() { return {}; }
  /// Checks whether open() would succeed, and returns its result. Called instead of open(), possibly before the
  /// workload is bound. The destructor releases the resources that try_out() acquired. Returns nullopt if the source
  /// needs no resources.
  [[nodiscard]] virtual std::optional<Result<>> try_out() { return std::nullopt; }
  /// Fills `into` for job `job`, which was released at `release`. `into` has the type and shape that the source was
  /// made for. Called on the task's release thread, in the first CPU part. Must not allocate, take a lock, or block.
  /// Returns stale, and leaves the tensor unchanged, if the source never had a value. Returns other errors if the
  /// source has failed.
  [[nodiscard]] virtual Expected<Sample, Errc> fetch(std::uint64_t job, Instant release,
                                                     const Tensor& into) noexcept = 0;
  /// Drops old values that arrive before the first job, so that newer values find a free buffer. Takes a short time.
  /// Returns true if keep_up() must be called again, at least once in each period. Called on the release thread.
  [[nodiscard]] virtual bool keep_up() noexcept { return false; }
  /// True if new values can release jobs (trigger = "input"). In this case await() is implemented.
  [[nodiscard]] virtual bool releases() const noexcept { return false; }
  /// Waits until new values arrive, wake() is called, or the given instant. Returns true if there are new values.
  /// Called on the release thread.
  [[nodiscard]] virtual Expected<bool, Errc> await(Instant) noexcept { return Unexpected(Errc::unsupported); }
  /// Returns the number of values that newer values replaced before a job could use them. Also for real-time threads,
  /// once the source is opened.
  [[nodiscard]] virtual std::uint64_t passed_over() const noexcept { return 0; }
  /// Ends the current await(), or the next await() if none is running. Any thread, even if the source was not opened.
  virtual void wake() noexcept {}
  /// Returns the last failure with its location and a remedy, or an empty text without a failure. Any thread.
  [[nodiscard]] virtual std::string failure() const { return {}; }
};

} // namespace rtexec::channels
