// What commands print for people: tables, the plan, the report.
#pragma once

#include <rtexec/executive.hpp>

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace rtexec::command {

/// A table with a header line; columns are as wide as their widest cell, the first is left-aligned.
class Table {
 public:
  explicit Table(std::vector<std::string> header) : rows_{std::move(header)} {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  void print(std::ostream& out, std::string_view indent = "  ") const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

/// A response time against its deadline, ten cells wide.
[[nodiscard]] std::string bar(Duration response, Duration deadline);

void print_plan(std::ostream& out, const Executive& executive);
/// What each test of the device alone says, side by side.
void print_comparison(std::ostream& out, const std::vector<TestVerdict>& tests);
/// What the backing store fell back to; nothing where it did not.
void print_fallback(std::ostream& out, const SwapReport& swap);
void print_report(std::ostream& out, const Report& report);

/// Standard output, or standard error when JSON goes to standard output.
[[nodiscard]] std::ostream& text_output(const std::string& json_file);

} // namespace rtexec::command
