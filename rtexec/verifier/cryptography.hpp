// SHA-256 and Ed25519, as libsodium computes them.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace rtexec::verifier {

/// Returns the SHA-256 of `text` as 64 hexadecimal digits.
[[nodiscard]] std::string sha256(std::string_view text);

/// Returns the SHA-256 of the file as 64 hexadecimal digits. If reading fails, returns an empty text and sets errno.
[[nodiscard]] std::string sha256_of_file(const std::filesystem::path& file);

/// True if `signature` is the Ed25519 signature (64 bytes) of `text` for the public key `key` (32 bytes).
[[nodiscard]] bool is_signed(std::string_view text, std::string_view signature, std::string_view key);

} // namespace rtexec::verifier
