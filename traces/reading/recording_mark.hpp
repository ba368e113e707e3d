// The file ".recording", which marks a folder whose recording has not ended. The recorder keeps the file locked during
// the recording, and removes the file when all events are in files. If the recorder is killed, the file remains,
// unlocked.
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
  /// Creates and locks the file. Returns refused if it cannot be created.
  [[nodiscard]] static Result<RecordingMark> set(const std::filesystem::path& folder);
  void remove() noexcept;

 private:
  std::filesystem::path file_;
  config::Descriptor open_; // holds the lock
};

enum class RecordingState : std::uint8_t { ended, goes_on, broken_off };

/// Returns the state of the recording that contains the folder `trace`. A recording without a mark has ended.
[[nodiscard]] RecordingState recording_state(const std::filesystem::path& trace);

} // namespace rtexec::traces
