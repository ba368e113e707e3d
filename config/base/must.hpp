// Errors that end set-up code and tools. Such errors are thrown as exceptions. The outermost caller reports the error
// or returns it.
#pragma once

#include <rtexec/result.hpp>

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace rtexec {

struct Failed {
  Error error;
};

[[noreturn]] inline void give_up(Errc code, std::string what) { throw Failed{{code, std::move(what)}}; }

/// Returns the value of `result`, or throws Failed if it is an error.
template <class T> T must(Result<T> result) {
  if (!result) throw Failed{std::move(result.error())};
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

/// Parses the text of an option and returns its value. If the text is invalid, throws Failed with an error that names
/// the option.
template <class T>
T value_of(const std::string& option, const std::string& text, Result<T> (*parse)(std::string_view)) {
  const auto value = parse(text);
  if (!value) give_up(value.error().code, option + " " + text + ": " + value.error().what);
  return *value;
}

/// Calls `work` and returns its result. If `work` throws Failed, returns the error in it.
template <class Work> [[nodiscard]] Result<std::invoke_result_t<Work>> caught(Work work) {
  try {
    return work();
  } catch (const Failed& failed) { return Unexpected(failed.error); }
}

} // namespace rtexec
