// Makes the intact part of a damaged CTF trace readable, because libbabeltrace2 refuses a whole trace if one stream
// does not end with a complete packet. The files of the trace are never changed. A temporary folder holds links to
// intact files and mended copies of damaged files. The folder is removed with the object.
#pragma once

#include <rtexec/result.hpp>
#include <rtexec/units.hpp>
#include "traces/reading/babeltrace.hpp"
#include "traces/reading/recording_mark.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rtexec::traces {

/// A new folder in the system's folder for temporary files.
class TemporaryFolder {
 public:
  [[nodiscard]] static Result<TemporaryFolder> make();
  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder();
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  explicit TemporaryFolder(std::filesystem::path path) : path_(std::move(path)) {}

  std::filesystem::path path_;
};

/// The missing part of one stream.
struct Gap {
  std::string stream;      // name of the stream's file
  std::string what;        // the damage: "is missing", "ends in the middle of a packet", ...
  bool from_begin = false; // true if the whole stream is missing; false if only its end is missing
};

struct Salvaged {
  std::filesystem::path folder;             // the folder to open: the trace's own folder, or `temporary`
  std::optional<TemporaryFolder> temporary; // present if the trace was mended
  std::vector<Gap> gaps;
  std::vector<std::string> notes; // notes on damage that affects no event
  // The interval in which all events are present. It is limited if newer files overwrite older files, or if the
  // recording has not ended. The set-up events are always complete from the beginning.
  Instant from = Instant::min(), to = Instant::max();
  RecordingState state = RecordingState::ended;
};

/// Makes the trace in `trace`, a folder with a file "metadata", readable. Returns bad_input if the metadata cannot be
/// read. Returns refused if there is no space for a temporary copy.
[[nodiscard]] Result<Salvaged> salvage(const std::filesystem::path& trace, const CtfSource& source);

} // namespace rtexec::traces
