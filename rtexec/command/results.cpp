#include "rtexec/command/results.hpp"

#include "config/files.hpp"
#include "config/must.hpp"

#include <system_error>

namespace rtexec::command {

namespace fs = std::filesystem;

ResultFolder::ResultFolder(const fs::path& folder) {
  std::error_code error;
  for (auto each = folder; !each.empty() && !fs::exists(each, error) && !error; each = each.parent_path())
    made_.push_back(each);
  error.clear();
  if (!folder.empty()) fs::create_directories(folder, error);
  if (!error) return;
  remove_empty();
  give_up(Errc::refused, folder.string() + ": cannot make this folder: " + error.message());
}

ResultFolder::~ResultFolder() { remove_empty(); }

void ResultFolder::remove_empty() const noexcept {
  std::error_code not_empty;
  for (const auto& each : made_) fs::remove(each, not_empty);
}

void write_files(const fs::path& folder, const report::Files& files) {
  for (const auto& [name, content] : files) must(config::replace_file(folder / name, content));
}

} // namespace rtexec::command
