#include "config/schema.hpp"

#include <functional>

namespace rtexec::config::detail {
namespace {

std::string_view without_brackets(std::string_view header) {
  const auto is_bracket = [](char c) { return c == '[' || c == ']'; };
  while (!header.empty() && is_bracket(header.front())) header.remove_prefix(1);
  while (!header.empty() && is_bracket(header.back())) header.remove_suffix(1);
  return header;
}

bool is_table(const Value& value) { return std::holds_alternative<Table>(value.content) || is_list_of_tables(value); }

/// Returns the last name of the table `inner` if `inner` is within the table `outer`: "swap_cost" for the headers
/// "[device]" and "[device.swap_cost]". Otherwise returns an empty text.
std::string_view name_within(std::string_view outer, std::string_view inner) {
  const std::string_view name = without_brackets(inner);
  const std::size_t dot = name.rfind('.');
  const std::string_view parent = dot == std::string_view::npos ? std::string_view{} : name.substr(0, dot);
  return parent == without_brackets(outer) ? name.substr(dot + 1) : std::string_view{}; // npos + 1 is 0
}

/// Returns the names that are allowed in one table of a file: its keys and its inner tables.
std::vector<std::string_view> known_names(std::string_view table, std::span<const KeyDoc> docs) {
  std::vector<std::string_view> names;
  for (const KeyDoc& doc : docs) {
    const std::string_view name = doc.table == table ? std::string_view(doc.key) : name_within(table, doc.table);
    if (!name.empty() && std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return names;
}

bool is_old_name(std::string_view name, std::string_view table, std::span<const KeyDoc> docs) {
  return std::ranges::any_of(docs, [&](const KeyDoc& doc) { return doc.table == table && doc.old_key == name; });
}

std::string hint(std::string_view name, std::string_view table, std::span<const KeyDoc> docs,
                 const std::vector<std::string_view>& known) {
  if (const auto near = nearest(name, known)) return "did you mean '" + std::string(*near) + "'?";
  const auto elsewhere =
      std::ranges::find_if(docs, [&](const KeyDoc& doc) { return doc.key == name && doc.table != table; });
  if (elsewhere != docs.end())
    return elsewhere->table.empty() ? "it must be above the first [table]" : "it must be below " + elsewhere->table;
  return "expected " + alternatives(known);
}

void report_unknown(const Table& content, std::string_view table, const KeyPath& place, std::span<const KeyDoc> docs,
                    Report& report) {
  const std::vector<std::string_view> known = known_names(table, docs);
  for (const Entry& entry : content) {
    if (std::ranges::find(known, entry.key) != known.end()) continue;
    if (is_old_name(entry.key, table, docs)) continue;
    report.error(place, entry.at,
                 std::string("unknown ") + (is_table(entry.value) ? "table" : "key") + " '" +
                     shortened(escaped(entry.key)) + "': " + hint(entry.key, table, docs, known));
  }
}

/// Returns the headers of all tables, each once.
std::vector<std::string_view> headers(std::span<const KeyDoc> docs) {
  std::vector<std::string_view> result;
  for (const KeyDoc& doc : docs)
    if (!doc.table.empty() && (result.empty() || result.back() != doc.table)) result.push_back(doc.table);
  return result;
}

/// Calls `look` for each table with the dotted name `name` within `top`. If a part of the name is a list, calls `look`
/// for each element. `place`: the path of `top`.
void for_each_table(const Table& top, std::string_view name, const KeyPath& place,
                    const std::function<void(const Table&, const KeyPath&)>& look) {
  const std::size_t dot = name.find('.');
  const Entry* entry = find(top, name.substr(0, dot));
  if (entry == nullptr) return;
  const auto go_on = [&](const Table& content, const KeyPath& at) {
    if (dot == std::string_view::npos) return look(content, at);
    for_each_table(content, name.substr(dot + 1), {.table = at.table, .index = 0, .key = {}, .around = at.index}, look);
  };
  if (const auto* content = std::get_if<Table>(&entry->value.content)) return go_on(*content, place);
  if (!is_list_of_tables(entry->value)) return;
  KeyPath at = place;
  for (const Value& element : std::get<Array>(entry->value.content)) {
    go_on(std::get<Table>(element.content), at);
    ++at.index;
  }
}

} // namespace

const Entry* find_renamed(const Table& content, const KeyDoc& key, const KeyPath& place, Report& report) {
  const Entry* entry = find(content, key.key);
  const Entry* old = key.old_key.empty() ? nullptr : find(content, key.old_key);
  if (old == nullptr) return entry;
  if (entry != nullptr)
    report.error(place, old->at,
                 key.old_key + ": it is the old name of " + key.key + ", which is given too: remove it");
  else report.warn(old->at, key.old_key + ": its name is now " + key.key + "; the next release refuses the old name");
  return entry != nullptr ? entry : old;
}

const Entry* find_section(const Table& top, std::string_view name) {
  const std::size_t dot = name.find('.');
  const Entry* entry = find(top, name.substr(0, dot));
  if (entry == nullptr || dot == std::string_view::npos) return entry;
  const auto* content = std::get_if<Table>(&entry->value.content);
  return content == nullptr ? nullptr : find_section(*content, name.substr(dot + 1));
}

std::string_view last_name(std::string_view name) { return name.substr(name.rfind('.') + 1); } // npos + 1 is 0

std::string element_name(std::string_view list, std::size_t index, std::string_view name) {
  return std::string(list) + " " + (is_identifier(name) ? "'" + std::string(name) + "'" : std::to_string(index + 1));
}

std::string element_name(std::string_view list, std::size_t index, const Table& element) {
  const Entry* entry = find(element, "name");
  const auto* name = entry == nullptr ? nullptr : std::get_if<std::string>(&entry->value.content);
  return element_name(list, index, name == nullptr ? std::string_view{} : *name);
}

bool is_list_of_tables(const Value& value) {
  const auto* array = std::get_if<Array>(&value.content);
  return array != nullptr &&
         std::ranges::all_of(*array, [](const Value& v) { return std::holds_alternative<Table>(v.content); });
}

void report_unknown_names(const Table& top, std::span<const KeyDoc> docs, Report& report) {
  report_unknown(top, "", {}, docs, report);
  for (const std::string_view header : headers(docs)) {
    const std::string_view name = without_brackets(header);
    for_each_table(top, name, {.table = name, .index = 0, .key = {}}, [&](const Table& content, const KeyPath& place) {
      report_unknown(content, header, place, docs, report);
    });
  }
}

} // namespace rtexec::config::detail
