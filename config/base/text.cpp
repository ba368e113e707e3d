#include "config/base/text.hpp"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <utility>

namespace rtexec::config {
namespace {

/// Returns the edit distance by optimal string alignment: insertions, deletions, replacements, and swaps of neighbours
/// each count as one.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_previous(b.size() + 1);
  std::vector<std::size_t> previous(b.size() + 1);
  std::vector<std::size_t> current(b.size() + 1);
  std::iota(current.begin(), current.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::swap(before_previous, previous);
    std::swap(previous, current);
    current[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      current[j] = std::min({replaced, previous[j] + 1, current[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        current[j] = std::min(current[j], before_previous[j - 2] + 1);
    }
  }
  return current.back();
}

bool is_control(char32_t code) { return code < 0x20 || (code >= 0x7f && code < 0xa0); }

std::string escape(char kind, int digits, unsigned code) {
  char text[16];
  std::snprintf(text, sizeof text, "\\%c%0*X", kind, digits, code);
  return text;
}

} // namespace

Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return {byte(0)};
  const std::size_t bytes = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
  constexpr char32_t least[] = {0, 0, 0x80, 0x800,
                                0x10000}; // by number of bytes: the smallest code that needs this number of bytes
  if (byte(0) < 0xc0 || byte(0) > 0xf7 || text.size() < bytes) return {};
  char32_t code = byte(0) & (0xffu >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3fu);
  }
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  if (code < least[bytes] || surrogate || code > 0x10ffff) return {};
  return {code, bytes};
}

std::string_view beginning(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return text;
  const auto continues = [&](std::size_t at) { return (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80; };
  while (limit > 0 && continues(limit)) --limit;
  return text.substr(0, limit);
}

std::string escaped(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const auto [code, bytes] = first_character(text);
    if (code == U'"' || code == U'\\') result += '\\';
    if (code && is_control(*code)) result += escape('u', 4, *code);
    else result += text.substr(0, bytes);
    text.remove_prefix(bytes);
  }
  return result;
}

std::string toml_string(std::string_view text) { return '"' + escaped(text) + '"'; }

std::string shortened(std::string text, std::size_t limit) {
  if (text.size() <= limit) return text;
  text.resize(beginning(text, limit).size());
  return text + "...";
}

std::string printable(std::string_view text, std::size_t limit) {
  std::string result;
  while (!text.empty()) {
    const auto [code, bytes] = first_character(text);
    const std::string shown = !code               ? escape('x', 2, static_cast<unsigned char>(text[0]))
                              : is_control(*code) ? escape('u', 4, *code)
                                                  : std::string(text.substr(0, bytes));
    if (result.size() + shown.size() > limit) return result + "...";
    result += shown;
    text.remove_prefix(bytes);
  }
  return result;
}

std::string quoted(std::string_view text, std::size_t limit) { return "'" + printable(text, limit) + "'"; }

std::string shell_word(std::string_view text) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-./+:,@%=").contains(c);
  };
  if (!text.empty() && std::ranges::all_of(text, plain)) return std::string(text);
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

void add_line(std::string& text, std::string_view line) {
  if (!text.empty()) text += '\n';
  text += line;
}

std::string alternatives(std::span<const std::string_view> words) {
  std::string result;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) result += i + 1 == words.size() ? " or " : ", ";
    result += words[i];
  }
  return result;
}

std::optional<std::string_view> nearest(std::string_view word, std::span<const std::string_view> known) {
  const std::size_t limit = std::max<std::size_t>(1, word.size() / 3);
  std::optional<std::string_view> best;
  std::size_t best_distance = limit + 1;
  for (const std::string_view candidate : known) {
    if (word.size() > candidate.size() + limit) continue;
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::vector<std::string_view> parts(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const auto end = std::min(text.find(separator), text.size());
    if (end > 0) parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

std::string fixed(double value, int digits) {
  char text[48];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return std::strtod(text, nullptr) == 0 && text[0] == '-' ? text + 1 : text;
}

std::string significant(double value, int digits) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*g", digits, value);
  return text;
}

} // namespace rtexec::config
