// Checks at compile time that a declaration of ours has the ABI of one in NVIDIA's headers.
#pragma once

#include "hal/cuda/driver.hpp"

#include <cstddef>
#include <type_traits>

namespace rtexec::hal::test {

/// True if both are passed in the same way: both pointers (to data or to functions), or both numbers of one size.
template <class Ours, class Theirs>
constexpr bool same_argument = sizeof(Ours) == sizeof(Theirs) &&
                               std::is_pointer_v<Ours> == std::is_pointer_v<Theirs>&& std::is_floating_point_v<Ours> ==
                                   std::is_floating_point_v<Theirs>;
/// The size of a type, or 0 if it is incomplete. Pointer targets must have the same size if both sizes are known.
template <class Type> constexpr std::size_t size_or_zero = 0;
template <class Type>
requires requires { sizeof(Type); } &&(!std::is_void_v<Type>)constexpr std::size_t size_or_zero<Type> = sizeof(Type);
template <class Ours, class Theirs>
constexpr bool same_target =
    size_or_zero<std::remove_pointer_t<Ours>> == 0 || size_or_zero<std::remove_pointer_t<Theirs>> == 0 ||
    size_or_zero<std::remove_pointer_t<Ours>> == size_or_zero<std::remove_pointer_t<Theirs>>;

/// True if a function of ours is called as theirs is.
template <class Ours, class Theirs> constexpr bool same_function = false;
template <class... Ours, class Result, class... Theirs>
requires(sizeof...(Ours) ==
         sizeof...(Theirs)) constexpr bool same_function<cuda::Code (*)(Ours...), Result (*)(Theirs...)> =
    ((same_argument<Ours, Theirs> && same_target<Ours, Theirs>)&&...);

} // namespace rtexec::hal::test
