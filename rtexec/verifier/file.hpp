// A file opened for reading, without following a symbolic link.
#pragma once

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <span>
#include <sys/types.h>
#include <unistd.h>

namespace rtexec::verifier {

class File {
 public:
  explicit File(const std::filesystem::path& path)
      : number_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)),
        error_(number_ < 0 ? errno : 0) {}
  ~File() {
    if (number_ >= 0) ::close(number_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  /// Returns the number of bytes read, or 0 at the end of the file. Returns -1 and sets errno if the read or the
  /// earlier open failed.
  [[nodiscard]] ssize_t read(std::span<char> buffer) const {
    if (error_ != 0) return errno = error_, -1;
    ssize_t count = 0;
    do count = ::read(number_, buffer.data(), buffer.size());
    while (count < 0 && errno == EINTR);
    return count;
  }

 private:
  int number_;
  int error_; // errno of the failed open, or 0
};

} // namespace rtexec::verifier
