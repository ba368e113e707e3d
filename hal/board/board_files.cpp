#include "hal/board/board_files.hpp"

#include "config/base/text.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <system_error>

namespace rtexec::hal {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t thousand = 1000;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// True if `name` matches `pattern`. Sets `number` to the number that the last "#" of the pattern matches.
bool matches(std::string_view name, std::string_view pattern, std::optional<unsigned>& number) {
  if (pattern.empty()) return name.empty();
  const std::string_view rest = pattern.substr(1);
  if (pattern.front() == '*') {
    for (std::size_t taken = 0; taken <= name.size(); ++taken)
      if (matches(name.substr(taken), rest, number)) return true;
    return false;
  }
  if (pattern.front() == '#') {
    const auto digits = static_cast<std::size_t>(std::ranges::find_if_not(name, is_digit) - name.begin());
    const auto found = config::number<unsigned>(name.substr(0, digits));
    if (!found) return false;
    number = found;
    return matches(name.substr(digits), rest, number);
  }
  return !name.empty() && name.front() == pattern.front() && matches(name.substr(1), rest, number);
}

struct Match {
  fs::path file;
  std::optional<unsigned> number;
};

bool is_there(const fs::path& file, const Machine& machine) {
  const auto text = machine.read(file);
  return text || text.error().code != Errc::unsupported;
}

/// Returns the matching entries of a folder, ordered by number, then by length and name: "zone10" follows "zone9".
std::vector<Match> entries(const Match& folder, std::string_view pattern, const Machine& machine) {
  std::vector<Match> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(machine.under_root(folder.file), error)) {
    Match match{.file = folder.file / entry.path().filename(), .number = folder.number};
    if (matches(entry.path().filename().string(), pattern, match.number)) found.push_back(std::move(match));
  }
  std::ranges::sort(found, {}, [](const Match& match) {
    const std::string name = match.file.filename();
    return std::tuple(match.number, name.size(), name);
  });
  return found;
}

std::vector<Match> matches_of(const fs::path& pattern, const Machine& machine) {
  std::vector<Match> found{{.file = "/", .number = std::nullopt}};
  for (const fs::path& part : pattern.relative_path()) {
    std::vector<Match> next;
    const std::string name = part;
    for (Match& match : found) {
      if (name.find_first_of("*#") == name.npos) next.push_back({match.file / part, match.number});
      else std::ranges::move(entries(match, name, machine), std::back_inserter(next));
    }
    found = std::move(next);
  }
  return found;
}

fs::path sibling(const Match& match, const std::string& name) {
  return match.file.parent_path() / (match.number ? with_number(name, *match.number) : name);
}

bool holds(const BoardPath& path, const Match& match, const Machine& machine) {
  return std::ranges::all_of(path.where, [&](const BoardPath::Condition& condition) {
    const auto text = machine.read(sibling(match, condition.name));
    return text && *text == condition.text;
  });
}

std::vector<Match> all_of(const BoardPath& path, const Machine& machine) {
  std::vector<Match> found = matches_of(path.file, machine);
  std::erase_if(found,
                [&](const Match& match) { return !is_there(match.file, machine) || !holds(path, match, machine); });
  return found;
}

/// Returns the greatest number in the text. Any other text separates numbers: "rates: 114750000 216750000".
std::optional<std::int64_t> greatest_number(std::string_view text) {
  std::optional<std::int64_t> greatest;
  const auto is_part = [](char c) { return is_digit(c) || c == '-'; };
  while (!text.empty()) {
    text.remove_prefix(static_cast<std::size_t>(std::ranges::find_if(text, is_part) - text.begin()));
    const auto size = static_cast<std::size_t>(std::ranges::find_if_not(text, is_part) - text.begin());
    if (const auto value = config::number<std::int64_t>(text.substr(0, size)))
      greatest = std::max(greatest.value_or(*value), *value);
    text.remove_prefix(size);
  }
  return greatest;
}

Result<std::int64_t> number_of(const fs::path& file, const Machine& machine) {
  const auto text = machine.read(file);
  if (!text) return Unexpected(text.error());
  if (const auto value = greatest_number(*text)) return *value;
  return fail(Errc::refused, machine.under_root(file).string() + " reads " + config::quoted(*text) + ", no number");
}

} // namespace

std::string with_number(std::string text, unsigned number) {
  const std::string digits = std::to_string(number);
  for (std::size_t at = text.find('#'); at != text.npos; at = text.find('#', at + digits.size()))
    text.replace(at, 1, digits);
  return text;
}

BoardPaths with_number(BoardPaths paths, unsigned number) {
  for (BoardPath& path : paths) {
    path.file = with_number(std::move(path.file), number);
    path.times = with_number(std::move(path.times), number);
    for (BoardPath::Condition& condition : path.where) condition.name = with_number(std::move(condition.name), number);
  }
  return paths;
}

std::optional<BoardFile> find_file(const BoardPaths& paths, const Machine& machine) {
  for (const BoardPath& path : paths)
    if (const auto found = all_of(path, machine); !found.empty())
      return BoardFile{.file = found.front().file,
                       .times = path.times.empty() ? fs::path() : sibling(found.front(), path.times),
                       .factor = path.unit.empty() ? 1 : thousand};
  return std::nullopt;
}

std::vector<unsigned> numbers_in(const BoardPaths& paths, const Machine& machine) {
  std::vector<unsigned> numbers;
  for (const BoardPath& path : paths) {
    for (const Match& match : all_of(path, machine))
      if (match.number) numbers.push_back(*match.number);
    if (!numbers.empty()) break;
  }
  std::ranges::sort(numbers);
  const auto twice = std::ranges::unique(numbers);
  numbers.erase(twice.begin(), twice.end());
  return numbers;
}

std::vector<fs::path> files_of(const BoardPaths& paths, const Machine& machine) {
  std::vector<fs::path> files;
  for (const BoardPath& path : paths)
    for (const Match& match : matches_of(path.file, machine)) {
      files.push_back(match.file);
      if (!path.times.empty()) files.push_back(sibling(match, path.times));
      for (const BoardPath::Condition& condition : path.where) files.push_back(sibling(match, condition.name));
    }
  return files;
}

std::vector<fs::path> files_like(const fs::path& pattern, const Machine& machine) {
  std::vector<fs::path> files;
  for (const Match& match : matches_of(pattern, machine)) files.push_back(match.file);
  return files;
}

Result<std::int64_t> read_value(const BoardFile& file, const Machine& machine) {
  auto value = number_of(file.file, machine);
  const auto times = file.times.empty() ? Result<std::int64_t>(1) : number_of(file.times, machine);
  if (!value) return value;
  if (!times) return times;
  std::int64_t product = 0;
  if (__builtin_mul_overflow(*value, *times, &product) || __builtin_mul_overflow(product, file.factor, &product))
    return fail(Errc::refused, machine.under_root(file.file).string() + " reads " + std::to_string(*value) +
                                   ", more than any clock or sensor can report");
  return product;
}

} // namespace rtexec::hal
