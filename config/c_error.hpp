// Errors on their way to and from C (rtexec/error.h).
#pragma once

#include <rtexec/error.h>
#include <rtexec/result.hpp>

#include <string>

namespace rtexec::config {

[[nodiscard]] rtexec_code code_of(Errc code) noexcept;
/// A code that this version does not know, and RTEXEC_OK, are told as unsupported.
[[nodiscard]] Errc errc_of(rtexec_code code) noexcept;

/// Returns what `function` of somebody else wrote into `error`, which need not end with a null character.
[[nodiscard]] std::string text_of(const rtexec_error& error, const char* function);
/// Does nothing where `error` is null.
void tell(rtexec_error* error, const Error& what) noexcept;

} // namespace rtexec::config
