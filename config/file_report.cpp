#include "config/file_report.hpp"

#include <algorithm>
#include <span>

namespace rtexec::config {
namespace {

constexpr std::size_t max_lines = 100; // maximum number of lines of a message

KeyPath table_of(const KeyPath& place) {
  return {.table = place.table, .index = place.index, .key = {}, .around = place.around};
}

} // namespace

Position Report::position(const KeyPath& place) const {
  if (const auto found = positions_.find(place); found != positions_.end()) return found->second;
  const auto table = positions_.find(table_of(place));
  return table == positions_.end() ? Position{} : table->second;
}

std::string Report::subject(const KeyPath& place) const {
  if (const auto name = names_.find(table_of(place)); name != names_.end()) return name->second + ": ";
  return place.table.empty() ? "" : "[" + std::string(place.table) + "] ";
}

void Report::error(const KeyPath& place, const std::string& message) {
  bad_.insert(place);
  error(place, position(place), message);
}

void Report::error(const KeyPath& table, Position at, const std::string& message) {
  lines_.push_back({at, subject(table) + message});
}

std::string Report::prefix(Position at, std::string_view grade) const {
  if (file_.empty()) return {};
  return file_.string() + ":" + std::to_string(at.line) + ":" + std::to_string(at.column) + ": " + std::string(grade) +
         ": ";
}

void Report::warn(Position at, const std::string& message) {
  if (warnings_.size() < max_lines) warnings_.push_back(prefix(at, "warning") + message);
}

void Report::relation(const std::vector<KeyPath>& places, const std::string& message) {
  if (std::ranges::none_of(places, [&](const KeyPath& place) { return is_bad(place); })) error(places.front(), message);
}

void Rules::broken(std::initializer_list<std::string_view> keys, const std::string& message) const {
  std::vector<KeyPath> places;
  for (const std::string_view key : keys) places.push_back(of(key));
  report_.relation(places, message);
}

Result<> Report::result() const {
  if (lines_.empty()) return {};
  std::vector<Line> sorted = lines_;
  std::ranges::stable_sort(sorted, {}, &Line::at);
  std::string all;
  for (const Line& line : std::span(sorted).first(std::min(sorted.size(), max_lines))) {
    if (!all.empty()) all += '\n';
    all += prefix(line.at, "error") + line.text;
  }
  if (sorted.size() > max_lines) all += "\nand " + std::to_string(sorted.size() - max_lines) + " more";
  return fail(Errc::bad_input, all);
}

} // namespace rtexec::config
