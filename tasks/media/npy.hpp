// Reads and writes NumPy .npy files of one tensor: format versions 1.0 and 2.0, C order, little endian. Only for set-up
// and tools.
#pragma once

#include <rtexec/result.hpp>
#include <rtexec/tensor.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace rtexec::tasks {

struct NpyTensor {
  std::vector<std::int64_t> shape;
  ElementType type = ElementType::float32;
  std::vector<std::byte> bytes;
  ElementType stored = type; // element type in the file
};

/// Reads a file. Accepts the types of ElementType, and float64, which it converts to float32. Refuses other types,
/// Fortran order, big endian and pickled objects. Returns bad_input with the file and the defect.
[[nodiscard]] Result<NpyTensor> read_npy(const std::filesystem::path& path);
/// Reads a tensor from memory. Messages use `path` as its name.
[[nodiscard]] Result<NpyTensor> parse_npy(std::span<const std::byte> bytes, const std::filesystem::path& path);

/// Writes a file. The file appears complete or not at all. The size of `bytes` must agree with `shape` and `type`.
[[nodiscard]] Result<> write_npy(const std::filesystem::path& path, std::span<const std::int64_t> shape,
                                 ElementType type, std::span<const std::byte> bytes);

} // namespace rtexec::tasks
