#include "tasks/dnn/files/file.hpp"

#include "hal/resources.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace rtexec::tasks {
namespace {

std::string reason(int error) { return std::generic_category().message(error); }

} // namespace

Result<std::vector<std::byte>> read_file(const std::filesystem::path& path, std::size_t limit) {
  const auto refuse = [&](const std::string& why) { return fail(Errc::bad_input, path.string() + ": " + why); };
  const int fd = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC); // a FIFO waits for nobody
  if (fd < 0) return refuse("cannot be opened: " + reason(errno));
  const hal::FileDescriptor file(fd);
  struct stat status {};
  if (::fstat(fd, &status) != 0) return refuse("cannot be examined: " + reason(errno));
  if (!S_ISREG(status.st_mode)) return refuse("is not a regular file");
  if (static_cast<std::uintmax_t>(status.st_size) > limit)
    return refuse("has " + std::to_string(status.st_size) + " bytes, more than the " + std::to_string(limit) +
                  " that are accepted");
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

} // namespace rtexec::tasks
