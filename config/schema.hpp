// The table of keys for one kind of file. One Key defines how a value is read, limited, written and documented.
//
// A Schema is a list of sections. A section is the file's top level (without a name), a table ("executive", or
// "device.swap_cost" for a table in a table), or a list of tables ("task"). Each section binds its keys to the members
// of a struct.
#pragma once

#include "config/document.hpp"
#include "config/keys.hpp"
#include "config/file_report.hpp"
#include "config/types.hpp"

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rtexec::config {

inline constexpr std::string_view required = "required";

/// One key of a struct S, the struct that a section is bound to. The functions of Key hide the type of the key's value.
template <class S> struct Key {
  std::string_view name; // a literal
  KeyDoc doc;
  std::function<Read<void>(const Value&, S&)> store;
  std::function<std::optional<std::string>(const S&)> show; // returns the value in TOML syntax; nullopt: S has no value
  std::function<std::string(const S&)> problem; // returns the limit that the value breaks; empty: the value is valid
};

/// Makes a key. `get` returns the key's value in S as std::optional<T>; `set` stores a value in S.
template <class S, class T, class Get, class Set>
[[nodiscard]] Key<S> key(std::string_view name, const Type<T>& type, std::string_view fallback,
                         std::string_view meaning, Get get, Set set) {
  return {.name = name,
          .doc = {.table = {},
                  .key = std::string(name),
                  .type = type.name,
                  .unit = type.unit,
                  .fallback = std::string(fallback),
                  .meaning = std::string(meaning)},
          .store = [=](const Value& value, S& target) -> Read<void> {
            const Read<T> read = type.read(value);
            if (!read) return Unexpected(read.error());
            if (std::string problem = type.problem(*read); !problem.empty()) return Unexpected(std::move(problem));
            set(target, *read);
            return {};
          },
          .show = [=](const S& source) -> std::optional<std::string> {
            const std::optional<T> value = get(source);
            if (!value) return std::nullopt;
            return type.write(*value);
          },
          .problem =
              [=](const S& source) {
                const std::optional<T> value = get(source);
                return value ? type.problem(*value) : std::string{};
              }};
}

/// Makes a key for a member of S, whose type is T or std::optional<T>. `member` is a member pointer, or a function that
/// returns a reference to the member.
template <class S, class T, class Member>
[[nodiscard]] Key<S> key(std::string_view name, const Type<T>& type, std::string_view fallback,
                         std::string_view meaning, Member member) {
  return key<S>(
      name, type, fallback, meaning, [=](const S& source) { return std::optional<T>(std::invoke(member, source)); },
      [=](S& target, const T& value) { std::invoke(member, target) = value; });
}

/// Makes a key for a member of S, whose default is the member's value in a default-constructed S. `member` is a member
/// pointer, or a function that returns a reference to the member.
template <class S, class T, class Member>
[[nodiscard]] Key<S> key(std::string_view name, const Type<T>& type, std::string_view meaning, Member member) {
  return key<S>(name, type, type.write(std::invoke(member, S{})), meaning, member);
}

/// Makes `key` also accept its name in earlier releases. The old name gives a warning.
template <class S> [[nodiscard]] Key<S> renamed(std::string_view old_name, Key<S> key) {
  key.doc.old_key = old_name;
  return key;
}

/// Makes a key for a text. An empty text in S means that the key has no value.
template <class S>
[[nodiscard]] Key<S> optional_text(std::string_view name, std::string_view fallback, std::string_view meaning,
                                   std::string S::*member) {
  return key<S>(
      name, text(), fallback, meaning,
      [=](const S& source) { return (source.*member).empty() ? std::nullopt : std::optional(source.*member); },
      [=](S& target, const std::string& value) { target.*member = value; });
}

/// The element of an outer list that contains an inner list. The default values mean that the list is at the file's top
/// level.
struct Around {
  std::size_t index = 0;
  std::string name{}; // name in messages: "task 'front'"
};

template <class Root> struct Section {
  std::string_view name; // a literal; empty: the file's top level
  std::vector<KeyDoc> docs;
  std::function<void(const Value&, Root&, const Around&, Report&)> read;
  std::function<void(const Root&, const Around&, Report&)> check; // checks the limits of single values
  std::function<std::string(const Root&)> write;
};

/// All sections of one kind of file, with the struct `Root` as the result.
template <class Root> struct Schema {
  std::vector<Section<Root>> sections; // begins with the file's top level
  std::vector<KeyDoc> docs;            // documentation of all sections
};

namespace detail {

template <class S>
[[nodiscard]] std::vector<KeyDoc> documents(const std::string& table, const std::vector<Key<S>>& keys) {
  std::vector<KeyDoc> docs;
  for (const Key<S>& key : keys) docs.emplace_back(key.doc).table = table;
  return docs;
}

/// Returns the entry of the key. If the file has only the key's old name, adds a warning and returns that entry.
/// Returns null if the file has neither name.
[[nodiscard]] const Entry* find_renamed(const Table& content, const KeyDoc& key, const KeyPath& place, Report& report);

template <class S>
void read_keys(const Table& content, const KeyPath& table, const std::vector<Key<S>>& keys, S& target, Report& report) {
  for (const Key<S>& key : keys) {
    const KeyPath place{.table = table.table, .index = table.index, .key = key.name, .around = table.around};
    const Entry* entry = find_renamed(content, key.doc, place, report);
    if (entry == nullptr) {
      if (key.doc.fallback == required) report.error(place, "missing key '" + key.doc.key + "' (" + key.doc.type + ")");
      continue;
    }
    report.locate(place, entry->value.at);
    if (const auto stored = key.store(entry->value, target); !stored)
      report.error(place, key.doc.key + " = " + spelled(entry->value) + ": " + stored.error());
  }
}

template <class S>
void check_keys(const S& source, const KeyPath& table, const std::vector<Key<S>>& keys, Report& report) {
  for (const Key<S>& key : keys)
    if (const std::string problem = key.problem(source); !problem.empty())
      report.error({.table = table.table, .index = table.index, .key = key.name, .around = table.around},
                   key.doc.key + " = " + shortened(*key.show(source)) + ": " + problem);
}

template <class S> [[nodiscard]] std::string write_keys(const S& source, const std::vector<Key<S>>& keys) {
  std::string text;
  for (const Key<S>& key : keys)
    if (const auto shown = key.show(source)) text += key.doc.key + " = " + *shown + "\n";
  return text;
}

/// Returns the table or list with the dotted name `name`, such as "device.swap_cost"; null if there is no such table.
[[nodiscard]] const Entry* find_section(const Table& top, std::string_view name);
/// Returns the name of a list's element for messages: "task 'front'", or "task 3" if its name is not valid.
[[nodiscard]] std::string element_name(std::string_view list, std::size_t index, std::string_view name);
[[nodiscard]] std::string element_name(std::string_view list, std::size_t index, const Table& element);
/// Returns the last part of a dotted name: "inputs" for "task.inputs".
[[nodiscard]] std::string_view last_name(std::string_view name);
[[nodiscard]] bool is_list_of_tables(const Value& value);
void report_unknown_names(const Table& top, std::span<const KeyDoc> docs, Report& report);

} // namespace detail

/// Makes the section of the table `name`, or of the file's top level if `name` is empty. `member` returns the struct
/// that contains the values of `keys`. A table in another table has a name such as "device.swap_cost"; the outer table
/// must be a section too.
template <class Root, class S, class Member>
[[nodiscard]] Section<Root> table(std::string_view name, Member member, std::vector<Key<S>> keys) {
  const std::string header = name.empty() ? "" : "[" + std::string(name) + "]";
  const KeyPath place{.table = name, .index = 0, .key = {}};
  return {.name = name,
          .docs = detail::documents(header, keys),
          .read =
              [=](const Value& value, Root& root, const Around&, Report& report) {
                report.locate(place, value.at);
                if (const auto* content = std::get_if<Table>(&value.content))
                  detail::read_keys(*content, place, keys, std::invoke(member, root), report);
                else report.error(place, "must be a table: write " + header + " once, and its keys below it");
              },
          .check = [=](const Root& root, const Around&,
                       Report& report) { detail::check_keys(std::invoke(member, root), place, keys, report); },
          .write =
              [=](const Root& root) {
                return (name.empty() ? "" : "\n" + header + "\n") + detail::write_keys(std::invoke(member, root), keys);
              }};
}

/// Passed as `named_by` for a list whose elements have no name. Messages then use the elements' numbers.
inline constexpr auto unnamed = [](const auto&) { return std::string_view{}; };
/// Passed as `complete` for a list whose elements are complete after their keys have been read.
inline constexpr auto as_read = [](const Table&, const KeyPath&, auto&, Report&) {};

/// Makes the section of a list of tables. `named_by` returns the name of an element, from its key "name". `complete` is
/// called for each element after its keys have been read, and sets members that depend on several keys. `inner`: the
/// lists within each element, such as "task.inputs" of "task".
template <class Root, class S, class Name, class Complete>
[[nodiscard]] Section<Root> list(std::string_view name, std::vector<S> Root::*member, Name named_by,
                                 std::vector<Key<S>> keys, Complete complete, std::vector<Section<S>> inner = {}) {
  const std::string header = "[[" + std::string(name) + "]]";
  const auto place_of = [=](std::size_t index, const Around& around) {
    return KeyPath{.table = name, .index = index, .key = {}, .around = around.index};
  };
  const auto shown_as = [=](std::size_t index, const Around& around, const auto& element) {
    return around.name.empty() ? detail::element_name(name, index, element)
                               : around.name + ", " + detail::element_name(detail::last_name(name), index, element);
  };
  std::vector<KeyDoc> docs = detail::documents(header, keys);
  for (const Section<S>& section : inner) docs.insert(docs.end(), section.docs.begin(), section.docs.end());
  return {.name = name,
          .docs = std::move(docs),
          .read =
              [=](const Value& value, Root& root, const Around& around, Report& report) {
                report.locate(place_of(0, around), value.at);
                if (!detail::is_list_of_tables(value))
                  return report.error(place_of(0, around), "must be a list of tables: write " + header + " above each");
                for (const Value& content : std::get<Array>(value.content)) {
                  const KeyPath place = place_of((root.*member).size(), around);
                  const auto& element = std::get<Table>(content.content);
                  S& target = (root.*member).emplace_back();
                  const std::string shown = shown_as(place.index, around, element);
                  report.locate(place, content.at);
                  report.name_element(place, shown);
                  detail::read_keys(element, place, keys, target, report);
                  for (const Section<S>& section : inner)
                    if (const Entry* entry = find(element, detail::last_name(section.name)))
                      section.read(entry->value, target, {.index = place.index, .name = shown}, report);
                  complete(element, place, target, report);
                }
              },
          .check =
              [=](const Root& root, const Around& around, Report& report) {
                for (std::size_t i = 0; i < (root.*member).size(); ++i) {
                  const S& element = (root.*member)[i];
                  const std::string shown = shown_as(i, around, std::string_view(std::invoke(named_by, element)));
                  report.name_element(place_of(i, around), shown);
                  detail::check_keys(element, place_of(i, around), keys, report);
                  for (const Section<S>& section : inner) section.check(element, {.index = i, .name = shown}, report);
                }
              },
          .write =
              [=](const Root& root) {
                std::string text;
                for (const S& element : root.*member) {
                  text += "\n" + header + "\n" + detail::write_keys(element, keys);
                  for (const Section<S>& section : inner) text += section.write(element);
                }
                return text;
              }};
}

template <class Root> [[nodiscard]] Schema<Root> schema(std::vector<Section<Root>> sections) {
  std::vector<KeyDoc> docs;
  for (const Section<Root>& section : sections) docs.insert(docs.end(), section.docs.begin(), section.docs.end());
  return {std::move(sections), std::move(docs)};
}

/// Parses a text; `file` is used only in messages. Calls `settle` with the parsed values; `settle` completes the values
/// and reports broken rules between them. Returns bad_input with all errors at once.
template <class Root, class Settle>
[[nodiscard]] Result<Root> parse(const Schema<Root>& schema, std::string_view toml, const std::filesystem::path& file,
                                 Settle settle) {
  const auto top = parse_document(toml, file.string());
  if (!top) return Unexpected(top.error());
  Root root;
  root.file = file;
  Report report(file);
  for (const Section<Root>& section : schema.sections) {
    if (section.name.empty()) {
      section.read({.at = {}, .content = *top}, root, {}, report);
    } else if (const Entry* entry = detail::find_section(*top, section.name)) {
      section.read(entry->value, root, {}, report);
    }
  }
  detail::report_unknown_names(*top, schema.docs, report);
  settle(root, report);
  if (const auto result = report.result(); !result) return Unexpected(result.error());
  return root;
}

template <class Root> void check(const Schema<Root>& schema, const Root& root, Report& report) {
  for (const Section<Root>& section : schema.sections) section.check(root, {}, report);
}

template <class Root> [[nodiscard]] std::string write(const Schema<Root>& schema, const Root& root) {
  std::string text;
  for (const Section<Root>& section : schema.sections) text += section.write(root);
  return text;
}

} // namespace rtexec::config
