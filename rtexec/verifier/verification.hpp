// Compares an image with its manifest, after the manifest itself has been verified.
#pragma once

#include "rtexec/verifier/manifest.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace rtexec::verifier {

constexpr const char* manifest_name = "manifest.mtree";
constexpr const char* signature_name = "manifest.sig";

/// The evidence that the manifest itself is authentic. Without it, the comparison reveals only damage, not a
/// deliberate change.
struct Trust {
  std::optional<std::filesystem::path> key; // a file with an Ed25519 public key (32 bytes)
  std::optional<std::string> digest;        // SHA-256 of the manifest, 64 hexadecimal digits
};

struct Difference {
  std::string path; // path below the root
  std::string what;
};

/// Returns the manifest of the image below `root`. Returns the reason if the manifest cannot be trusted, because it is
/// missing, changed or not signed.
[[nodiscard]] std::expected<Manifest, std::string> trusted_manifest(const std::filesystem::path& root,
                                                                    const Trust& trust);

/// Returns all differences between the files below `root` and the manifest, sorted by path. Ignores three files that
/// no manifest contains: the manifest, its signature, and /dev/console, which every kernel creates in an initramfs.
[[nodiscard]] std::vector<Difference> compare(const std::filesystem::path& root, const Manifest& manifest);

/// True if every difference lies below `folder`, a path below the root.
[[nodiscard]] bool all_below(const std::filesystem::path& folder, const std::vector<Difference>& differences);

/// Removes the files and folders of `differences`. Returns an empty text, or the reason why a file or folder could not
/// be removed.
[[nodiscard]] std::string remove(const std::filesystem::path& root, const std::vector<Difference>& differences);

} // namespace rtexec::verifier
