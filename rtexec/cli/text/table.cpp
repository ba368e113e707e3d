#include "rtexec/cli/text/table.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ostream>

namespace rtexec::report {
namespace {

/// Returns the width to which the first column is cut if not all columns fit.
std::size_t narrow(std::size_t columns) { return std::max<std::size_t>(8, columns / 4); }

} // namespace

std::vector<std::size_t> Table::widths() const {
  std::vector<std::size_t> widths(rows_.front().cells.size(), 0);
  for (const Row& row : rows_)
    for (std::size_t i = 0; i < row.cells.size(); ++i) widths[i] = std::max(widths[i], columns(row.cells[i]));
  return widths;
}

bool Table::is_text(std::size_t column) const { return std::ranges::find(texts_, column) != texts_.end(); }

std::vector<std::vector<std::size_t>> Table::blocks(std::span<const std::size_t> widths, std::size_t room) const {
  std::vector<std::size_t> names;
  while (names.size() < widths.size() && is_text(names.size())) names.push_back(names.size());
  const auto width = [&](const std::vector<std::size_t>& block) {
    std::size_t sum = 2 * (block.size() - 1);
    for (const std::size_t column : block) sum += widths[column];
    return sum;
  };
  std::vector<std::vector<std::size_t>> blocks{names};
  for (std::size_t column = names.size(); column < widths.size(); ++column) {
    blocks.back().push_back(column);
    if (width(blocks.back()) <= room || blocks.back().size() == names.size() + 1 || is_text(widths.size() - 1))
      continue;
    blocks.back().pop_back();
    blocks.push_back(names);
    blocks.back().push_back(column);
  }
  return blocks;
}

void Table::print(std::ostream& out, std::string_view indent) const {
  const auto widths = this->widths();
  const std::size_t room = room_of(out);
  for (const auto& block : blocks(widths, room - std::min(room, indent.size())))
    for (const Row& row : rows_) {
      std::string line(indent);
      for (const std::size_t i : block) {
        const std::string fill(widths[i] - columns(row.cells[i]), ' ');
        line += (i == block.front() ? "" : "  ") + (is_text(i) ? row.cells[i] + fill : fill + row.cells[i]);
      }
      if (is_text(block.back()) && block.size() > 1) line.resize(line.find_last_not_of(' ') + 1);
      out << Toned{row.tone, line} << '\n';
    }
  if (left_out_ > 0) out << indent << "... and " << left_out_ << " more\n";
}

void Table::print(std::ostream& out, Room room) const {
  if (room.lines > 0) fitted(room).print(out, margin);
}

Table Table::fitted(Room room) const {
  Table result = *this;
  const auto wide = [&] {
    std::size_t sum = margin.size();
    for (const std::size_t width : result.widths()) sum += width + 2;
    return sum - 2 > room.columns;
  };
  if (wide())
    for (Row& row : result.rows_) row.cells.front() = cut(row.cells.front(), narrow(room.columns));
  while (result.rows_.front().cells.size() > 1 && wide())
    for (Row& row : result.rows_) row.cells.pop_back();
  result.cut_rows(room.lines);
  return result;
}

void Table::cut_rows(std::size_t lines) {
  if (rows_.size() <= lines) return;
  std::stable_partition(rows_.begin() + 1, rows_.end(), [](const Row& row) { return row.tone == Tone::bad; });
  // The number of lines to print, including the header. One more line is for the count of omitted rows.
  const std::size_t kept = std::max<std::size_t>(lines, 2) - 1;
  left_out_ = lines > 1 ? rows_.size() - kept : 0;
  rows_.erase(rows_.begin() + static_cast<std::ptrdiff_t>(kept), rows_.end());
}

} // namespace rtexec::report
