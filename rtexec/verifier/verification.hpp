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

/// The evidence for the manifest itself. A manifest without any evidence reveals damage only, not a deliberate change.
struct Trust {
  std::optional<std::filesystem::path> key; // a file with an Ed25519 public key (32 bytes)
  std::optional<std::string> digest;        // SHA-256 of the manifest, 64 hexadecimal digits
};

struct Difference {
  std::string path; // path below the root
  std::string what;
};

/// Returns the manifest of the image below `root`, or why it cannot be trusted: missing, changed, not signed.
[[nodiscard]] std::expected<Manifest, std::string> trusted_manifest(const std::filesystem::path& root,
                                                                    const Trust& trust);

/// Returns all differences between the files below `root` and the manifest, sorted by path. Ignores the manifest, its
/// signature, and /dev/console, which every kernel makes in an initramfs: no manifest contains them.
[[nodiscard]] std::vector<Difference> compare(const std::filesystem::path& root, const Manifest& manifest);

/// True if every difference lies below `folder`, a path below the root.
[[nodiscard]] bool all_below(const std::filesystem::path& folder, const std::vector<Difference>& differences);

/// Removes the files and folders of `differences`. Returns why one could not be removed, or an empty text.
[[nodiscard]] std::string remove(const std::filesystem::path& root, const std::vector<Difference>& differences);

} // namespace rtexec::verifier
