#include "hal/linux/lock_file.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace rtexec::hal {

Result<> make_lock_folder(const std::filesystem::path& folder) {
  // The umask may restrict the mode that mkdir() sets, so chmod() sets it again: other users must be able to read the
  // holder of a core
  const bool made = sys().mkdir(folder.c_str(), 0755) == 0;
  if ((!made && errno != EEXIST) || (made && ::chmod(folder.c_str(), 0755) != 0))
    return call_failed("making " + folder.string() + ", for locks,", errno);
  struct stat status {};
  if (::lstat(folder.c_str(), &status) != 0) return call_failed("looking at " + folder.string(), errno);
  if (!S_ISDIR(status.st_mode) || status.st_uid != ::geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return fail(Errc::refused,
                folder.string() + ", for locks, is not a folder that this user alone can write to: remove it");
  return {};
}

Result<std::optional<FileDescriptor>> lock_file(const std::filesystem::path& file) {
  FileDescriptor lock(sys().create(file.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (lock.number() < 0) return call_failed("opening " + file.string(), errno);
  if (sys().flock(lock.number(), LOCK_EX | LOCK_NB) == 0) return lock;
  if (errno != EWOULDBLOCK) return call_failed("locking " + file.string(), errno);
  return std::nullopt;
}

} // namespace rtexec::hal
