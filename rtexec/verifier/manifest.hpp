// The manifest of an image: type, mode, owner and contents of each of its files, in the format mtree(5).
#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <string>
#include <string_view>

namespace rtexec::verifier {

struct Entry {
  enum class Type { file, directory, link };

  Type type = Type::file;
  unsigned mode = 0; // permissions, including set-user-ID, set-group-ID and sticky bits
  unsigned user = 0, group = 0;
  std::uint64_t size = 0; // size of a file in bytes
  std::string digest;     // SHA-256 of a file as 64 hexadecimal digits
  std::string target;     // target of a link
};

/// Entries by path below the root, without "./" in front. The root is ".".
using Manifest = std::map<std::string, Entry>;

/// Parses a manifest that was written by `bsdtar --format=mtree --options='!all,type,mode,uid,gid,size,sha256,link'`.
/// Returns an error with the line if a keyword is unknown or missing, or if a path occurs twice.
[[nodiscard]] std::expected<Manifest, std::string> parse_manifest(std::string_view text);

} // namespace rtexec::verifier
