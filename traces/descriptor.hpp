// A file descriptor that is closed at the end.
#pragma once

#include <unistd.h>
#include <utility>

namespace rtexec::traces {

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {} // negative: none
  ~Descriptor() { reset(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return number_; }
  void reset() {
    if (number_ >= 0) ::close(std::exchange(number_, -1));
  }

 private:
  int number_;
};

} // namespace rtexec::traces
