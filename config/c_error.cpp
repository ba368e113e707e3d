#include "config/c_error.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace rtexec::config {

static_assert(static_cast<int>(Errc::bad_input) + 1 == RTEXEC_BAD_INPUT);
static_assert(static_cast<int>(Errc::stale) + 1 == RTEXEC_STALE);

rtexec_code code_of(Errc code) noexcept { return static_cast<rtexec_code>(static_cast<int>(code) + 1); }

Errc errc_of(rtexec_code code) noexcept {
  const bool known = code >= RTEXEC_BAD_INPUT && code <= RTEXEC_STALE;
  return known ? static_cast<Errc>(static_cast<int>(code) - 1) : Errc::unsupported;
}

std::string text_of(const rtexec_error& error, const char* function) {
  const std::string text(error.what, ::strnlen(error.what, sizeof error.what));
  return text.empty() ? std::string(function) + " failed, and gave no reason" : text;
}

void tell(rtexec_error* error, const Error& what) noexcept {
  if (error == nullptr) return;
  constexpr std::string_view cut = "...";
  constexpr std::size_t room = RTEXEC_ERROR_LENGTH - 1;
  error->code = code_of(what.code);
  const bool fits = what.what.size() <= room;
  const std::size_t length = fits ? what.what.size() : room - cut.size();
  std::memcpy(error->what, what.what.data(), length);
  if (!fits) std::ranges::copy(cut, error->what + length);
  error->what[fits ? length : room] = '\0';
}

} // namespace rtexec::config
