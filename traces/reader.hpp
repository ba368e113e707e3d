// Reads a recorded trace (CTF) back, event by event in order of time.
#pragma once

#include "config/result.hpp"
#include "config/units.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

struct bt_event; // of libbabeltrace2

namespace rtexec::traces {

/// One recorded event; valid, with its texts, during the call that it is given to.
class RecordedEvent {
 public:
  RecordedEvent(const bt_event* event, Instant time);

  /// "rtexec:job_release", ...
  [[nodiscard]] std::string_view name() const noexcept { return name_; }
  /// When it was recorded, on CLOCK_MONOTONIC.
  [[nodiscard]] Instant time() const noexcept { return time_; }
  /// Absent where the event has no such field, or one of another type. An enumeration is an integer, and a text where its value has a name.
  [[nodiscard]] std::optional<std::int64_t> integer(const char* field) const;
  [[nodiscard]] std::optional<std::string_view> text(const char* field) const;

 private:
  const bt_event* event_;
  std::string_view name_;
  Instant time_;
};

/// What the recording could not keep. Whole packets are lost only where a daemon died or a disk was full.
struct Losses {
  std::uint64_t events = 0;
  std::uint64_t packets = 0;
};

/// Calls `each`, which must not throw, with every event under `folder`. bad_input where there is no trace or it is damaged.
[[nodiscard]] Result<Losses> read_trace(const std::filesystem::path& folder, const std::function<void(const RecordedEvent&)>& each);

struct Summary {
  std::uint64_t events = 0;
  Losses lost;
  std::map<std::string, std::uint64_t> by_name; // "rtexec:job_release" -> count
};

[[nodiscard]] Result<Summary> summarize(const std::filesystem::path& folder);

} // namespace rtexec::traces
