// The file for a command's result. A regular file replaces the old one atomically, and only once it is complete. "-",
// /dev/stdout, /dev/stderr and /dev/fd/N are descriptors that the caller's parent opened, which may be pipes and
// terminals. Named pipes, sockets and devices are refused, except /dev/null and /dev/full.
#pragma once

#include <rtexec/result.hpp>

#include <filesystem>
#include <memory>
#include <ostream>
#include <string_view>

namespace rtexec::command {

/// An output file, opened before any long work so that errors are reported early. An old file is unchanged until
/// finish().
class OutputFile {
 public:
  /// Opens the file. An empty name means that no file is wanted, and output is discarded. Errors (refused, bad_input)
  /// name the file.
  [[nodiscard]] static Result<OutputFile> open(const std::filesystem::path& name);
  OutputFile(OutputFile&&) noexcept;
  ~OutputFile();

  /// True if a file is wanted.
  [[nodiscard]] explicit operator bool() const;
  /// Returns the stream for the content. finish() returns its errors.
  [[nodiscard]] std::ostream& stream();
  /// Completes the file. Success means that it contains everything that was written.
  [[nodiscard]] Result<> finish();
  /// Writes the whole content, and completes the file.
  [[nodiscard]] Result<> write(std::string_view content);

 private:
  class Sink;
  explicit OutputFile(std::unique_ptr<Sink> sink);
  std::unique_ptr<Sink> sink_;
};

} // namespace rtexec::command
