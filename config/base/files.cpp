#include "config/base/files.hpp"

#include "config/base/errno_text.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace rtexec {

using config::errno_text;

namespace {

/// Returns a path by which the kernel finds the open file of a descriptor.
std::string by_descriptor(const config::Descriptor& file) { return "/proc/self/fd/" + std::to_string(file.get()); }

Unexpected<Error> cannot_write(const std::filesystem::path& path, const std::string& why) {
  return fail(Errc::refused, path.string() + ": error: cannot write it: " + why);
}

} // namespace

Result<AtomicFile> AtomicFile::create(const std::filesystem::path& path) {
  auto target = config::find_output(path);
  if (!target) return Unexpected(target.error());
  if (target->found && !S_ISREG(target->found->st_mode)) return config::not_an_output(path, *target->found);
  AtomicFile file(std::move(*target));
  if (const int error = file.open_temporary()) return cannot_write(path, errno_text(error));
  return file;
}

/// Opens a file without a name, so that the file disappears however the program ends. If the file system does not
/// support files without a name, opens a file with a temporary name. Returns 0 or errno.
int AtomicFile::open_temporary() {
  file_ = config::Descriptor(::openat(target_.folder.get(), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (file_.get() >= 0) return 0;
  std::string name = by_descriptor(target_.folder) + "/" + target_.name + ".XXXXXX";
  file_ = config::Descriptor(::mkostemp(name.data(), O_CLOEXEC));
  if (file_.get() < 0) return errno;
  temporary_ = std::filesystem::path(name).filename().string();
  return 0;
}

/// Links the file without a name to a temporary name in the target's folder. Returns 0 or errno.
int AtomicFile::name_temporary() {
  const std::string stem = target_.name + "." + std::to_string(::getpid());
  for (unsigned number = 0;; ++number) {
    const std::string name = stem + "-" + std::to_string(number);
    if (::linkat(AT_FDCWD, by_descriptor(file_).c_str(), target_.folder.get(), name.c_str(), AT_SYMLINK_FOLLOW) == 0)
      return temporary_ = name, 0;
    if (errno != EEXIST) return errno;
  }
}

/// Syncs the file's entry in its folder to the disk. Returns 0 or errno.
int AtomicFile::sync_folder() const {
  const config::Descriptor folder(::openat(target_.folder.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() < 0) return errno;
  // EINVAL: the file system cannot sync folders
  return ::fsync(folder.get()) == 0 || errno == EINVAL ? 0 : errno;
}

AtomicFile::~AtomicFile() {
  if (file_.get() >= 0 && !temporary_.empty())
    (void)::unlinkat(target_.folder.get(), temporary_.c_str(),
                     0); // best effort: a remaining temporary file does no harm
}

Result<> AtomicFile::write(std::span<const std::byte> bytes) {
  const int error = config::write_all(file_.get(), bytes);
  return error == 0 ? Result<>() : failure(error);
}

Result<> AtomicFile::put_in_place(bool durable) {
  // So far only the owner has access. The file now gets the permissions of the file that it replaces, or the default
  // permissions of a new file.
  const mode_t mask = ::umask(0);
  ::umask(mask);
  const auto& old = target_.found;
  if (old) [[maybe_unused]]
    const int given = ::fchown(file_.get(), old->st_uid, old->st_gid); // only root may change the owner of a file
  if (::fchmod(file_.get(), old ? old->st_mode & 0777 : 0666 & ~mask) != 0 || (durable && ::fsync(file_.get()) != 0))
    return failure(errno);
  if (temporary_.empty())
    if (const int error = name_temporary()) return failure(error);
  const int folder = target_.folder.get();
  if (::close(file_.release()) != 0) {
    const int error = errno;
    ::unlinkat(folder, temporary_.c_str(), 0);
    return failure(error);
  }
  if (::renameat(folder, temporary_.c_str(), folder, target_.name.c_str()) != 0)
    return fail(Errc::refused, failure(errno).error().what + "; the new contents are in " +
                                   (target_.path.parent_path() / temporary_).string());
  if (const int unsynced = durable ? sync_folder() : 0)
    return fail(Errc::refused, target_.path.string() + ": error: written, but its folder cannot be synced to disk: " +
                                   errno_text(unsynced));
  return {};
}

Unexpected<Error> AtomicFile::failure(int error) const {
  return fail(Errc::refused, target_.path.string() + ": error: cannot write it" +
                                 (target_.found ? ", the old file is unchanged: " : ": ") + errno_text(error));
}

namespace config {
namespace {

/// Waits up to five seconds for data in a pipe or for the end of its writer. The pipe may have no writer yet. Returns
/// false on timeout.
bool has_come(int pipe) {
  constexpr int longest = 5'000; // milliseconds
  pollfd waited{.fd = pipe, .events = POLLIN, .revents = 0};
  return ::poll(&waited, 1, longest) > 0;
}

} // namespace

Result<std::string> read_file(const std::filesystem::path& file, std::size_t limit) {
  const auto refuse = [&](const std::string& why, Errc code = Errc::bad_input) {
    return fail(code, file.string() + ": error: cannot read it: " + why);
  };
  const auto failed = [&](int error) {
    return refuse(errno_text(error), is_shortage(error) ? Errc::refused : Errc::bad_input);
  };
  const Descriptor fd(::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat found {};
  if (fd.get() < 0 || ::fstat(fd.get(), &found) != 0) return failed(errno);
  if (S_ISDIR(found.st_mode)) return refuse(errno_text(EISDIR));
  const bool is_pipe = S_ISFIFO(found.st_mode);
  if (!is_pipe && !S_ISREG(found.st_mode)) return refuse("it must be a file or a pipe");
  const std::size_t announced = is_pipe ? 0 : static_cast<std::size_t>(found.st_size);
  const auto too_large =
      fail(Errc::bad_input, file.string() + ": error: larger than " + std::to_string(limit) + " bytes");
  if (announced > limit) return too_large;
  std::string content(announced + 1, '\0'); // one byte more than expected, to detect the end of the file
  for (std::size_t size = 0;;) {
    if (size > limit) return too_large;
    if (size == content.size()) content.resize(std::min(2 * size, limit) + 1);
    if (is_pipe && !has_come(fd.get())) return refuse("it is a pipe that delivers no data");
    const ssize_t n = ::read(fd.get(), content.data() + size, content.size() - size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failed(errno);
    size += static_cast<std::size_t>(n);
    if (n > 0) continue;
    content.resize(size);
    return content;
  }
}

int write_all(int file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(file, bytes.data(), bytes.size());
    if (n < 0 && errno != EINTR) return errno;
    bytes = bytes.subspan(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  }
  return 0;
}

std::string lower_extension(const std::filesystem::path& file) {
  std::string extension = file.extension().string();
  std::ranges::transform(extension, extension.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return extension;
}

Result<> replace_file(const std::filesystem::path& file, std::string_view content) {
  auto written = AtomicFile::create(file);
  if (!written) return Unexpected(written.error());
  if (auto filled = written->write(std::as_bytes(std::span(content))); !filled) return filled;
  return written->commit();
}

} // namespace config
} // namespace rtexec
