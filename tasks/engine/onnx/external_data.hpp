// Tensor data that an ONNX file keeps in other files beside it, as PyTorch's default exporter does.
//
// The model names the files and is not trusted: only regular files inside its folders are read, wherever links lead,
// only bytes that are there, and no more in all than fit into memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace rtexec::tasks::onnx_source {

class ExternalData {
 public:
  using Keys = std::map<std::string, std::string>; // a tensor's external_data
  using Observer = std::function<void(std::span<const std::byte>)>;

  /// `folders`: where files are looked for, in this order: the model's, and that which a link to the model leads to;
  /// without one every tensor is refused. `limit`: bytes in all. `seen` is called with all bytes that are read, and may
  /// be empty.
  ExternalData(std::vector<std::filesystem::path> folders, std::size_t limit, Observer seen)
      : folders_(std::move(folders)), limit_(limit), seen_(std::move(seen)) {}
  ~ExternalData();
  ExternalData(const ExternalData&) = delete;
  ExternalData& operator=(const ExternalData&) = delete;

  /// Calls `take` with the bytes of a tensor that has `size` of them, in pieces whose sizes are multiples of 16 but for
  /// the last one. Throws Refusal, with `what` in front.
  void read(const Keys& keys, std::size_t size, const std::string& what, const Observer& take);

 private:
  void open(const std::string& location, const std::string& what);
  void close();
  void read_piece(std::uint64_t at, const std::string& in_file);

  std::vector<std::filesystem::path> folders_;
  std::size_t limit_, used_ = 0; // bytes
  Observer seen_;
  std::vector<std::byte> piece_;
  std::string location_; // of the open file; tensors of one file mostly follow each other
  int fd_ = -1;
  std::uint64_t size_ = 0;
};

} // namespace rtexec::tasks::onnx_source
