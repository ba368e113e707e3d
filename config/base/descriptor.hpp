// An owner of a file descriptor, for set-up code and tools. The destructor ignores errors of close(2). A caller for
// whom such an error matters must release() the descriptor and close the file itself.
#pragma once

#include <unistd.h>
#include <utility>

namespace rtexec::config {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {} // negative: no file
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() { reset(); }
  [[nodiscard]] int get() const { return number_; }
  [[nodiscard]] int release() { return std::exchange(number_, -1); }
  void reset() {
    if (number_ >= 0) ::close(release());
  }

 private:
  int number_ = -1;
};

} // namespace rtexec::config
