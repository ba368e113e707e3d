#include "tasks/engine/onnx/external_data.hpp"

#include "config/base/errno_text.hpp"
#include "config/base/text.hpp"
#include "tasks/engine/onnx/model_source.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace rtexec::tasks::onnx_source {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void bad(const std::string& why) { throw Refusal(Errc::bad_input, why); }
[[noreturn]] void unsupported(const std::string& why) { throw Refusal(Errc::unsupported, why); }

constexpr std::size_t max_path = 1000; // maximum number of characters of a path in a message

std::optional<std::uint64_t> number(const ExternalData::Keys& keys, const std::string& key, const std::string& what) {
  const auto found = keys.find(key);
  if (found == keys.end()) return {};
  const auto value = config::number<std::uint64_t>(found->second);
  if (!value)
    bad(what + " has the " + key + " " + config::quoted(found->second) +
        " in its data file, which must be a number of bytes");
  return value;
}

const std::string& location_of(const ExternalData::Keys& keys, const std::string& what) {
  for (const auto& [key, value] : keys)
    if (key != "location" && key != "offset" && key != "length" && key != "checksum")
      unsupported(what + " keeps its data in another file, with " + config::quoted(key) +
                  "; supported: location, offset and length. Save the model again without it");
  const auto found = keys.find("location");
  if (found == keys.end() || found->second.empty())
    bad(what + " keeps its data in another file, but its location is missing");
  return found->second;
}

bool is_inside(const fs::path& file, const fs::path& folder) {
  return std::ranges::mismatch(folder, file).in1 == folder.end();
}

/// Returns the path of the file that `location` names, with links resolved. Refuses files outside the folders. The
/// error message begins with `what`.
fs::path resolved(const std::vector<fs::path>& folders, const std::string& location, const std::string& what) {
  const auto in_file = what + " keeps its data in " + config::quoted(location) + ", which ";
  const auto relative = fs::path(location).lexically_normal();
  if (relative.is_absolute() || location.contains('\0') || *relative.begin() == "..")
    bad(in_file + "must be a file in the model's folder: move it there, and save the model with the new location");
  std::error_code error;
  std::vector<fs::path> roots;
  for (const auto& folder : folders) {
    roots.push_back(fs::canonical(folder, error));
    if (error) bad(in_file + "cannot be found: " + folder.string() + ": " + error.message());
  }
  for (const auto& root : roots) {
    const auto file = fs::canonical(root / relative, error);
    if (error) continue;
    if (std::ranges::any_of(roots, [&](const fs::path& each) { return is_inside(file, each); })) return file;
    bad(in_file + "is a link to " + config::printable(file.string(), max_path) +
        "; only files in the model's folder are read: copy the folder and the targets of its links (cp -rL)");
  }
  bad(in_file + "cannot be found in " + roots.front().string() + ": " + error.message() +
      "; keep it in the model's folder, under its original name");
}

} // namespace

ExternalData::~ExternalData() { close(); }

void ExternalData::close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  location_.clear();
}

void ExternalData::open(const std::string& location, const std::string& what) {
  if (fd_ >= 0 && location == location_) return;
  close();
  const auto file = resolved(folders_, location, what);
  const auto in_file = what + " keeps its data in " + config::printable(file.string(), max_path) + ", which ";
  // With O_NONBLOCK, opening a pipe does not wait for its writer.
  fd_ = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  if (fd_ < 0) bad(in_file + "cannot be opened: " + config::errno_text(errno));
  struct stat status {};
  if (::fstat(fd_, &status) != 0) bad(in_file + "cannot be examined: " + config::errno_text(errno));
  if (!S_ISREG(status.st_mode)) bad(in_file + "must be a regular file");
  size_ = static_cast<std::uint64_t>(status.st_size);
  location_ = location;
}

void ExternalData::read(const Keys& keys, std::size_t size, const std::string& what, const Observer& take) {
  const auto& location = location_of(keys, what);
  if (folders_.empty())
    unsupported(what + " keeps its data in another file, " + config::quoted(location) +
                ", and the model was not read from a folder; read it from its file");
  const auto offset = number(keys, "offset", what).value_or(0);
  open(location, what);
  const auto in_file = what + " keeps its data in " + config::quoted(location) + ", ";
  const auto but_has =
      " on, but that file has " + std::to_string(size_) + " bytes; it is damaged, or belongs to another model";
  if (offset > size_) bad(in_file + "from byte " + std::to_string(offset) + but_has);
  const auto length = number(keys, "length", what).value_or(0); // 0: the key is absent or 0, and the length is `size`
  if (length != 0 && length != size)
    bad(what + " needs " + std::to_string(size) + " bytes for its shape, but has " + std::to_string(length) + " in " +
        config::quoted(location) + "; the model is damaged, export it again");
  if (size > size_ - offset)
    bad(in_file + std::to_string(size) + " bytes from byte " + std::to_string(offset) + but_has);
  if (size > limit_ - used_)
    unsupported(what + ": the tensors in other files have more than " + std::to_string(limit_) +
                " bytes, more than the available memory; use a machine with more memory, or a smaller network");
  used_ += size;
  constexpr std::size_t most = std::size_t{1} << 20; // maximum number of bytes of a part
  for (std::size_t done = 0; done < size;) {
    piece_.resize(std::min(most, size - done));
    read_piece(offset + done, in_file);
    if (seen_) seen_(piece_);
    take(piece_);
    done += piece_.size();
  }
}

/// Reads the bytes that begin at offset `at` of the file into `piece_`.
void ExternalData::read_piece(std::uint64_t at, const std::string& in_file) {
  for (std::size_t done = 0; done < piece_.size();) {
    const auto n = ::pread(fd_, piece_.data() + done, piece_.size() - done, static_cast<off_t>(at + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) bad(in_file + "which cannot be read: " + config::errno_text(errno));
    if (n == 0) bad(in_file + "which became shorter while it was read");
    done += static_cast<std::size_t>(n);
  }
}

} // namespace rtexec::tasks::onnx_source
