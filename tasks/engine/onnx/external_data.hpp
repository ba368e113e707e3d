// Tensor data that an ONNX file stores in other files (external data), as PyTorch's default exporter does.
//
// The names of these files come from the model, which is not trusted. Only regular files inside the permitted folders
// are read; links are followed before this check. Reads stay inside the files, and the total size of all reads is
// limited.
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
  using Keys = std::map<std::string, std::string>; // the entries of a tensor's external_data
  using Observer = std::function<void(std::span<const std::byte>)>;

  /// `folders` are searched in this order: the model's folder, then, if the model is a link, the folder of the link's
  /// target. Without folders every tensor is refused. `limit` is the total number of bytes that may be read. `seen` is
  /// called with all bytes that are read, and may be empty.
  ExternalData(std::vector<std::filesystem::path> folders, std::size_t limit, Observer seen)
      : folders_(std::move(folders)), limit_(limit), seen_(std::move(seen)) {}
  ~ExternalData();
  ExternalData(const ExternalData&) = delete;
  ExternalData& operator=(const ExternalData&) = delete;

  /// Calls `take` with the `size` bytes of a tensor, one part after another. The size of each part but the last is a
  /// multiple of 16. Throws Refusal with a message that begins with `what`.
  void read(const Keys& keys, std::size_t size, const std::string& what, const Observer& take);

 private:
  void open(const std::string& location, const std::string& what);
  void close();
  void read_piece(std::uint64_t at, const std::string& in_file);

  std::vector<std::filesystem::path> folders_;
  std::size_t limit_, used_ = 0; // in bytes
  Observer seen_;
  std::vector<std::byte> piece_;
  /// Location of the open file, which stays open because consecutive tensors are usually in one file.
  std::string location_;
  int fd_ = -1;
  std::uint64_t size_ = 0;
};

} // namespace rtexec::tasks::onnx_source
