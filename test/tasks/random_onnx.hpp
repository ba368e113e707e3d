// Random ONNX models of all operators that the reader knows. They are valid or nearly so: odd shapes, types and
// attributes, constants and inputs, loops and branches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rtexec::test {

/// Returns the encoded model for this seed.
[[nodiscard]] std::vector<std::byte> random_onnx(std::uint64_t seed);

} // namespace rtexec::test
