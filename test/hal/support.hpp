// What the tests of this room share.
#pragma once

#include "config/result.hpp"
#include "hal/system.hpp"
#include "hal/thread.hpp"

#include <cstddef>
#include <filesystem>
#include <gtest/gtest.h>
#include <string>
#include <string_view>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

namespace rtexec::hal::test {

/// Heap allocations of the whole process so far, C and C++ alike, also under the sanitizers.
[[nodiscard]] std::size_t allocations() noexcept;

/// The error's text, or "no error".
template <class T>
std::string text_of(const Result<T>& result) {
  return result ? "no error" : result.error().what;
}

template <class T>
testing::AssertionResult fails(const Result<T>& result, Errc code, std::string_view part) {
  if (result) return testing::AssertionFailure() << "it did not fail";
  if (result.error().code != code) return testing::AssertionFailure() << "code is " << name(result.error().code) << ": " << result.error().what;
  if (result.error().what.find(part) == std::string::npos) return testing::AssertionFailure() << '"' << part << "\" is not in: " << result.error().what;
  return testing::AssertionSuccess();
}

inline testing::AssertionResult fails(const Status& status, Errc code) {
  if (status) return testing::AssertionFailure() << "it did not fail";
  return status.error() == code ? testing::AssertionSuccess() : testing::AssertionFailure() << "code is " << name(status.error());
}

/// What this process holds of the kernel: leaks show here.
struct Held {
  std::size_t files = 0;
  std::size_t device_mappings = 0;
  std::size_t threads = 0;
  friend bool operator==(const Held&, const Held&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Held& held) {
    return out << held.files << " files, " << held.device_mappings << " mappings of device memory, " << held.threads << " threads";
  }
};
[[nodiscard]] Held held();

/// Waits, with patience for a loaded machine, until `condition` holds.
template <class Condition>
bool eventually(Condition condition) {
  for (int attempt = 0; attempt < 10'000; ++attempt) {
    if (condition()) return true;
    sleep_until(now() + std::chrono::milliseconds(1));
  }
  return false;
}

/// Is a real-time class allowed here? Otherwise the reason.
[[nodiscard]] std::string why_no_fifo();
[[nodiscard]] std::string why_no_deadline();

/// A folder of its own, removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  void write(const std::filesystem::path& file, std::string_view text) const; // absolute paths are taken under the folder
  [[nodiscard]] std::string read(const std::filesystem::path& file) const;

 private:
  std::filesystem::path path_;
};

} // namespace rtexec::hal::test
