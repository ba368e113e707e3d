// Collects everything that is wrong with one file, or with one struct built in code.
#pragma once

#include "config/document.hpp"
#include <rtexec/result.hpp>

#include <compare>
#include <cstddef>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace rtexec::config {

/// The path of a value: a key of a table, or the table itself if `key` is empty. Views of string literals.
struct KeyPath {
  std::string_view table; // "" is the file's top, "executive", "task", ...
  std::size_t index = 0;  // of a list's element
  std::string_view key;
  std::size_t around = 0; // where the list stands in an element of another: the index of that
  friend auto operator<=>(const KeyPath&, const KeyPath&) = default;
};

/// A value that has an error is bad, and a rule between values is silent where one of them is bad already: one mistake
/// gives one message.
class Report {
 public:
  /// For a struct built in code: messages carry no position.
  Report() = default;
  explicit Report(std::filesystem::path file) : file_(std::move(file)) {}

  void locate(const KeyPath& place, Position at) { positions_[place] = at; }
  /// What messages call an element of a list.
  void name_element(const KeyPath& element, const std::string& name) { names_[element] = name; }

  /// At the value, or at its table where the value is not given.
  void error(const KeyPath& place, const std::string& message);
  /// An error of something that has no place in the structs, such as an unknown key of `table`.
  void error(const KeyPath& table, Position at, const std::string& message);
  /// A broken rule between the values at `places`, reported at the first of them.
  void relation(const std::vector<KeyPath>& places, const std::string& message);

  [[nodiscard]] bool is_bad(const KeyPath& place) const { return bad_.contains(place); }

  /// All errors in the order of the lines.
  [[nodiscard]] Result<> result() const;

 private:
  struct Line {
    Position at;
    std::string text;
  };

  [[nodiscard]] Position position(const KeyPath& place) const;
  [[nodiscard]] std::string subject(const KeyPath& place) const;

  std::filesystem::path file_;
  std::map<KeyPath, Position> positions_;
  std::map<KeyPath, std::string> names_;
  std::set<KeyPath> bad_;
  std::vector<Line> lines_;
};

/// Rules between the values of one table, or of one element of a list.
class Rules {
 public:
  explicit Rules(Report& report, std::string_view table = {}, std::size_t index = 0, std::size_t around = 0)
      : report_(report), table_(table), index_(index), around_(around) {}

  [[nodiscard]] KeyPath of(std::string_view key) const {
    return {.table = table_, .index = index_, .key = key, .around = around_};
  }
  [[nodiscard]] bool is_bad(std::string_view key) const { return report_.is_bad(of(key)); }
  /// As Report::relation().
  void broken(std::initializer_list<std::string_view> keys, const std::string& message) const;

 private:
  Report& report_;
  std::string_view table_;
  std::size_t index_;
  std::size_t around_;
};

} // namespace rtexec::config
