// The way out of set-up code and tools where nothing can go on: an error that their outermost caller tells or returns.
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

/// What `result` has; Failed is thrown where that is an error.
template <class T> T must(Result<T> result) {
  if (!result) throw Failed{std::move(result.error())};
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

/// The value of an option; the error names the option where its text is none.
template <class T>
T value_of(const std::string& option, const std::string& text, Result<T> (*parse)(std::string_view)) {
  const auto value = parse(text);
  if (!value) give_up(value.error().code, option + " " + text + ": " + value.error().what);
  return *value;
}

/// What `work` returns, or the error that ended it.
template <class Work> [[nodiscard]] Result<std::invoke_result_t<Work>> caught(Work work) {
  try {
    return work();
  } catch (const Failed& failed) { return Unexpected(failed.error); }
}

} // namespace rtexec
