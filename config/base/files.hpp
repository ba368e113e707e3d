// Whole files: read at once, and written so that a failure leaves no half-written file behind. Set-up and tools only.
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

/// A file without a name, or where the file system has none of these under a temporary one beside its own; commit()
/// gives it its name, without that it is gone. Whatever fails, what stood under the name before stays as it was; what
/// replaces it has its permissions, and its owner where that is allowed. Links in its path are followed as by
/// config::find_output(). Errors (refused) name the file and the reason.
class AtomicFile {
 public:
  /// bad_input where `path` names something that is there and is no regular file (a folder, a device).
  [[nodiscard]] static Result<AtomicFile> create(const std::filesystem::path& path);
  AtomicFile(AtomicFile&& other) noexcept = default;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

  /// Open for writing; owned by this object.
  [[nodiscard]] int descriptor() const { return file_.get(); }
  [[nodiscard]] Result<> write(std::span<const std::byte> bytes);
  /// Durable under its name when it returns; an existing file is replaced in one step. Where only that fails, the error
  /// names the file that has the content.
  [[nodiscard]] Result<> commit() { return put_in_place(true); }
  /// The same, but not durable: no disk is waited for, and none is worn.
  [[nodiscard]] Result<> replace() { return put_in_place(false); }
  /// The error of a system call that failed with `error` (an errno) while this file was written.
  [[nodiscard]] Unexpected<Error> failure(int error) const;

 private:
  [[nodiscard]] int open_temporary();
  [[nodiscard]] int name_temporary();
  [[nodiscard]] int sync_folder() const;
  [[nodiscard]] Result<> put_in_place(bool durable);
  explicit AtomicFile(config::OutputPath target) : target_(std::move(target)) {}

  config::OutputPath target_;
  config::Descriptor file_;
  std::string temporary_; // its name in the folder; empty: it has none
};

namespace config {

/// ".png" of "A.PNG".
[[nodiscard]] std::string lower_extension(const std::filesystem::path& file);

/// The content of a regular file, or of a pipe, whose writer is waited for some seconds. bad_input: it cannot be read,
/// or has more than `limit` bytes.
[[nodiscard]] Result<std::string> read_file(const std::filesystem::path& file, std::size_t limit);

/// Writes all of `bytes` to an open file. Returns 0 or errno.
[[nodiscard]] int write_all(int file, std::span<const std::byte> bytes);
[[nodiscard]] inline int write_all(int file, std::string_view text) {
  return write_all(file, std::as_bytes(std::span(text)));
}

/// Writes `content` through an AtomicFile.
[[nodiscard]] Result<> replace_file(const std::filesystem::path& file, std::string_view content);

} // namespace config
} // namespace rtexec
