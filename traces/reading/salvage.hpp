// Makes what is left of a damaged CTF trace readable: libbabeltrace2 refuses a whole trace for one stream that does not
// end with a whole packet. Files of the trace are never changed: a temporary folder, gone with the object, holds links
// to whole ones and mended copies of the others.
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

/// What is missing of one stream.
struct Gap {
  std::string stream;      // its file's name
  std::string what;        // "is missing", "ends in the middle of a packet", ...
  bool from_begin = false; // nothing of it can be read; else the end of it is missing
};

struct Salvaged {
  std::filesystem::path folder;             // to be opened: the trace's own, or
  std::optional<TemporaryFolder> temporary; // that one
  std::vector<Gap> gaps;
  std::vector<std::string> notes; // of no consequence for the events
  // Between which the events are all there, of streams whose files overwrite one another, and of a recording that has
  // not ended; the set-up's are there from the beginning
  Instant from = Instant::min(), to = Instant::max();
  RecordingState state = RecordingState::ended;
};

/// `trace`: a folder with a file "metadata". bad_input: its metadata, which everything else rests on, cannot be read.
/// refused: there is no room for a temporary copy.
[[nodiscard]] Result<Salvaged> salvage(const std::filesystem::path& trace, const CtfSource& source);

} // namespace rtexec::traces
