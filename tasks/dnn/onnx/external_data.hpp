// Tensor data that an ONNX file keeps in other files beside it, as PyTorch's default exporter does.
//
// The model names the files and is not trusted: only regular files inside its folder are read, wherever links lead,
// only bytes that are there, and no more in all than fit into one ONNX file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rtexec::tasks::onnx_source {

class ExternalData {
 public:
  using Keys = std::map<std::string, std::string>; // a tensor's external_data
  using Observer = std::function<void(std::span<const std::byte>)>;

  /// `folder`: the model's; without one every tensor is refused. `limit`: bytes in all. `seen` is told what was read,
  /// and may be empty.
  ExternalData(std::optional<std::filesystem::path> folder, std::size_t limit, Observer seen)
      : folder_(std::move(folder)), limit_(limit), seen_(std::move(seen)) {}
  ~ExternalData();
  ExternalData(const ExternalData&) = delete;
  ExternalData& operator=(const ExternalData&) = delete;

  /// The bytes of a tensor that has `size` of them. Throws Refusal, with `what` in front.
  [[nodiscard]] std::vector<std::byte> read(const Keys& keys, std::size_t size, const std::string& what);

 private:
  void open(const std::string& location, const std::string& what);
  void close();

  std::optional<std::filesystem::path> folder_;
  std::size_t limit_, used_ = 0; // bytes
  Observer seen_;
  std::string location_; // of the open file; tensors of one file mostly follow each other
  int fd_ = -1;
  std::uint64_t size_ = 0;
};

} // namespace rtexec::tasks::onnx_source
