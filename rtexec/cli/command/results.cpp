#include "rtexec/cli/command/results.hpp"

#include "config/base/errno_text.hpp"
#include "config/base/files.hpp"
#include "config/base/must.hpp"
#include "config/base/output_path.hpp"

#include <cerrno>
#include <ostream>
#include <string>
#include <system_error>
#include <unistd.h>

namespace rtexec::command {

namespace fs = std::filesystem;

ResultFolder::ResultFolder(const fs::path& folder) {
  std::error_code error;
  for (auto each = folder; !each.empty() && !fs::exists(fs::symlink_status(each, error)); each = each.parent_path())
    made_.push_back(each);
  error.clear();
  if (folder.empty()) return;
  const auto made = config::make_output_folder(folder);
  if (made && ::access(folder.c_str(), W_OK | X_OK) == 0) return;
  const Error problem =
      made
          ? Error{Errc::refused, folder.string() + ": error: cannot write to this folder: " + config::errno_text(errno)}
          : made.error();
  remove_empty();
  give_up(problem.code, problem.what);
}

ResultFolder::~ResultFolder() { remove_empty(); }

void ResultFolder::remove_empty() const noexcept {
  std::error_code not_empty;
  for (const auto& each : made_) fs::remove(each, not_empty);
}

void write_files(const fs::path& folder, const report::Files& files) {
  for (const auto& [name, content] : files) must(config::replace_file(folder / name, content));
}

void save(const fs::path& folder, const report::Files& files, std::ostream& out) {
  if (folder.empty()) return;
  write_files(folder, files);
  out << "wrote " << files.size() << " files to " << folder.string() << ':';
  for (const auto& [name, content] : files) out << ' ' << name;
  out << '\n';
}

} // namespace rtexec::command
