#include "tasks/dnn/output/file.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace rtexec::tasks {
namespace {

std::string reason(int error) { return std::generic_category().message(error); }

/// Closes on every way out.
struct Descriptor {
  int fd;
  ~Descriptor() { ::close(fd); }
};

} // namespace

Result<std::vector<std::byte>> read_file(const std::filesystem::path& path, std::size_t limit) {
  const auto refuse = [&](const std::string& why) { return fail(Errc::bad_input, path.string() + ": " + why); };
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return refuse("cannot be opened: " + reason(errno));
  const Descriptor file{fd};
  struct stat status{};
  if (::fstat(fd, &status) != 0) return refuse("cannot be examined: " + reason(errno));
  if (!S_ISREG(status.st_mode)) return refuse("is not a regular file");
  if (static_cast<std::uintmax_t>(status.st_size) > limit)
    return refuse("has " + std::to_string(status.st_size) + " bytes, more than the " + std::to_string(limit) + " that are accepted");
  std::vector<std::byte> bytes(static_cast<std::size_t>(status.st_size));
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t n = ::read(fd, bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return refuse("cannot be read: " + reason(errno));
    if (n == 0) return refuse("became shorter while it was read");
    done += static_cast<std::size_t>(n);
  }
  return bytes;
}

Result<AtomicFile> AtomicFile::create(const std::filesystem::path& path) {
  std::string temporary = path.string() + ".XXXXXX";
  const int fd = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (fd < 0) return fail(Errc::refused, path.string() + ": cannot be created: " + reason(errno));
  return AtomicFile(path, temporary, fd);
}

AtomicFile::AtomicFile(std::filesystem::path path, std::filesystem::path temporary, int fd)
    : path_(std::move(path)), temporary_(std::move(temporary)), fd_(fd) {}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)), temporary_(std::move(other.temporary_)), fd_(std::exchange(other.fd_, -1)) {}

AtomicFile::~AtomicFile() {
  if (fd_ < 0) return;
  ::close(fd_);
  ::unlink(temporary_.c_str());
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
  // mkostemp made it private to its owner; give it what any other new file gets.
  const mode_t mask = ::umask(0);
  ::umask(mask);
  if (::fchmod(fd_, 0666 & ~mask) != 0 || ::fsync(fd_) != 0) return failure(errno);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) return failure(errno);
  if (::close(std::exchange(fd_, -1)) != 0) return failure(errno);
  return {};
}

std::unexpected<Error> AtomicFile::failure(int error) const {
  return fail(Errc::refused, path_.string() + ": cannot be written: " + reason(error));
}

} // namespace rtexec::tasks
