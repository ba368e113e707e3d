// A random test repeats less often in a check than in check-all.
#pragma once

#include "test/support/sanitized.hpp"

#include <algorithm>
#include <cstdlib>

namespace rtexec::test {

/// Whether every case and every round is asked for, as by `make check-all`.
inline bool all_cases() { return std::getenv("RTEXEC_ALL_CASES") != nullptr; }

/// Of `all` rounds, which `make check-all` makes, a quarter by `make check`, and a tenth under a sanitizer.
template <class Count> Count rounds(Count all) {
  if (all_cases()) return all;
  return std::max<Count>(1, all / (sanitized ? 10 : 4));
}

} // namespace rtexec::test
