// Conversion of errors to and from C (rtexec/error.h).
#pragma once

#include <rtexec/error.h>
#include <rtexec/result.hpp>

#include <string>

namespace rtexec::config {

[[nodiscard]] rtexec_code code_of(Errc code) noexcept;
/// Returns the error for a code of the C interface. Returns unsupported for RTEXEC_OK and for an unknown code.
[[nodiscard]] Errc errc_of(rtexec_code code) noexcept;

/// Returns the text that a foreign function wrote into `error`; `function` is its name. The text need not end with a
/// null character.
[[nodiscard]] std::string text_of(const rtexec_error& error, const char* function);
/// Stores `what` in `error`. Has no effect if `error` is null.
void tell(rtexec_error* error, const Error& what) noexcept;

} // namespace rtexec::config
