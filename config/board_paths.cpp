#include "config/board_paths.hpp"

#include "config/base/text.hpp"

#include <algorithm>
#include <optional>

namespace rtexec::config {
namespace {

constexpr std::string_view form = "write \"/FILE [times NAME] [in kHz|mW] [where NAME = TEXT]...\"";

bool is_name(std::string_view text) {
  return !text.empty() && !text.contains(' ') && !text.contains('/') && text != "." && text != "..";
}

/// Removes the first word of `text` and the space after the word. Returns the word.
std::string_view take_word(std::string_view& text) {
  const std::size_t end = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

/// Removes a condition "NAME = TEXT" from the beginning of `text` and returns the condition. TEXT ends where the next
/// condition begins.
std::optional<BoardPath::Condition> take_condition(std::string_view& text) {
  BoardPath::Condition condition;
  condition.name = take_word(text);
  if (!is_name(condition.name) || take_word(text) != "=") return std::nullopt;
  const std::size_t end = std::min(text.find(" where "), text.size());
  condition.text = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  if (condition.text.empty()) return std::nullopt;
  return condition;
}

std::string problem_of(const BoardPath& path) {
  if (!path.file.starts_with('/') || path.file.contains(' ') || path.file.ends_with('/') || path.file.contains("/.."))
    return "not the path of a file: " + std::string(form);
  if (path.file.substr(path.file.rfind('/')).contains('*')) return "\"*\" stands for folders only";
  return {};
}

} // namespace

Read<BoardPath> parse_board_path(std::string_view text) {
  BoardPath path;
  path.file = take_word(text);
  while (!text.empty()) {
    const std::string_view word = take_word(text);
    const bool first = path.where.empty();
    if (word == "times" && first && path.times.empty() && path.unit.empty()) {
      path.times = take_word(text);
      if (is_name(path.times)) continue;
    } else if (word == "in" && first && path.unit.empty()) {
      path.unit = take_word(text);
      if (path.unit == "kHz" || path.unit == "mW") continue;
    } else if (word == "where") {
      if (auto condition = take_condition(text)) {
        path.where.push_back(std::move(*condition));
        continue;
      }
    }
    return Unexpected("not a path: " + std::string(form));
  }
  return path;
}

std::string to_string(const BoardPath& path) {
  std::string text = path.file;
  if (!path.times.empty()) text += " times " + path.times;
  if (!path.unit.empty()) text += " in " + path.unit;
  for (const auto& [name, content] : path.where) text.append(" where ").append(name).append(" = ").append(content);
  return text;
}

Type<BoardPath> board_path() {
  return {.name = "path of a file, \"/FILE [times NAME] [in UNIT] [where NAME = TEXT]...\"",
          .unit = "kHz, mW",
          .read = [](const Value& value) -> Read<BoardPath> {
            const auto written = text().read(value);
            if (!written) return Unexpected(written.error());
            if (std::string problem = text().problem(*written); !problem.empty()) return Unexpected(std::move(problem));
            return parse_board_path(*written);
          },
          .write = [](const BoardPath& path) { return toml_string(to_string(path)); },
          .problem = problem_of};
}

} // namespace rtexec::config
