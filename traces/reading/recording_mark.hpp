// The file by which a folder tells that its recording has not ended: ".recording". Who records holds it locked from
// begin to end, and removes it when all events are in files; so it stays, unlocked, where the recording broke off.
#pragma once

#include <rtexec/result.hpp>
#include "config/base/descriptor.hpp"

#include <cstdint>
#include <filesystem>
#include <utility>

namespace rtexec::traces {

class RecordingMark {
 public:
  RecordingMark() = default;
  /// refused: the file cannot be made.
  [[nodiscard]] static Result<RecordingMark> set(const std::filesystem::path& folder);
  void remove() noexcept;

 private:
  std::filesystem::path file_;
  config::Descriptor open_; // holds the lock
};

enum class RecordingState : std::uint8_t { ended, goes_on, broken_off };

/// Of the recording that `trace` is, or is a folder in. One without a mark has ended.
[[nodiscard]] RecordingState recording_state(const std::filesystem::path& trace);

} // namespace rtexec::traces
