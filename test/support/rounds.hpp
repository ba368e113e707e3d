// Reduces the rounds of random tests in `make check`, compared with `make check-all`.
#pragma once

#include "test/support/sanitized.hpp"

#include <algorithm>
#include <cstdlib>

namespace rtexec::test {

/// True if all cases and all rounds are requested, as `make check-all` does.
inline bool all_cases() { return std::getenv("RTEXEC_ALL_CASES") != nullptr; }

/// Returns how many of `all` rounds to run: all under `make check-all`, a quarter under `make check`, a tenth under a
/// sanitizer.
template <class Count> Count rounds(Count all) {
  if (all_cases()) return all;
  return std::max<Count>(1, all / (sanitized ? 10 : 4));
}

} // namespace rtexec::test
