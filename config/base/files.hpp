// Reads and writes whole files. A failed write leaves no incomplete file. Set-up and tools only.
#pragma once

#include <rtexec/result.hpp>
#include "config/base/descriptor.hpp"
#include "config/base/output_path.hpp"

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace rtexec {

/// A file that is being written. Before commit(), the file has no name. If the file system does not support files
/// without a name, the file has a temporary name in the target's folder. commit() gives the file its final name.
/// Without commit() the file disappears, and an existing file of the final name stays unchanged. The new file gets the
/// permissions of the file that it replaces, and also its owner if the kernel allows it. Symbolic links in the path are
/// followed by the rules of config::find_output(). Errors (refused) name the file and the reason.
class AtomicFile {
 public:
  /// Returns bad_input if `path` exists and is no regular file (a folder, a device).
  [[nodiscard]] static Result<AtomicFile> create(const std::filesystem::path& path);
  AtomicFile(AtomicFile&& other) noexcept = default;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

  /// Returns the descriptor, which is open for writing. This object owns the descriptor.
  [[nodiscard]] int descriptor() const { return file_.get(); }
  [[nodiscard]] Result<> write(std::span<const std::byte> bytes);
  /// Gives the file its final name, and replaces an existing file atomically. The file is on the disk when commit()
  /// returns. If only the replacement fails, the error names the temporary file that has the content.
  [[nodiscard]] Result<> commit() { return put_in_place(true); }
  /// Gives the file its final name like commit(), but does not wait until the file is on the disk.
  [[nodiscard]] Result<> replace() { return put_in_place(false); }
  /// Returns the error of a system call that failed with `error` (an errno) while this file was written.
  [[nodiscard]] Unexpected<Error> failure(int error) const;

 private:
  [[nodiscard]] int open_temporary();
  [[nodiscard]] int name_temporary();
  [[nodiscard]] int sync_folder() const;
  [[nodiscard]] Result<> put_in_place(bool durable);
  explicit AtomicFile(config::OutputPath target) : target_(std::move(target)) {}

  config::OutputPath target_;
  config::Descriptor file_;
  std::string temporary_; // its temporary name in the folder; empty: the file has no name
};

namespace config {

/// Returns the extension in lower case: ".png" for "A.PNG".
[[nodiscard]] std::string lower_extension(const std::filesystem::path& file);

/// Returns the content of a regular file or of a pipe. Waits up to five seconds for data in a pipe. Returns bad_input
/// if the file cannot be read, or has more than `limit` bytes.
[[nodiscard]] Result<std::string> read_file(const std::filesystem::path& file, std::size_t limit);

/// Writes all of `bytes` to an open file. Returns 0 or errno.
[[nodiscard]] int write_all(int file, std::span<const std::byte> bytes);
[[nodiscard]] inline int write_all(int file, std::string_view text) {
  return write_all(file, std::as_bytes(std::span(text)));
}

/// Writes `content` to `file` through an AtomicFile.
[[nodiscard]] Result<> replace_file(const std::filesystem::path& file, std::string_view content);

} // namespace config
} // namespace rtexec
