#include "config/files.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace rtexec {
namespace {

std::string error_text(int error) { return std::generic_category().message(error); }

/// Owns a file descriptor that is only read from: closing it can lose nothing.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

/// 0 or errno. The file's entry in its folder must reach the disk as well.
int sync_folder(const std::filesystem::path& file) {
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  const Descriptor fd{::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (fd.get() < 0) return errno;
  // EINVAL: a file system that cannot sync folders
  return ::fsync(fd.get()) == 0 || errno == EINVAL ? 0 : errno;
}

/// Where symbolic links lead, to what is there or is not.
std::filesystem::path target_of(std::filesystem::path path, std::error_code& error) {
  constexpr int most = 40; // as the kernel follows
  for (int links = 0; links < most; ++links) {
    // What is not there is no error yet
    if (!std::filesystem::is_symlink(std::filesystem::symlink_status(path, error))) return error.clear(), path;
    const std::filesystem::path next = std::filesystem::read_symlink(path, error);
    if (error) return path;
    path = path.parent_path() / next; // an absolute one replaces the folder
  }
  error = std::make_error_code(std::errc::too_many_symbolic_link_levels);
  return path;
}

/// Gives a file that has no name one that begins with that of `path`; 0 or errno.
int name_beside(const std::filesystem::path& path, int fd, std::filesystem::path& name) {
  const std::string nameless = "/proc/self/fd/" + std::to_string(fd),
                    stem = path.string() + "." + std::to_string(::getpid());
  for (unsigned number = 0;; ++number) {
    name = stem + "-" + std::to_string(number);
    if (::linkat(AT_FDCWD, nameless.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) return 0;
    if (errno != EEXIST) return errno;
  }
}

} // namespace

Result<AtomicFile> AtomicFile::create(const std::filesystem::path& path) {
  std::error_code error;
  const auto found = std::filesystem::status(path, error);
  if (std::filesystem::exists(found) && !std::filesystem::is_regular_file(found))
    return fail(Errc::bad_input,
                path.string() + ": error: cannot write it: it is there already, and is no regular file");
  const auto failed = [&path](const std::string& why) {
    return fail(Errc::refused, path.string() + ": error: cannot write it: " + why);
  };
  const std::filesystem::path target = target_of(path, error);
  if (error) return failed(error.message());
  const std::filesystem::path folder = target.has_parent_path() ? target.parent_path() : ".";
  // Without a name, so that nothing is left of it whatever ends the program; not every file system can.
  if (const int unnamed = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600); unnamed >= 0)
    return AtomicFile(target, {}, unnamed, std::filesystem::exists(found));
  std::string temporary = target.string() + ".XXXXXX";
  const int fd = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (fd < 0) return failed(error_text(errno));
  return AtomicFile(target, temporary, fd, std::filesystem::exists(found));
}

AtomicFile::AtomicFile(std::filesystem::path path, std::filesystem::path temporary, int fd, bool replaces)
    : path_(std::move(path)), temporary_(std::move(temporary)), fd_(fd), replaces_(replaces) {}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::move(other.temporary_)),
      fd_(std::exchange(other.fd_, -1)),
      replaces_(other.replaces_) {}

AtomicFile::~AtomicFile() {
  if (fd_ < 0) return;
  ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str()); // best effort: a left-over does no harm
}

Result<> AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failure(errno);
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return {};
}

Result<> AtomicFile::commit() {
  // mkostemp made it private to its owner; give it what the old one had, or what any other new file gets.
  const mode_t mask = ::umask(0);
  ::umask(mask);
  mode_t mode = 0666 & ~mask;
  if (struct stat old; replaces_ && ::stat(path_.c_str(), &old) == 0) {
    mode = old.st_mode & 0777;
    [[maybe_unused]] const int given = ::fchown(fd_, old.st_uid, old.st_gid); // only root may give files away
  }
  if (::fchmod(fd_, mode) != 0 || ::fsync(fd_) != 0) return failure(errno);
  if (temporary_.empty())
    if (const int error = name_beside(path_, fd_, temporary_)) return temporary_.clear(), failure(error);
  if (::close(std::exchange(fd_, -1)) != 0) {
    const int error = errno;
    ::unlink(temporary_.c_str());
    return failure(error);
  }
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    const int error = errno;
    return fail(Errc::refused, failure(error).error().what + "; what was to be written is in " + temporary_.string());
  }
  if (const int unsynced = sync_folder(path_))
    return fail(Errc::refused,
                path_.string() + ": error: written, but its folder cannot be synced: " + error_text(unsynced));
  return {};
}

Unexpected<Error> AtomicFile::failure(int error) const {
  return fail(Errc::refused, path_.string() + ": error: cannot write it" +
                                 (replaces_ ? ", the old one stays as it was: " : ": ") + error_text(error));
}

namespace config {

Result<std::string> read_file(const std::filesystem::path& file, std::size_t limit) {
  const auto failed = [&](int error) {
    return fail(Errc::bad_input, file.string() + ": error: cannot read it: " + error_text(error));
  };
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
  auto written = AtomicFile::create(file);
  if (!written) return Unexpected(written.error());
  if (auto filled = written->write(std::as_bytes(std::span(content))); !filled) return filled;
  return written->commit();
}

} // namespace config
} // namespace rtexec
