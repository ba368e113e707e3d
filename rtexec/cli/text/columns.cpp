#include "rtexec/cli/text/columns.hpp"

#include "config/base/text.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <ostream>

namespace rtexec::report {

namespace {

/// Returns the stream's storage (xalloc) in which this file keeps the limit of columns. 0 means that there is no limit.
long& limit(std::ostream& out) {
  static const int place = std::ios_base::xalloc();
  return out.iword(place);
}

struct Range {
  char32_t first, last;
};

// Characters without a width in Unicode 15: marks that combine with the previous character, joiners and selectors
constexpr std::array combining{
    Range{0x0300, 0x036F}, Range{0x0483, 0x0489},  Range{0x0591, 0x05BD}, Range{0x0610, 0x061A}, Range{0x064B, 0x065F},
    Range{0x0900, 0x0902}, Range{0x093C, 0x093C},  Range{0x0941, 0x0948}, Range{0x094D, 0x094D}, Range{0x0E31, 0x0E31},
    Range{0x0E34, 0x0E3A}, Range{0x0E47, 0x0E4E},  Range{0x1AB0, 0x1AFF}, Range{0x1DC0, 0x1DFF}, Range{0x200B, 0x200F},
    Range{0x202A, 0x202E}, Range{0x2060, 0x2064},  Range{0x20D0, 0x20FF}, Range{0xFE00, 0xFE0F}, Range{0xFE20, 0xFE2F},
    Range{0xFEFF, 0xFEFF}, Range{0xE0100, 0xE01EF}};
// Characters that take two columns: East Asian width W and F
constexpr std::array wide{
    Range{0x1100, 0x115F},   Range{0x231A, 0x231B},   Range{0x2329, 0x232A},   Range{0x23E9, 0x23EC},
    Range{0x25FD, 0x25FE},   Range{0x2614, 0x2615},   Range{0x2648, 0x2653},   Range{0x26AA, 0x26AB},
    Range{0x26BD, 0x26BE},   Range{0x26C4, 0x26C5},   Range{0x2705, 0x2705},   Range{0x270A, 0x270B},
    Range{0x274C, 0x274C},   Range{0x2753, 0x2755},   Range{0x2795, 0x2797},   Range{0x2B1B, 0x2B1C},
    Range{0x2E80, 0x303E},   Range{0x3041, 0x33FF},   Range{0x3400, 0x4DBF},   Range{0x4E00, 0x9FFF},
    Range{0xA000, 0xA4CF},   Range{0xA960, 0xA97F},   Range{0xAC00, 0xD7A3},   Range{0xF900, 0xFAFF},
    Range{0xFE30, 0xFE6F},   Range{0xFF00, 0xFF60},   Range{0xFFE0, 0xFFE6},   Range{0x16FE0, 0x18AFF},
    Range{0x1F300, 0x1F64F}, Range{0x1F680, 0x1F6FC}, Range{0x1F7E0, 0x1F7EB}, Range{0x1F900, 0x1FAFF},
    Range{0x20000, 0x3FFFD}};

template <std::size_t n> bool within(const std::array<Range, n>& ranges, char32_t character) {
  const auto next = std::ranges::upper_bound(ranges, character, {}, &Range::first);
  return next != ranges.begin() && character <= std::prev(next)->last;
}

/// Returns the columns of a character. nullopt means a byte that is no valid UTF-8, which takes one column.
std::size_t columns_of(std::optional<char32_t> character) {
  if (!character) return 1;
  return within(combining, *character) ? 0 : within(wide, *character) ? 2 : 1;
}

/// Returns the beginning of the text that fits into the columns.
std::string_view beginning(std::string_view text, std::size_t columns) {
  std::size_t bytes = 0;
  while (bytes < text.size()) {
    const auto next = config::first_character(text.substr(bytes));
    const std::size_t taken = columns_of(next.code);
    if (taken > columns) break;
    columns -= taken;
    bytes += next.bytes;
  }
  return text.substr(0, bytes);
}

} // namespace

void limit_columns(std::ostream& out, std::size_t columns) { limit(out) = static_cast<long>(columns); }

std::size_t room_of(std::ostream& out) {
  const long columns = limit(out);
  return columns > 0 ? static_cast<std::size_t>(columns) : Room().columns;
}

std::size_t columns(std::string_view text) {
  std::size_t count = 0;
  while (!text.empty()) {
    const auto next = config::first_character(text);
    count += columns_of(next.code);
    text.remove_prefix(next.bytes);
  }
  return count;
}

std::string cut(std::string_view text, std::size_t columns) {
  constexpr std::string_view more = "...";
  if (report::columns(text) <= columns) return std::string(text);
  if (columns <= more.size()) return std::string(beginning(text, columns));
  return std::string(beginning(text, columns - more.size())) + std::string(more);
}

std::vector<std::string> wrapped(std::string_view text, std::size_t columns, std::string_view indent, LongWord longer) {
  std::vector<std::string> lines;
  std::string line;
  bool begun = false; // the line has at least one word
  const auto end_line = [&] { lines.push_back(longer == LongWord::cut ? cut(line, columns) : line); };
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    if (begun && report::columns(line) + 1 + report::columns(word) > columns) {
      end_line();
      line = indent;
      begun = false;
    }
    if (begun) line += ' ';
    line += word;
    begun = true;
  }
  end_line();
  return lines;
}

} // namespace rtexec::report
