// The sizes at which a micro-benchmark is measured.
#pragma once

#include <rtexec/choices.hpp>

#include <vector>

namespace rtexec::study {

struct SizeRange {
  WorkloadKind kind = WorkloadKind::vector_add;
  unsigned least = 1, most = 1;
};

/// Returns `count` sizes from `least` to `most`. The ratio between neighbouring sizes is about constant. If `count` is
/// 1, the only size is `most`.
[[nodiscard]] std::vector<unsigned> sizes_between(unsigned least, unsigned most, unsigned count);

} // namespace rtexec::study
