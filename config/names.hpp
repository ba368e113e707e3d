// How the enumerations of the configuration are spelled, in TOML files and in reports: one table each.
#pragma once

#include <rtexec/board.hpp>
#include <rtexec/task_set.hpp>

#include <span>
#include <string_view>

namespace rtexec {

template <class Enum> struct Spelling {
  std::string_view text;
  Enum value;
};

/// Every value of `Enum` with its spelling.
template <class Enum> [[nodiscard]] std::span<const Spelling<Enum>> spellings();
template <> std::span<const Spelling<Order>> spellings();
template <> std::span<const Spelling<PriorityAssignment>> spellings();
template <> std::span<const Spelling<Criticality>> spellings();
template <> std::span<const Spelling<OnOverrun>> spellings();
template <> std::span<const Spelling<WorkloadKind>> spellings();
template <> std::span<const Spelling<MemoryPolicy>> spellings();
template <> std::span<const Spelling<SwapPolicy>> spellings();
template <> std::span<const Spelling<StoreKind>> spellings();
template <> std::span<const Spelling<MemoryClass>> spellings();
template <> std::span<const Spelling<SwapCandidates>> spellings();
template <> std::span<const Spelling<ThreadPolicy>> spellings();
template <> std::span<const Spelling<DeviceKind>> spellings();
template <> std::span<const Spelling<Precision>> spellings();
template <> std::span<const Spelling<Completion>> spellings();
template <> std::span<const Spelling<TrafficPattern>> spellings();
template <> std::span<const Spelling<RegulateWhile>> spellings();
template <> std::span<const Spelling<BandwidthSharing>> spellings();
template <> std::span<const Spelling<Overshoot>> spellings();
template <> std::span<const Spelling<CounterBackEnd>> spellings();

/// "edf", "best-effort", "D", ...
template <class Enum> [[nodiscard]] std::string_view spelling(Enum value) {
  for (const Spelling<Enum>& known : spellings<Enum>())
    if (known.value == value) return known.text;
  return "?";
}

} // namespace rtexec
