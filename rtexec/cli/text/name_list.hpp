// A list of names for a sentence. It shows only the first few names: "front, rear, left, right and 146 more".
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rtexec::report {

class NameList {
 public:
  void add(std::string_view name) {
    if (++count_ <= max_shown) text_.append(count_ == 1 ? "" : ", ").append(name);
  }
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] std::string text() const {
    return count_ > max_shown ? text_ + " and " + std::to_string(count_ - max_shown) + " more" : text_;
  }

 private:
  static constexpr std::size_t max_shown = 4;

  std::string text_;
  std::size_t count_ = 0;
};

} // namespace rtexec::report
