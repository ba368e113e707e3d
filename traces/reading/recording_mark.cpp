#include "traces/reading/recording_mark.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace rtexec::traces {
namespace {

namespace fs = std::filesystem;

constexpr const char* name = ".recording";
constexpr int levels = 5; // number of folders from LTTng's FOLDER/ust/uid/0/64-bit up to FOLDER, both included

} // namespace

Result<RecordingMark> RecordingMark::set(const fs::path& folder) {
  RecordingMark mark;
  mark.file_ = folder / name;
  mark.open_ = config::Descriptor(::open(mark.file_.c_str(), O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (mark.open_.get() < 0 || ::flock(mark.open_.get(), LOCK_EX | LOCK_NB) != 0)
    return fail(Errc::refused, "tracing: " + mark.file_.string() + " cannot be made: " + std::strerror(errno));
  return mark;
}

void RecordingMark::remove() noexcept {
  if (!file_.empty()) ::unlink(file_.c_str());
  open_.reset();
}

RecordingState recording_state(const fs::path& trace) {
  std::error_code error;
  fs::path folder = fs::absolute(trace, error).lexically_normal();
  for (int level = 0; level < levels && !folder.empty(); ++level, folder = folder.parent_path()) {
    const config::Descriptor mark(::open((folder / name).c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    if (mark.get() < 0) continue;
    const bool locked = ::flock(mark.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    return locked ? RecordingState::goes_on : RecordingState::broken_off;
  }
  return RecordingState::ended;
}

} // namespace rtexec::traces
