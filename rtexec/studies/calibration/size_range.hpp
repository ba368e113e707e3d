// Sizes at which a micro-benchmark is measured.
#pragma once

#include <rtexec/choices.hpp>

#include <vector>

namespace rtexec::study {

struct SizeRange {
  WorkloadKind kind = WorkloadKind::vector_add;
  unsigned least = 1, most = 1;
};

/// Returns `count` sizes, each about the same factor above the previous one; a single one is `most`.
[[nodiscard]] std::vector<unsigned> sizes_between(unsigned least, unsigned most, unsigned count);

} // namespace rtexec::study
