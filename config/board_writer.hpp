// Writes measured values into the text of a board file. All other text stays unchanged.
#pragma once

#include <rtexec/board.hpp>
#include <rtexec/result.hpp>

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace rtexec {

/// Returns `board_toml` with its [[swap_cost]] tables replaced by `costs`. If `chunk` is set, it becomes the board's
/// default chunk. The new tables begin where the old tables ended, or at the end of the text. Other lines stay
/// unchanged byte by byte, and so do comment lines between the tables. A comment after a replaced value is removed with
/// the value. Set-up only. Returns bad_input if the text before or after the change is no valid board. Also returns
/// bad_input if `costs` has a chunk size twice, or if the capacity is not a multiple of the chunk.
[[nodiscard]] Result<std::string> with_swap_costs(std::string_view board_toml, std::optional<Bytes> chunk,
                                                  std::span<const SwapCost> costs);

/// Returns `board_toml` with the costs `measured`, which all belong to one store (backing memory). Each measured cost
/// replaces the board's cost for its store and chunk size. If a chunk size was measured twice, the later cost counts.
/// The board's other costs stay. All costs are sorted by store and chunk size.
/// `chosen`, one of the measured chunk sizes, becomes the default chunk in two cases: all costs belong to this store,
/// or this store has no cost for the present default chunk. In the second case, without a new default, only task sets
/// that name a chunk size could swap to this store. `chosen` does not become the default if the capacity is not a
/// multiple of `chosen`.
/// If `measured` is empty, the text is returned unchanged. Set-up only. Returns the errors of with_swap_costs().
[[nodiscard]] Result<std::string> with_measured_costs(std::string_view board_toml, Bytes chosen,
                                                      std::span<const SwapCost> measured);

/// Returns `board_toml` with the known facts (not 0) of `measured` in its [memory] table. Each fact replaces the value
/// of its key, or is added after the last key of the table. A missing table is added at the end of the text. A table in
/// another form (memory = {...}, memory.saturation = ...) is replaced by a new table, without the facts that are
/// unknown in `measured`. Other lines stay unchanged byte by byte. Set-up only. Returns bad_input if the text is no
/// valid board.
[[nodiscard]] Result<std::string> with_memory(std::string_view board_toml, const MemoryFacts& measured);

/// Returns `board_toml` with the costs `measured` in its [memory_costs] table, by the rules of with_memory(). Writes
/// all values that apply to the platform's kind (`measured.unified` or not), including zeros. Keys of the other kind
/// stay unchanged.
[[nodiscard]] Result<std::string> with_memory_costs(std::string_view board_toml, const MemoryCosts& measured);

/// Returns `board_toml` with the key `cut` set to `cut`, the time that a cut between two segments adds. If the key is
/// missing, it is added after the last key that is outside of all tables.
[[nodiscard]] Result<std::string> with_cut(std::string_view board_toml, Duration cut);

namespace config {
/// Does the work of with_swap_costs() for any valid TOML text, which may have tables that a board does not have.
[[nodiscard]] std::string replace_swap_costs(std::string_view toml, std::optional<Bytes> chunk,
                                             std::span<const SwapCost> costs);
} // namespace config

} // namespace rtexec
