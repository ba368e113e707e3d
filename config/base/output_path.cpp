#include "config/base/output_path.hpp"

#include "config/base/errno_text.hpp"

#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <fcntl.h>
#include <string_view>
#include <sys/sysmacros.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

namespace rtexec::config {
namespace {

namespace fs = std::filesystem;

Unexpected<Error> cannot(const fs::path& path, const char* what, const std::string& why) {
  return fail(Errc::refused, path.string() + ": error: cannot " + what + ": " + why);
}

bool is_trusted(const struct stat& link) { return link.st_uid == 0 || link.st_uid == ::geteuid(); }

/// Opens the components of a path one by one, each component relative to the previous folder.
class Walk {
 public:
  explicit Walk(const fs::path& path) { push(path); }

  /// Opens all folders of the path, and looks up its last component. Returns an empty text, or the reason of a failure.
  std::string find() {
    while (problem_.empty() && !rest_.empty()) step(rest_.size() == 1 ? Last::look : Last::open, false);
    return problem_;
  }
  /// Opens all components as folders, and creates missing folders. Returns an empty text, or the reason of a failure.
  std::string make() {
    while (problem_.empty() && !rest_.empty()) step(Last::open, true);
    return problem_;
  }
  OutputPath take() && { return {.path = at_ / name_, .folder = std::move(folder_), .name = name_, .found = found_}; }
  [[nodiscard]] const fs::path& folder() const { return at_; }

 private:
  enum class Last { open, look };

  /// Adds the components of `path` before the remaining components.
  void push(const fs::path& path) {
    if (path.is_absolute() || folder_.get() < 0) {
      at_ = path.root_path();
      folder_ = Descriptor(::open(path.is_absolute() ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
      if (folder_.get() < 0) problem_ = errno_text(errno);
    }
    std::vector<std::string> components;
    for (const fs::path& each : path.relative_path()) components.push_back(each.empty() ? "." : each.string());
    if (components.empty()) components.emplace_back(".");
    rest_.insert(rest_.end(), components.rbegin(), components.rend());
  }

  void step(Last last, bool makes) {
    const std::string name = std::exchange(rest_.back(), {});
    rest_.pop_back();
    Descriptor opened = open(name, makes);
    struct stat status {};
    if (opened.get() < 0 && errno == ENOENT && last == Last::look) name_ = name;
    else if (opened.get() < 0 || ::fstat(opened.get(), &status) != 0) problem_ = errno_text(errno);
    else if (S_ISLNK(status.st_mode)) follow(opened, status, name);
    else if (last == Last::look) name_ = name, found_ = status;
    else if (!S_ISDIR(status.st_mode)) problem_ = errno_text(ENOTDIR);
    else enter(std::move(opened), name);
  }

  void enter(Descriptor folder, const std::string& name) {
    folder_ = std::move(folder);
    if (name != ".") at_ /= name;
  }

  [[nodiscard]] Descriptor open(const std::string& name, bool makes) const {
    constexpr int flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
    Descriptor opened(::openat(folder_.get(), name.c_str(), flags));
    if (opened.get() >= 0 || errno != ENOENT || !makes) return opened;
    if (::mkdirat(folder_.get(), name.c_str(), 0777) != 0 && errno != EEXIST) return opened;
    return Descriptor(::openat(folder_.get(), name.c_str(), flags));
  }

  void follow(const Descriptor& link, const struct stat& status, const std::string& name) {
    constexpr int max_links = 40; // the kernel's limit
    std::array<char, PATH_MAX> target{};
    const ssize_t size = ::readlinkat(link.get(), "", target.data(), target.size());
    if (!is_trusted(status))
      problem_ = (at_ / name).string() + " is a symbolic link of another user (" + std::to_string(status.st_uid) +
                 "): name the target file itself";
    else if (++links_ > max_links) problem_ = errno_text(ELOOP);
    else if (size < 0) problem_ = errno_text(errno);
    else push(std::string_view(target.data(), static_cast<std::size_t>(size)));
  }

  Descriptor folder_;
  fs::path at_;                   // path of the open folder
  std::vector<std::string> rest_; // the remaining components in reverse order
  std::string name_;
  std::optional<struct stat> found_;
  std::string problem_;
  int links_ = 0;
};

std::string_view why_not(const struct stat& found) {
  if (S_ISDIR(found.st_mode)) return "it is a folder: name a file";
  if (S_ISFIFO(found.st_mode)) return "it is a named pipe: name a regular file, or /dev/stdout for a pipe";
  return "it is a device or a socket: name a regular file";
}

} // namespace

Result<OutputPath> find_output(const fs::path& path) {
  Walk walk(path);
  if (const std::string problem = walk.find(); !problem.empty()) return cannot(path, "write it", problem);
  return std::move(walk).take();
}

Unexpected<Error> not_an_output(const fs::path& path, const struct stat& found) {
  return fail(Errc::bad_input, path.string() + ": error: cannot write it: " + std::string(why_not(found)));
}

bool discards_output(const struct stat& found) {
  return S_ISCHR(found.st_mode) && (found.st_rdev == makedev(1, 3) || found.st_rdev == makedev(1, 7));
}

Result<Descriptor> open_output(const fs::path& path, int flags, mode_t mode) {
  const auto usable = [](const struct stat& found) { return S_ISREG(found.st_mode) || discards_output(found); };
  const auto place = find_output(path);
  if (!place) return Unexpected(place.error());
  if (place->found && !usable(*place->found))
    return not_an_output(path, *place->found); // open(2) could change the state of a device
  Descriptor file(
      ::openat(place->folder.get(), place->name.c_str(), flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, mode));
  struct stat found {};
  if (file.get() < 0 || ::fstat(file.get(), &found) != 0) return cannot(path, "write it", errno_text(errno));
  if (!usable(found)) return not_an_output(path, found);
  return file;
}

Result<fs::path> make_output_folder(const fs::path& folder) {
  Walk walk(folder);
  if (const std::string problem = walk.make(); !problem.empty()) return cannot(folder, "make this folder", problem);
  return walk.folder().empty() ? "." : walk.folder();
}

std::optional<int> inherited_descriptor(const fs::path& path) {
  std::string_view text = path.native();
  if (text == "/dev/stdout") return STDOUT_FILENO;
  if (text == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!text.starts_with(folder)) continue;
    text.remove_prefix(folder.size());
    int number = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc() && end == text.data() + text.size() && number >= 0) return number;
  }
  return std::nullopt;
}

} // namespace rtexec::config
