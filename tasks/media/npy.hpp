// NumPy .npy files of one tensor: format versions 1.0 and 2.0, C order, little endian. Set-up and tools only.
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
  ElementType stored = type; // in the file
};

/// Reads the types of ElementType, float64 as float32; other types, Fortran order, big endian and pickled objects
/// are refused. Errors (bad_input) name the file and what is wrong.
[[nodiscard]] Result<NpyTensor> read_npy(const std::filesystem::path& path);
/// The same from memory; `path` names it in messages.
[[nodiscard]] Result<NpyTensor> parse_npy(std::span<const std::byte> bytes, const std::filesystem::path& path);

/// `bytes` are as many as `shape` and `type` say; the file appears whole or not at all.
[[nodiscard]] Result<> write_npy(const std::filesystem::path& path, std::span<const std::int64_t> shape,
                                 ElementType type, std::span<const std::byte> bytes);

} // namespace rtexec::tasks
