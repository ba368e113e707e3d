// Fuzzes the TOML readers: any text gives a valid struct, or is refused with a message.
#include "config/profile_file.hpp"
#include <rtexec/board.hpp>
#include <rtexec/task_set.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace {

template <class T> void require_message_on_failure(const rtexec::Result<T>& result) {
  if (!result && (result.error().code != rtexec::Errc::bad_input || result.error().what.empty())) std::abort();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto tasks = rtexec::parse_task_set(text, "fuzz.toml");
  require_message_on_failure(tasks);
  if (tasks && !rtexec::validate(*tasks)) std::abort();
  require_message_on_failure(rtexec::parse_board(text, "fuzz.toml"));
  require_message_on_failure(rtexec::parse_profile(text, "fuzz.toml"));
  return 0;
}
