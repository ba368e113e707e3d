// Collects all mistakes in one file, or in one struct that code has built.
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

/// The path of a value in the structs: a key of a table, or the table itself if `key` is empty. The members are views
/// of string literals.
struct KeyPath {
  std::string_view table; // "" is the file's top, "executive", "task", ...
  std::size_t index = 0;  // the index of a list's element
  std::string_view key;
  std::size_t around = 0; // if the list is within an element of another list: the index of that element
  friend auto operator<=>(const KeyPath&, const KeyPath&) = default;
};

/// Collects errors. A value that has an error is *bad*. A rule between several values is not reported if one of them is
/// bad already, so that one mistake gives one message.
class Report {
 public:
  /// Makes a report for a struct built in code: messages carry no position.
  Report() = default;
  explicit Report(std::filesystem::path file) : file_(std::move(file)) {}

  void locate(const KeyPath& place, Position at) { positions_[place] = at; }
  /// Sets the name of a list's element in messages.
  void name_element(const KeyPath& element, const std::string& name) { names_[element] = name; }

  /// Adds an error at the position of the value, or of its table if the file does not give the value.
  void error(const KeyPath& place, const std::string& message);
  /// Adds an error about something for which the structs have no member, such as an unknown key of `table`.
  void error(const KeyPath& table, Position at, const std::string& message);
  /// Adds an error about a broken rule between the values at `places`. Its position is that of the first of them.
  void relation(const std::vector<KeyPath>& places, const std::string& message);

  /// Adds a warning: the file is read, and its author should change it.
  void warn(Position at, const std::string& message);

  [[nodiscard]] bool is_bad(const KeyPath& place) const { return bad_.contains(place); }

  /// Returns all errors in the order of the lines.
  [[nodiscard]] Result<> result() const;
  /// Returns all warnings, each as "FILE:LINE:COLUMN: warning: ...".
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  struct Line {
    Position at;
    std::string text;
  };

  [[nodiscard]] std::string prefix(Position at, std::string_view grade) const;
  [[nodiscard]] Position position(const KeyPath& place) const;
  [[nodiscard]] std::string subject(const KeyPath& place) const;

  std::filesystem::path file_;
  std::map<KeyPath, Position> positions_;
  std::map<KeyPath, std::string> names_;
  std::set<KeyPath> bad_;
  std::vector<Line> lines_;
  std::vector<std::string> warnings_;
};

/// Reports broken rules between the values of one table, or of one element of a list.
class Rules {
 public:
  explicit Rules(Report& report, std::string_view table = {}, std::size_t index = 0, std::size_t around = 0)
      : report_(report), table_(table), index_(index), around_(around) {}

  [[nodiscard]] KeyPath of(std::string_view key) const {
    return {.table = table_, .index = index_, .key = key, .around = around_};
  }
  /// Adds a warning: the file is read, and its author should change it.
  void warn(Position at, const std::string& message);

  [[nodiscard]] bool is_bad(std::string_view key) const { return report_.is_bad(of(key)); }
  /// Reports a broken rule, as Report::relation() does.
  void broken(std::initializer_list<std::string_view> keys, const std::string& message) const;

 private:
  Report& report_;
  std::string_view table_;
  std::size_t index_;
  std::size_t around_;
};

} // namespace rtexec::config
