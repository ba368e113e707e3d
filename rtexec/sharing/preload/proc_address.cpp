#include "rtexec/sharing/preload/proc_address.hpp"

#include "rtexec/sharing/preload/preloaded_library.hpp"
#include "rtexec/sharing/preload/symbols.hpp"

#include <array>
#include <cstdio>
#include <string_view>

namespace rtexec::preload {
namespace {

constexpr std::uint64_t own_streams = 2; // CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM

/// Returns the driver's answer to cuGetProcAddress, in either version of that function.
void* driver_function(const char* name, int version, std::uint64_t flags) noexcept {
  using hal::cuda::Code;
  void* found = nullptr;
  if (void* newer = real_function(Id::cuGetProcAddress_v2)) {
    const auto ask = reinterpret_cast<Code (*)(const char*, void**, int, std::uint64_t, void*)>(newer);
    return ask(name, &found, version, flags, nullptr) == Code::success ? found : nullptr;
  }
  if (void* older = real_function(Id::cuGetProcAddress)) {
    const auto ask = reinterpret_cast<Code (*)(const char*, void**, int, std::uint64_t)>(older);
    return ask(name, &found, version, flags) == Code::success ? found : nullptr;
  }
  return nullptr;
}

} // namespace

void* translate(const char* name, void* found, int version, std::uint64_t flags) noexcept {
  bool known = false;
  for (std::size_t i = 0; i < rows().size(); ++i) {
    const auto id = static_cast<Id>(i);
    const Row& row = row_of(id);
    // The name may also be the beginning of the row's name. For example, in older CUDA versions the name
    // cuGraphInstantiate meant the function that is now cuGraphInstantiateWithFlags.
    const std::string_view asked(row.asked);
    if (!asked.starts_with(name)) continue;
    known = known || asked == name;
    if (found == real_function(id) || found == exported_function(id)) return exported_function(id);
    const bool own = row.streams == Streams::own;
    if (own && (flags & own_streams) == 0) continue;
    const auto same_flags = own ? flags : flags & ~own_streams;
    if (row.since <= version && driver_function(row.asked, row.since, same_flags) == found)
      return exported_function(id);
  }
  if (known) {
    std::array<char, 200> text{};
    std::snprintf(text.data(), text.size(), "%s of CUDA %d.%d is not known: passed on", name, version / 1000,
                  version % 1000 / 10);
    say_once(Occasion::unknown_version, text.data());
  }
  return found;
}

} // namespace rtexec::preload
