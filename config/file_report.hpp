// Collects all mistakes in one file, or in one struct that code built.
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

/// The path of a value in the structs: a key of a table, or the table itself if `key` is empty. The members must be
/// views of string literals.
struct KeyPath {
  std::string_view table; // "" is the top level of the file; "executive", "task", ...
  std::size_t index = 0;  // index of the element, if the table is an element of a list
  std::string_view key;
  std::size_t around = 0; // if that list is within an element of an outer list: the index of the outer element
  friend auto operator<=>(const KeyPath&, const KeyPath&) = default;
};

/// Collects errors. A value that has an error is *bad*. If a value is bad, rules between it and other values are not
/// reported, so that one mistake gives one message.
class Report {
 public:
  /// Makes a report for a struct that code built: messages have no position.
  Report() = default;
  explicit Report(std::filesystem::path file) : file_(std::move(file)) {}

  void locate(const KeyPath& place, Position at) { positions_[place] = at; }
  /// Sets the name that messages use for a list's element.
  void name_element(const KeyPath& element, const std::string& name) { names_[element] = name; }

  /// Adds an error at the position of the value. If the file does not contain the value, uses the position of the
  /// value's table.
  void error(const KeyPath& place, const std::string& message);
  /// Adds an error about an item of the file that has no member in the structs, such as an unknown key of `table`.
  void error(const KeyPath& table, Position at, const std::string& message);
  /// Adds an error about a broken rule between the values at `places`. The error has the position of the first value.
  void relation(const std::vector<KeyPath>& places, const std::string& message);

  /// Adds a warning: the file is accepted, but its author should change it.
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
  /// Adds a warning: the file is accepted, but its author should change it.
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
