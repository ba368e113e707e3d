// The way out of set-up code and tools where nothing can go on: an error that their outermost caller tells or returns.
#pragma once

#include <rtexec/result.hpp>

#include <string>
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

} // namespace rtexec
