#include "rtexec/runtime/channels/run_folder.hpp"

#include "config/base/output_path.hpp"

#include <cerrno>
#include <ctime>
#include <fcntl.h>
#include <string>
#include <system_error>
#include <unistd.h>

namespace rtexec::channels {
namespace {

namespace fs = std::filesystem;

constexpr const char* link_name = "latest";

Unexpected<Error> io_error(const fs::path& path, const std::error_code& error) {
  return fail(Errc::io_error, path.string() + ": " + error.message());
}

/// Returns a time stamp like "2026-11-28T17-08-00"
std::string time_stamp() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  char text[32];
  ::gmtime_r(&now, &parts);
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H-%M-%S", &parts)};
}

Result<> check_link(const fs::path& base) {
  std::error_code error;
  const auto status = fs::symlink_status(base / link_name, error);
  if (!fs::exists(status) || fs::is_symlink(status)) return {};
  return fail(Errc::bad_input,
              (base / link_name).string() +
                  ": must be a link, which each run points to its own folder\nrename it, or name another folder");
}

/// Makes a new folder in `base`, named by the time. If the name exists, because two runs start within a second, chooses
/// another name.
Result<fs::path> make_new_folder(const fs::path& base) {
  const std::string name = time_stamp();
  std::error_code error;
  for (unsigned number = 1;; ++number) {
    const fs::path folder = base / (number == 1 ? name : name + "." + std::to_string(number));
    if (fs::create_directory(folder, error)) return folder;
    if (error) return io_error(folder, error);
  }
}

/// Points the link `latest` to `folder`. Replaces it atomically, so that a reader always finds a link.
Result<> set_link(const fs::path& base, const fs::path& folder) {
  const fs::path temporary = folder.string() + "." + link_name;
  std::error_code error;
  fs::create_symlink(folder.filename(), temporary, error);
  if (!error) fs::rename(temporary, base / link_name, error);
  return error ? Result<>(io_error(base / link_name, error)) : Result<>();
}

} // namespace

Result<> RunFolder::make() {
  if (!path_.empty()) return {};
  const auto base = config::make_output_folder(base_);
  if (!base) return Unexpected(base.error());
  if (auto ok = check_link(*base); !ok) return ok;
  auto made = make_new_folder(*base);
  if (!made) return Unexpected(made.error());
  path_ = std::move(*made);
  return set_link(*base, path_);
}

Result<> RunFolder::check() const {
  if (auto ok = check_link(base_); !ok) return ok;
  std::error_code error;
  fs::path there = fs::absolute(base_, error); // `base_`, or its nearest existing parent folder
  while (!fs::exists(there, error) && there.has_relative_path()) there = there.parent_path();
  if (!fs::is_directory(there, error)) return io_error(base_, std::make_error_code(std::errc::not_a_directory));
  if (::faccessat(AT_FDCWD, there.c_str(), W_OK | X_OK, AT_EACCESS) == 0) return {};
  return io_error(base_, {errno, std::generic_category()});
}

} // namespace rtexec::channels
