// Writes measured values into the text of a board file, and leaves all else in it as its author wrote it.
#pragma once

#include <rtexec/board.hpp>
#include <rtexec/result.hpp>

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace rtexec {

/// Returns `board_toml` with `costs` in place of its [[swap_cost]] tables and, if given, with `chunk` as its default
/// chunk. The tables go where its own ended, or to its end. Other lines stay as they are, byte for byte, and so do
/// comment lines between the tables. A comment behind a replaced value is removed with it. Set-up only. Returns
/// bad_input if the text before or after is no valid board, if `costs` has one chunk size twice, or if the capacity is
/// not whole chunks.
[[nodiscard]] Result<std::string> with_swap_costs(std::string_view board_toml, std::optional<Bytes> chunk,
                                                  std::span<const SwapCost> costs);

/// Returns `board_toml` with `measured`, costs of one store. Each replaces the cost of its store and chunk size; of two
/// measured ones the later counts. The board's other costs stay. The costs are sorted by store and chunk size.
/// `chosen`, one of their chunk sizes, becomes the default chunk in two cases: all costs are of this store, or this
/// store has no cost for the default chunk. In the second case swapping to the store could otherwise be promised only
/// to task sets that name a chunk size. `chosen` does not become the default if the capacity is not whole chunks of it.
/// If nothing was measured, the text is returned as it is. Set-up only. Returns errors as with_swap_costs() does.
[[nodiscard]] Result<std::string> with_measured_costs(std::string_view board_toml, Bytes chosen,
                                                      std::span<const SwapCost> measured);

/// Returns `board_toml` with the facts of `measured` that are known (not 0) in its [memory] table. Each replaces its
/// value there, or follows the table's keys; a missing table is added at the end. A table in another form (memory =
/// {...}, memory.saturation = ...) is written anew, and loses what `measured` does not know. Other lines stay as they
/// are, byte for byte. Set-up only. Returns bad_input if the text is no valid board.
[[nodiscard]] Result<std::string> with_memory(std::string_view board_toml, const MemoryFacts& measured);

/// Does the same for [memory_costs]: writes all values of its kind of platform (`unified` or not), zeros included. The
/// keys of the other kind stay as they are.
[[nodiscard]] Result<std::string> with_memory_costs(std::string_view board_toml, const MemoryCosts& measured);

/// Returns `board_toml` with `cut` in place of its own, or behind its keys that are in no table.
[[nodiscard]] Result<std::string> with_cut(std::string_view board_toml, Duration cut);

namespace config {
/// Does the work of with_swap_costs() for any valid TOML text, whatever other tables it has.
[[nodiscard]] std::string replace_swap_costs(std::string_view toml, std::optional<Bytes> chunk,
                                             std::span<const SwapCost> costs);
} // namespace config

} // namespace rtexec
