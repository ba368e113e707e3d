#include "rtexec/sharing/daemon/listening.hpp"

#include "config/base/output_path.hpp"
#include "rtexec/sharing/protocol/channel.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <grp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace rtexec::daemon {
namespace {

constexpr int max_waiting = 16;

Unexpected<Error> refused(const std::string& what) {
  return fail(Errc::refused, what + ": " + std::strerror(errno) + ".");
}

Result<gid_t> number_of_group(const std::string& name) {
  std::array<char, 4096> text{};
  group found{};
  group* entry = nullptr;
  if (::getgrnam_r(name.c_str(), &found, text.data(), text.size(), &entry) != 0 || entry == nullptr)
    return fail(Errc::bad_input, "[daemon] group = \"" + name + "\": no group has this name.");
  return found.gr_gid;
}

/// Sets the mode of `path`, and its group if `group` is not empty.
Result<> give(const std::filesystem::path& path, mode_t mode, const std::string& group) {
  if (!group.empty()) {
    const auto number = number_of_group(group);
    if (!number) return Unexpected(number.error());
    if (::chown(path.c_str(), static_cast<uid_t>(-1), *number) != 0)
      return refused("giving " + path.string() + " to group " + group);
  }
  if (::chmod(path.c_str(), mode) != 0) return refused("mode of " + path.string());
  return {};
}

/// True if the directory contains no file except a socket. In this case, no other program uses the directory.
bool is_unused(const std::filesystem::path& directory) {
  std::error_code error;
  const std::filesystem::directory_iterator files(directory, error);
  return !error && std::ranges::all_of(files, [](const auto& each) { return each.path().filename() == "socket"; });
}

/// Creates the directory if it does not exist, and sets its mode to 0700, or to 0750 if there is a group. Returns
/// refused if the directory belongs to another user. Also returns refused if the directory had a different mode before,
/// and contains a file that is not named `socket`.
Result<> prepare(const std::filesystem::path& directory, const std::string& group) {
  if (const auto made = config::make_output_folder(directory.parent_path()); !made) return Unexpected(made.error());
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) return refused("making " + directory.string());
  struct stat found {};
  if (::lstat(directory.c_str(), &found) != 0) return refused(directory.string());
  if (!S_ISDIR(found.st_mode) || found.st_uid != ::geteuid())
    return fail(Errc::refused,
                directory.string() +
                    ": it belongs to another user, or is not a folder.\nName another folder in [daemon] directory.");
  const mode_t mode = group.empty() ? 0700 : 0750;
  if ((found.st_mode & 07777) != mode && !is_unused(directory))
    return fail(Errc::refused, directory.string() +
                                   ": it contains other files, but the daemon's folder must be its own.\nName another "
                                   "folder in [daemon] directory.");
  return give(directory, mode, group);
}

} // namespace

Result<config::Descriptor> listen_in(const std::filesystem::path& directory, const std::string& group) {
  if (auto ready = prepare(directory, group); !ready) return Unexpected(ready.error());
  const std::filesystem::path path = directory / "socket";
  const auto address = protocol::socket_address(path);
  if (!address) return Unexpected(address.error());
  if (const auto other = protocol::Channel::connect(path))
    return fail(Errc::refused, path.string() + ": another daemon is using it.");
  ::unlink(path.c_str());
  config::Descriptor listener(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (listener.get() < 0) return refused("a socket");
  if (::bind(listener.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0)
    return refused("listening at " + path.string());
  if (auto given = give(path, group.empty() ? 0600 : 0660, group); !given) return Unexpected(given.error());
  if (::listen(listener.get(), max_waiting) != 0) return refused("listening at " + path.string());
  return listener;
}

} // namespace rtexec::daemon
