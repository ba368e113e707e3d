// Assembles a tree of test/hal/roots/assembled.table in a folder: the files under /proc and /sys of a board's kernel,
// according to public sources.
#pragma once

#include "hal/machine_files.hpp"
#include "test/support/test_files.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

namespace rtexec::hal::test {

class AssembledRoot {
 public:
  /// `name` is "tx2-r32", "xavier-r32", "xavier-r35" or "orin-r36".
  explicit AssembledRoot(std::string_view name);

  [[nodiscard]] Machine machine() const { return Machine(root_.path()); }
  [[nodiscard]] const std::filesystem::path& path() const { return root_.path(); }
  [[nodiscard]] std::string read(const std::filesystem::path& file) const;
  void write(const std::filesystem::path& file, std::string_view content) const;
  void remove(const std::filesystem::path& file) const;
  /// Returns the contents of every file, by its path under the root.
  [[nodiscard]] std::map<std::string, std::string> contents() const;

 private:
  rtexec::test::ScratchFolder root_;
};

} // namespace rtexec::hal::test
