// A file that a command writes its result to. A regular file replaces the old one in one step, and only once it is
// whole. "-", /dev/stdout, /dev/stderr and /dev/fd/N are descriptors that the caller's parent opened, which may be
// pipes and terminals. Named pipes, sockets and devices are refused, except /dev/null and /dev/full.
#pragma once

#include <rtexec/result.hpp>

#include <filesystem>
#include <memory>
#include <ostream>
#include <string_view>

namespace rtexec::command {

/// Opened before anything takes long, so that what cannot be written is told before; nothing is changed until finish().
class OutputFile {
 public:
  /// Without a name: nobody asked for it, and what is written is lost. Errors (refused, bad_input) name the file.
  [[nodiscard]] static Result<OutputFile> open(const std::filesystem::path& name);
  OutputFile(OutputFile&&) noexcept;
  ~OutputFile();

  /// Whether somebody asked for it.
  [[nodiscard]] explicit operator bool() const;
  /// Its errors are finish()'s.
  [[nodiscard]] std::ostream& stream();
  /// All that was written is in the file, or an error.
  [[nodiscard]] Result<> finish();
  /// This, and no more.
  [[nodiscard]] Result<> write(std::string_view content);

 private:
  class Sink;
  explicit OutputFile(std::unique_ptr<Sink> sink);
  std::unique_ptr<Sink> sink_;
};

} // namespace rtexec::command
