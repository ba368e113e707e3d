// Functions that only the readers of TOML files use.
#pragma once

#include <rtexec/board.hpp>
#include <rtexec/choices.hpp>
#include "config/content.hpp"
#include "config/base/files.hpp"
#include "config/keys.hpp"
#include "config/schema.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace rtexec::config {

[[nodiscard]] std::span<const KeyDoc> task_set_keys();
[[nodiscard]] std::span<const KeyDoc> board_keys();
[[nodiscard]] std::span<const KeyDoc> profile_keys();
[[nodiscard]] std::span<const KeyDoc> daemon_keys();

[[nodiscard]] bool is_board_path(std::string_view name_or_path);

/// Reads a TOML file with `parse`. If parsing fails because the file is not of the kind `wanted` (for example a board's
/// file instead of a task set), the error says so.
template <class Parse>
[[nodiscard]] auto read_toml(const std::filesystem::path& file, Content wanted, Parse parse)
    -> decltype(parse(std::string_view(), file)) {
  const auto text = read_file(file, max_file_bytes);
  auto parsed = text ? parse(std::string_view(*text), file) : Unexpected(text.error());
  if (!parsed)
    if (auto error = mistaken(file, text ? *text : beginning_of(file), wanted)) return Unexpected(std::move(*error));
  return parsed;
}

/// Returns the keys of the costs of swapping. S is SwapCost in a board. In a task set that replaces the board's costs,
/// S is SwapCostOptions.
template <class S> [[nodiscard]] std::vector<Key<S>> swap_cost_keys(std::string_view fallback) {
  const auto cost = duration(Duration{0}, longest_swap_cost);
  return {
      key<S>("in_per_chunk", cost, fallback,
             "time to load one chunk into device memory, including its mapping, while chunks are also copied out",
             &S::in_per_chunk),
      key<S>("out_per_chunk", cost, fallback,
             "time to copy one chunk out of device memory, including its unmapping, while chunks are also copied in",
             &S::out_per_chunk),
      key<S>("drop_per_chunk", cost, fallback, "time to evict one chunk of constants, which is unmapped and not copied",
             &S::drop_per_chunk),
      key<S>("in_fixed", cost, fallback,
             "fixed time to load the chunks of one job, in addition to the time of each chunk", &S::in_fixed),
      key<S>("out_fixed", cost, fallback,
             "fixed time to evict the chunks of one task, in addition to the time of each chunk", &S::out_fixed),
  };
}

/// Returns a value in TOML syntax, for a message.
template <class Value> [[nodiscard]] std::string literal(const Value& value) {
  if constexpr (std::is_integral_v<Value>) return std::to_string(value);
  else if constexpr (std::is_enum_v<Value>) return toml_string(spelling(value));
  else if constexpr (std::is_same_v<Value, std::filesystem::path>) return shortened(toml_string(value.string()), 200);
  else return toml_string(rtexec::to_string(value));
}

/// Reports that the rule between these keys is broken. The message is "FIRST KEY = VALUE: WHY".
template <class Value>
void broken(const Rules& rules, std::initializer_list<std::string_view> keys, const Value& value,
            const std::string& why) {
  rules.broken(keys, std::string(*keys.begin()) + " = " + literal(value) + ": " + why);
}

/// Checks that all elements of the list `table` have different values of `key`. `value` returns an element's value, or
/// nullopt if the element has none; `shown` returns the value's text.
template <class Value, class S, class Of, class Show>
void check_unique(std::string_view table, std::string_view key, const std::vector<S>& elements, Of value, Show shown,
                  Report& report) {
  std::map<Value, std::size_t> first;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const std::optional<Value> mine = std::invoke(value, elements[i]);
    if (!mine) continue;
    const auto [earlier, is_new] = first.try_emplace(*mine, i);
    if (!is_new)
      report.relation(
          {{.table = table, .index = i, .key = key}, {.table = table, .index = earlier->second, .key = key}},
          std::string(key) + " = " + shown(*mine) + ": already used by " + std::string(table) + " " +
              std::to_string(earlier->second + 1));
  }
}

/// Returns the [[swap_cost]] tables of a board file, with an empty line above each.
[[nodiscard]] std::string swap_cost_tables(std::span<const SwapCost> costs);

} // namespace rtexec::config
