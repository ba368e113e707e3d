// Puts what was measured into the text of a board file, and leaves all else in it as its author wrote it.
#pragma once

#include <rtexec/board.hpp>
#include <rtexec/result.hpp>

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace rtexec {

/// `board_toml` with `costs` in place of its [[swap_cost]] tables, and with `chunk`, if given, as its default chunk.
/// The tables go where its own ended, or to its end. Other lines stay as they are, byte for byte, and so do those of
/// comments between the tables; a comment behind a replaced value goes with it. Set-up only. Errors (bad_input): the
/// text before or after is no right board; `costs` of one chunk size twice, or a capacity that is not whole chunks.
[[nodiscard]] Result<std::string> with_swap_costs(std::string_view board_toml, std::optional<Bytes> chunk,
                                                  std::span<const SwapCost> costs);

/// `board_toml` with `measured`, costs of one store: each takes the place of the one of its store and chunk size, the
/// later of two that are measured, and the board's other costs stay. They are sorted by store and chunk size. `chosen`,
/// one of theirs, becomes the default chunk where all are of this store, or the default has none of it, since swapping
/// to the store would then be promised for no task set that does not name a chunk size; but not where the capacity is
/// not whole chunks of it. With nothing measured, the text as it is. Set-up only. Errors: as with_swap_costs.
[[nodiscard]] Result<std::string> with_measured_costs(std::string_view board_toml, Bytes chosen,
                                                      std::span<const SwapCost> measured);

/// `board_toml` with the facts of `measured` that are known (not 0) in its [memory] table, each in place of its value
/// there, or behind what the table has; a table that is not there goes to the end. One in another form (memory = {...},
/// memory.saturation = ...) is written anew, and loses what `measured` does not know. Other lines stay as they are,
/// byte for byte. Set-up only. bad_input: the text is no right board.
[[nodiscard]] Result<std::string> with_memory(std::string_view board_toml, const MemoryFacts& measured);

/// The same for [memory_costs]: all values of its kind of platform (`unified` or not), those that are 0 too; the
/// others' keys stay as they are.
[[nodiscard]] Result<std::string> with_memory_costs(std::string_view board_toml, const MemoryCosts& measured);

/// `board_toml` with `cut` in place of its own, or behind its keys that are in no table.
[[nodiscard]] Result<std::string> with_cut(std::string_view board_toml, Duration cut);

namespace config {
/// with_swap_costs() of any right TOML text, whatever other tables stand in it.
[[nodiscard]] std::string replace_swap_costs(std::string_view toml, std::optional<Bytes> chunk,
                                             std::span<const SwapCost> costs);
} // namespace config

} // namespace rtexec
