#include "rtexec/supervisor/counts.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <utility>

namespace rtexec::supervisor {
namespace {

constexpr std::pair<std::string_view, unsigned Counts::*> names[] = {
    {"boots", &Counts::boots},       {"failed_boots", &Counts::failed_boots}, {"starts", &Counts::starts},
    {"deaths", &Counts::deaths},     {"safe_starts", &Counts::safe_starts},   {"refusals", &Counts::refusals},
    {"silences", &Counts::silences},
};

constexpr std::size_t file_size = 512;

/// An open file, which the destructor closes. Opening a pipe does not wait for its other end. Opening follows no
/// symbolic link.
class File {
 public:
  File(const Kernel& kernel, const std::string& path, int flags)
      : kernel_(kernel), number_(kernel.open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644)) {}
  ~File() { static_cast<void>(close()); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  [[nodiscard]] int number() const { return number_; }
  /// True if the file is open and a regular file. If false, errno has the reason.
  [[nodiscard]] bool is_plain() const { return number_ >= 0 && (kernel_.is_plain(number_) || (errno = EINVAL, false)); }
  bool close() { return number_ < 0 || kernel_.close(std::exchange(number_, -1)) == 0; }

 private:
  const Kernel& kernel_;
  int number_;
};

bool write_all(const Kernel& kernel, int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = kernel.write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

std::string text_of(const Counts& counts) {
  std::string text;
  for (const auto& [name, member] : names) text += std::string(name) + " = " + std::to_string(counts.*member) + '\n';
  text.resize(file_size, '\n');
  return text;
}

void take_line(std::string_view line, Counts& counts) {
  for (const auto& [name, member] : names)
    if (line.starts_with(name) && line.substr(name.size()).starts_with(" = "))
      counts.*member = static_cast<unsigned>(std::strtoul(line.data() + name.size() + 3, nullptr, 10));
}

bool put(const Kernel& kernel, const std::string& file, int flags, std::string_view text) {
  File opened(kernel, file, O_WRONLY | flags);
  return opened.is_plain() && write_all(kernel, opened.number(), text) && kernel.sync(opened.number()) == 0 &&
         opened.close();
}

bool replace(const Kernel& kernel, const std::string& file, std::string_view text) {
  const std::string fresh = file + ".new";
  if (!put(kernel, fresh, O_CREAT | O_TRUNC, text) || kernel.rename(fresh.c_str(), file.c_str()) != 0) return false;
  const File folder(kernel, file.substr(0, file.find_last_of('/') + 1) + ".", O_RDONLY | O_DIRECTORY);
  return folder.number() >= 0 && kernel.sync(folder.number()) == 0;
}

} // namespace

Counts read_counts(const std::string& file, const Kernel& kernel) {
  Counts counts;
  const File opened(kernel, file, O_RDONLY);
  std::string text(file_size, '\0');
  const ssize_t got = !opened.is_plain() ? 0 : kernel.read(opened.number(), text.data(), text.size());
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  for (std::string_view rest = text; !rest.empty();) {
    const auto end = rest.find('\n');
    take_line(rest.substr(0, end), counts);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  return counts;
}

std::string write_counts(const std::string& file, const Counts& counts, const Kernel& kernel) {
  const std::string text = text_of(counts);
  if (replace(kernel, file, text)) return {};
  const std::string problem = file + ": " + std::strerror(errno);
  return put(kernel, file, 0, text) ? std::string() : problem;
}

} // namespace rtexec::supervisor
