#include "rtexec/sharing/preload/call_table.hpp"

#include <algorithm>
#include <array>

namespace rtexec::preload {
namespace {

constexpr Row table[] = {
#define FUNCTION(symbol, asked, since, streams, treatment, arguments) \
  {#symbol, #asked, since, Streams::streams, Treatment::treatment},
#include "rtexec/sharing/preload/call_table.inc"
#undef FUNCTION
};

constexpr auto by_symbol = [] {
  std::array<std::uint16_t, std::size(table)> order{};
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::uint16_t>(i);
  std::ranges::sort(order, {}, [](std::uint16_t i) { return std::string_view(table[i].symbol); });
  return order;
}();

} // namespace

std::span<const Row> rows() noexcept { return table; }

std::optional<Id> find_symbol(std::string_view symbol) noexcept {
  const auto name_of = [](std::uint16_t i) { return std::string_view(table[i].symbol); };
  const auto found = std::ranges::lower_bound(by_symbol, symbol, {}, name_of);
  if (found == by_symbol.end() || name_of(*found) != symbol) return {};
  return static_cast<Id>(*found);
}

} // namespace rtexec::preload
