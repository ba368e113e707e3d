// Functions that can fail at run time return Result<T>: either a value, or an Error that says what failed, where, why,
// and what to do. Real-time code uses Status, which contains only a code and never allocates.
#pragma once

#include <rtexec/export.hpp>

#include <optional>
#include <ostream>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

namespace rtexec {

enum class Errc {
  bad_input,     // a file or an argument has an impossible value            (exit code 2)
  not_proved,    // admission could not promise the requested deadlines      (exit code 3)
  missed,        // a deadline or a bound was missed, or a WCET was exceeded and ended the run       (exit code 4)
  refused,       // the machine refused a request                            (exit code 5)
  out_of_memory, // a device, an arena or a fixed table is full
  unsupported,   // the board or this version of rtexec does not support the request
  device_fault,  // the device, or work on it, failed
  device_lost,   // an earlier fault ended the device: no further work can run on it
  cancelled,     // the work was withdrawn before it ran
  io_error,      // a backing store could not be read or written
  corrupted,     // memory came back from its backing store with other contents
  stale,         // an input has no new value
};

struct Error {
  Errc code;
  std::string what; // one or more full lines, ready to be shown to the user
};

/// A failed Expected, for return statements: `return Unexpected(error);`.
template <class E> class Unexpected {
 public:
  explicit constexpr Unexpected(E error) : error_(std::move(error)) {}
  [[nodiscard]] constexpr E& error() & noexcept { return error_; }
  [[nodiscard]] constexpr const E& error() const& noexcept { return error_; }
  [[nodiscard]] constexpr E&& error() && noexcept { return std::move(error_); }
  friend constexpr bool operator==(const Unexpected&, const Unexpected&) = default;

 private:
  E error_;
};

/// A value or an error, like std::expected, which some supported compilers lack. If the object contains an error,
/// access to the value by `*` or `->` is undefined behaviour, and value() throws std::bad_variant_access.
template <class T, class E> class [[nodiscard]] Expected {
 public:
  using value_type = T;
  using error_type = E;

  constexpr Expected() requires std::is_default_constructible_v<T>
  = default;
  template <class U = T>
  requires(!std::is_same_v<std::remove_cvref_t<U>, Expected> &&
           std::is_constructible_v<T, U>) constexpr explicit(!std::is_convertible_v<U, T>) Expected(U&& value)
      : content_(std::in_place_index<0>, std::forward<U>(value)) {}
  template <class F>
  requires std::is_constructible_v<E, F>
  constexpr Expected(Unexpected<F> error)
      : content_(std::in_place_index<1>, Unexpected<E>(E(std::move(error).error()))) {}

  [[nodiscard]] constexpr bool has_value() const noexcept { return content_.index() == 0; }
  [[nodiscard]] constexpr explicit operator bool() const noexcept { return has_value(); }

  [[nodiscard]] constexpr T& operator*() & noexcept { return *std::get_if<0>(&content_); }
  [[nodiscard]] constexpr const T& operator*() const& noexcept { return *std::get_if<0>(&content_); }
  [[nodiscard]] constexpr T&& operator*() && noexcept { return std::move(*std::get_if<0>(&content_)); }
  [[nodiscard]] constexpr T* operator->() noexcept { return std::get_if<0>(&content_); }
  [[nodiscard]] constexpr const T* operator->() const noexcept { return std::get_if<0>(&content_); }
  constexpr T& value() & { return std::get<0>(content_); }
  constexpr const T& value() const& { return std::get<0>(content_); }
  constexpr T&& value() && { return std::get<0>(std::move(content_)); }
  template <class U> [[nodiscard]] constexpr T value_or(U&& otherwise) const& {
    return has_value() ? **this : static_cast<T>(std::forward<U>(otherwise));
  }
  template <class U> [[nodiscard]] constexpr T value_or(U&& otherwise) && {
    return has_value() ? std::move(**this) : static_cast<T>(std::forward<U>(otherwise));
  }

  [[nodiscard]] constexpr E& error() & noexcept { return std::get_if<1>(&content_)->error(); }
  [[nodiscard]] constexpr const E& error() const& noexcept { return std::get_if<1>(&content_)->error(); }
  [[nodiscard]] constexpr E&& error() && noexcept { return std::move(*std::get_if<1>(&content_)).error(); }

  friend constexpr bool operator==(const Expected& a, const Expected& b) { return a.content_ == b.content_; }
  friend constexpr bool operator==(const Expected& a, const T& value) { return a.has_value() && *a == value; }
  friend constexpr bool operator==(const Expected& a, const Unexpected<E>& error) {
    return !a.has_value() && a.error() == error.error();
  }

 private:
  std::variant<T, Unexpected<E>> content_;
};

/// An Expected without a value: either success or an error.
template <class E> class [[nodiscard]] Expected<void, E> {
 public:
  using value_type = void;
  using error_type = E;

  constexpr Expected() = default;
  template <class F>
  requires std::is_constructible_v<E, F>
  constexpr Expected(Unexpected<F> error) : error_(E(std::move(error).error())) {}

  [[nodiscard]] constexpr bool has_value() const noexcept { return !error_; }
  [[nodiscard]] constexpr explicit operator bool() const noexcept { return has_value(); }
  constexpr void operator*() const noexcept {}

  [[nodiscard]] constexpr E& error() & noexcept { return *error_; }
  [[nodiscard]] constexpr const E& error() const& noexcept { return *error_; }
  [[nodiscard]] constexpr E&& error() && noexcept { return *std::move(error_); }

  friend constexpr bool operator==(const Expected& a, const Expected& b) { return a.error_ == b.error_; }
  friend constexpr bool operator==(const Expected& a, const Unexpected<E>& error) {
    return !a.has_value() && a.error() == error.error();
  }

 private:
  std::optional<E> error_;
};

template <class T = void> using Result = Expected<T, Error>;

using Status = Expected<void, Errc>;

[[nodiscard]] inline Unexpected<Error> fail(Errc code, std::string what) {
  return Unexpected(Error{code, std::move(what)});
}

/// Returns the process's exit code for `code`, which the help of the command line documents.
[[nodiscard]] RTEXEC_API int exit_code(Errc code);
/// Returns the name of the code for messages: "bad input", "refused", ...
[[nodiscard]] RTEXEC_API const char* name(Errc code);

/// Prints the name() of a value of any enumeration of the library.
template <class Enum>
requires std::is_enum_v<Enum>
auto operator<<(std::ostream& out, Enum value) -> decltype(out << name(value)) { return out << name(value); }

} // namespace rtexec
