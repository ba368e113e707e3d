#include "rtexec/verifier/verification.hpp"

#include "rtexec/verifier/cryptography.hpp"
#include "rtexec/verifier/file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <utility>

namespace rtexec::verifier {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t max_manifest_size = std::size_t{64} << 20U;
constexpr unsigned permissions = 07777;

std::expected<std::string, std::string> read(const fs::path& path) {
  const File file(path);
  std::string text;
  char buffer[4096];
  ssize_t count = 0;
  while ((count = file.read(buffer)) > 0 && text.size() <= max_manifest_size)
    text.append(buffer, static_cast<std::size_t>(count));
  if (count < 0) return std::unexpected(path.filename().string() + " cannot be read: " + std::strerror(errno));
  if (count > 0) return std::unexpected(path.filename().string() + " is larger than 64 MiB");
  return text;
}

/// Returns the reason why the image has no valid signature of `manifest` for the key, or an empty text.
std::string signature_problem(const fs::path& root, std::string_view manifest, const fs::path& key_file) {
  const auto key = read(key_file), signature = read(root / signature_name);
  if (!key) return key.error();
  if (!signature) return signature.error() + ": the image is not signed";
  if (is_signed(manifest, *signature, *key)) return {};
  return std::string(signature_name) + " is no signature of " + manifest_name + " for the key " +
         key_file.filename().string() + ": the manifest was changed, or another key signed it";
}

std::string octal(unsigned mode) {
  std::string text;
  for (unsigned shift = 12; shift > 0; shift -= 3) text += static_cast<char>('0' + ((mode >> (shift - 3)) & 7U));
  return text;
}

std::optional<Entry::Type> type_of(const struct stat& status) {
  switch (status.st_mode & S_IFMT) {
  case S_IFREG: return Entry::Type::file;
  case S_IFDIR: return Entry::Type::directory;
  case S_IFLNK: return Entry::Type::link;
  default: return std::nullopt;
  }
}

std::string name_of(std::optional<Entry::Type> type) {
  if (!type) return "a device, socket or pipe";
  return *type == Entry::Type::file ? "a file" : *type == Entry::Type::directory ? "a folder" : "a link";
}

std::string content_difference(const fs::path& path, const struct stat& status, const Entry& entry) {
  if (std::cmp_not_equal(status.st_size, entry.size))
    return "has " + std::to_string(status.st_size) + " bytes, expected " + std::to_string(entry.size);
  const std::string digest = sha256_of_file(path);
  if (digest.empty()) return std::string("cannot be read: ") + std::strerror(errno);
  return digest == entry.digest ? "" : "has other contents";
}

std::string link_difference(const fs::path& path, const Entry& entry) {
  std::error_code error;
  const std::string target = fs::read_symlink(path, error).string();
  return target == entry.target ? "" : "is a link to " + target + ", expected " + entry.target;
}

/// Describes the first difference between a file and its entry in the manifest. Returns an empty text if there is no
/// difference. Ignores the mode of a link, which has no meaning.
std::string difference(const fs::path& path, const struct stat& status, const Entry& entry) {
  const auto type = type_of(status);
  if (type != entry.type) return "is " + name_of(type) + ", expected " + name_of(entry.type);
  if (status.st_uid != entry.user || status.st_gid != entry.group)
    return "belongs to " + std::to_string(status.st_uid) + ":" + std::to_string(status.st_gid) + ", expected " +
           std::to_string(entry.user) + ":" + std::to_string(entry.group);
  if (type == Entry::Type::link) return link_difference(path, entry);
  if ((status.st_mode & permissions) != entry.mode)
    return "has mode " + octal(status.st_mode) + ", expected " + octal(entry.mode);
  return type == Entry::Type::file ? content_difference(path, status, entry) : "";
}

bool is_ignored(const std::string& path, const struct stat& status) {
  if (path == manifest_name || path == signature_name) return S_ISREG(status.st_mode);
  return path == "dev/console" && S_ISCHR(status.st_mode) && status.st_rdev == makedev(5, 1);
}

class Comparison {
 public:
  Comparison(const fs::path& root, const Manifest& manifest) : root_(root), missing_(manifest) {}

  std::vector<Difference> run() {
    check(".");
    std::error_code error;
    for (fs::recursive_directory_iterator file(root_, error), end; !error && file != end; file.increment(error))
      check(file->path().lexically_relative(root_).string());
    if (error) found_.push_back({".", "cannot be walked through: " + error.message()});
    for (const auto& [path, entry] : missing_) found_.push_back({path, "is missing"});
    std::ranges::sort(found_, {}, &Difference::path);
    return std::move(found_);
  }

 private:
  void check(const std::string& path) {
    struct stat status {};
    const fs::path full = root_ / path;
    if (::lstat(full.c_str(), &status) != 0) {
      found_.push_back({path, std::string("cannot be looked at: ") + std::strerror(errno)});
    } else if (const auto entry = missing_.extract(path); !entry.empty()) {
      if (const std::string what = difference(full, status, entry.mapped()); !what.empty())
        found_.push_back({path, what});
    } else if (!is_ignored(path, status)) {
      found_.push_back({path, "is not in the manifest"});
    }
  }

  const fs::path root_;
  Manifest missing_; // entries whose files have not been found yet
  std::vector<Difference> found_;
};

bool is_below(const fs::path& folder, const fs::path& path) {
  const auto [end, rest] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return end == folder.end() && rest != path.end();
}

} // namespace

std::expected<Manifest, std::string> trusted_manifest(const fs::path& root, const Trust& trust) {
  const auto text = read(root / manifest_name);
  if (!text) return std::unexpected(text.error());
  if (trust.digest && sha256(*text) != *trust.digest)
    return std::unexpected(std::string(manifest_name) + " was changed: its SHA-256 is not " + *trust.digest);
  if (trust.key)
    if (std::string problem = signature_problem(root, *text, *trust.key); !problem.empty())
      return std::unexpected(std::move(problem));
  auto manifest = parse_manifest(*text);
  if (!manifest) return std::unexpected(std::string(manifest_name) + ": " + manifest.error());
  return manifest;
}

std::vector<Difference> compare(const fs::path& root, const Manifest& manifest) {
  return Comparison(root, manifest).run();
}

bool all_below(const fs::path& folder, const std::vector<Difference>& differences) {
  return std::ranges::all_of(differences, [&](const Difference& each) { return is_below(folder, each.path); });
}

std::string remove(const fs::path& root, const std::vector<Difference>& differences) {
  for (const auto& [path, what] : differences) {
    std::error_code error;
    fs::remove_all(root / path, error);
    if (error) return path + " cannot be removed: " + error.message();
  }
  return {};
}

} // namespace rtexec::verifier
