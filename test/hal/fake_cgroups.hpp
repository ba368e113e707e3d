// A cgroup file system in a folder. It acts as the kernel does when folders are made and files are written, as far as a
// partition can observe it. One instance at a time.
#pragma once

#include "test/support/test_files.hpp"

#include "hal/system.hpp"

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace rtexec::hal::test {

class FakeCgroups {
 public:
  /// Simulates cgroup version 1 or 2 with cores 0-3. The process starts in the cgroup `home`.
  explicit FakeCgroups(int version, const std::string& home = "/");
  ~FakeCgroups();

  [[nodiscard]] const std::filesystem::path& root() const { return folder_.path(); }
  // Files and groups are named relative to the top of the hierarchy.
  [[nodiscard]] std::string read(const std::string& file) const;
  void write(const std::string& file, const std::string& text);
  void make_group(const std::string& name) { populate(top_ / name); }
  [[nodiscard]] bool has(const std::string& name) const { return std::filesystem::exists(top_ / name); }

  /// Returns every file with its text.
  [[nodiscard]] std::map<std::string, std::string> snapshot() const;

  int fail_at = 0;                  // the n-th mkdir or write fails with EACCES
  int changes = 0;                  // mkdirs and writes so far
  std::string invalid;              // v2: the reason why a partition is invalid
  bool threads_stay = false;        // moving a thread succeeds, but has no effect
  std::vector<std::string> journal; // "file=text" of each write, relative to the top

 private:
  void populate(const std::filesystem::path& group);
  void render_threads();
  bool fails_now();
  int on_mkdir(const char* path);
  int on_rmdir(const char* path);
  ssize_t on_write(int file, const void* from, std::size_t size);

  const int version_;
  rtexec::test::ScratchFolder folder_;
  const std::filesystem::path top_;
  std::map<std::filesystem::path, std::set<std::string>> threads_; // by group
  System table_;
  SystemOverride override_;
  static inline FakeCgroups* self_ = nullptr;
};

} // namespace rtexec::hal::test
