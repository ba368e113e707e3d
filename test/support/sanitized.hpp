// Says whether this build runs under a sanitizer.
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define RTEXEC_SANITIZED
#endif

namespace rtexec::test {

#ifdef RTEXEC_SANITIZED
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

} // namespace rtexec::test
