// The file for a command's result. A new regular file replaces the existing file atomically, and only when the new file
// is complete. "-", /dev/stdout, /dev/stderr and /dev/fd/N mean descriptors that the process inherited. Inherited
// descriptors may be pipes and terminals. Named pipes, sockets and devices are refused, except /dev/null and /dev/full.
#pragma once

#include <rtexec/result.hpp>

#include <filesystem>
#include <memory>
#include <ostream>
#include <string_view>

namespace rtexec::command {

/// An output file. Commands open the file before any long work, so that errors are reported early. An existing file is
/// unchanged until finish().
class OutputFile {
 public:
  /// Opens the file. If `name` is empty, the user requested no file, and output is discarded. Returns refused or
  /// bad_input with the name of the file.
  [[nodiscard]] static Result<OutputFile> open(const std::filesystem::path& name);
  OutputFile(OutputFile&&) noexcept;
  ~OutputFile();

  /// True if the user requested a file.
  [[nodiscard]] explicit operator bool() const;
  /// Returns the stream for the content. finish() returns the errors of this stream.
  [[nodiscard]] std::ostream& stream();
  /// Completes the file. On success the file contains all output.
  [[nodiscard]] Result<> finish();
  /// Writes the whole content, and completes the file.
  [[nodiscard]] Result<> write(std::string_view content);

 private:
  class Sink;
  explicit OutputFile(std::unique_ptr<Sink> sink);
  std::unique_ptr<Sink> sink_;
};

} // namespace rtexec::command
