#include "config/files.hpp"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace rtexec::config {
namespace {

std::string error_text(int error) { return std::generic_category().message(error); }

/// Owns a file descriptor.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_); // only reached on error paths and after reading: nothing is lost
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return fd_; }
  /// 0, or errno of close(2), which may be the first to report a failed write.
  [[nodiscard]] int close() { return ::close(std::exchange(fd_, -1)) == 0 ? 0 : errno; }

 private:
  int fd_;
};

/// 0 or errno.
int write_all(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t n = ::write(fd, content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    content.remove_prefix(static_cast<std::size_t>(n));
  }
  return 0;
}

/// 0 or errno. The file's entry in its folder must reach the disk as well.
int sync_folder(const std::filesystem::path& file) {
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  const Descriptor fd{::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (fd.get() < 0) return errno;
  return ::fsync(fd.get()) == 0 || errno == EINVAL ? 0 : errno; // EINVAL: a file system that cannot sync folders
}

/// Fills the new file `fd`; 0 or errno.
int fill(Descriptor& fd, std::string_view content) {
  if (::fchmod(fd.get(), 0644) != 0) return errno;
  if (const int error = write_all(fd.get(), content)) return error;
  if (::fsync(fd.get()) != 0) return errno;
  return fd.close();
}

} // namespace

Result<std::string> read_file(const std::filesystem::path& file, std::size_t limit) {
  const auto failed = [&](int error) { return fail(Errc::bad_input, file.string() + ": error: cannot read it: " + error_text(error)); };
  const Descriptor fd{::open(file.c_str(), O_RDONLY | O_CLOEXEC)};
  if (fd.get() < 0) return failed(errno);
  std::string content(limit + 1, '\0');
  std::size_t size = 0;
  while (size < content.size()) {
    const ssize_t n = ::read(fd.get(), content.data() + size, content.size() - size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failed(errno);
    if (n == 0) break;
    size += static_cast<std::size_t>(n);
  }
  content.resize(size);
  return content;
}

Result<> replace_file(const std::filesystem::path& file, std::string_view content) {
  std::string temporary = file.string() + ".XXXXXX";
  const auto failed = [&](int error) {
    return fail(Errc::refused, file.string() + ": error: cannot write it, the old one stays as it was: " + error_text(error));
  };
  Descriptor fd{::mkostemp(temporary.data(), O_CLOEXEC)};
  if (fd.get() < 0) return failed(errno);
  int error = fill(fd, content);
  if (error == 0 && ::rename(temporary.c_str(), file.c_str()) != 0) error = errno;
  if (error != 0) {
    ::unlink(temporary.c_str()); // best effort: a left-over does no harm
    return failed(error);
  }
  if (const int unsynced = sync_folder(file))
    return fail(Errc::refused, file.string() + ": error: written, but its folder cannot be synced: " + error_text(unsynced));
  return {};
}

} // namespace rtexec::config
