// Tables and numbers as text for people.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace rtexec::report {

/// A table with a header line; columns are as wide as their widest cell, the first is left-aligned.
class Table {
 public:
  explicit Table(std::vector<std::string> header) : rows_{std::move(header)} {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  void print(std::ostream& out, std::string_view indent = "  ") const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

/// With so many digits behind the point; never "-0".
[[nodiscard]] std::string fixed(double value, int digits);
/// With so many significant digits, or a power of ten where that is shorter.
[[nodiscard]] std::string significant(double value, int digits);

} // namespace rtexec::report
