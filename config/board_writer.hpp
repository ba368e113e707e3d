// Writes measured values into the text of a board file. All other text stays as its author wrote it.
#pragma once

#include <rtexec/board.hpp>
#include <rtexec/result.hpp>

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace rtexec {

/// Returns `board_toml` with `costs` in place of its [[swap_cost]] tables. If `chunk` is given, it becomes the board's
/// default chunk. The new tables are placed where the old ones ended, or at the end of the text. Other lines stay as
/// they are, byte for byte, and so do comment lines between the tables. A comment behind a replaced value is removed
/// with it. Set-up only. Returns bad_input if the text before or after is no valid board, if `costs` has one chunk size
/// twice, or if the capacity is not in whole chunks.
[[nodiscard]] Result<std::string> with_swap_costs(std::string_view board_toml, std::optional<Bytes> chunk,
                                                  std::span<const SwapCost> costs);

/// Returns `board_toml` with the costs `measured`, all of one store (backing memory). Each replaces the cost of its
/// store and chunk size; if a chunk size was measured twice, the later one counts. The board's other costs stay. All
/// costs are sorted by store and chunk size.
/// `chosen`, one of the measured chunk sizes, becomes the default chunk in two cases: all costs are of this store, or
/// this store has no cost for the default chunk. In the second case, only task sets that name a chunk size could swap
/// to this store. `chosen` does not become the default if the capacity is not a multiple of it.
/// If nothing was measured, the text is returned as it is. Set-up only. Returns errors as with_swap_costs() does.
[[nodiscard]] Result<std::string> with_measured_costs(std::string_view board_toml, Bytes chosen,
                                                      std::span<const SwapCost> measured);

/// Returns `board_toml` with the facts of `measured` that are known (not 0) in its [memory] table. Each replaces the
/// value of its key, or is added after the last key of the table. A missing table is added at the end of the text. A
/// table in another form (memory = {...}, memory.saturation = ...) is replaced by a new one, and loses the facts that
/// `measured` does not know. Other lines stay as they are, byte for byte. Set-up only. Returns bad_input if the text is
/// no valid board.
[[nodiscard]] Result<std::string> with_memory(std::string_view board_toml, const MemoryFacts& measured);

/// Does the same for the table [memory_costs]. It writes all values that apply to the kind of platform
/// (`measured.unified` or not), zeros included. Keys for the other kind stay as they are.
[[nodiscard]] Result<std::string> with_memory_costs(std::string_view board_toml, const MemoryCosts& measured);

/// Returns `board_toml` with the key `cut` set to `cut`, the time that a cut between two segments adds. If the key is
/// missing, it is added after the last key that is outside of all tables.
[[nodiscard]] Result<std::string> with_cut(std::string_view board_toml, Duration cut);

namespace config {
/// Does the work of with_swap_costs() for any valid TOML text, which may have other tables than a board.
[[nodiscard]] std::string replace_swap_costs(std::string_view toml, std::optional<Bytes> chunk,
                                             std::span<const SwapCost> costs);
} // namespace config

} // namespace rtexec
