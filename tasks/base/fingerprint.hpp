// A hash that identifies its input, as a short text (FNV-1a, 64 bits). Not for security.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace rtexec::tasks {

class Fingerprint {
 public:
  /// Splits `text` into its prefix and the fingerprint at its end, to which the caller can add further values. If
  /// `text` does not end in a fingerprint, returns `text` with "-" appended as the prefix, and a new fingerprint.
  [[nodiscard]] static std::pair<std::string, Fingerprint> resumed(const std::string& text) {
    Fingerprint made;
    const std::size_t digits = text.size() < length ? 0 : text.size() - length;
    const char *const begin = text.data() + digits, *const end = text.data() + text.size();
    if (text.size() < length || std::from_chars(begin, end, made.hash_, 16).ptr != end)
      return {text + "-", Fingerprint()};
    return {text.substr(0, digits), made};
  }

  Fingerprint& add(std::span<const std::byte> bytes) {
    for (const auto byte : bytes) hash_ = (hash_ ^ static_cast<std::uint64_t>(byte)) * 0x100'0000'01b3;
    return *this;
  }
  Fingerprint& add(std::string_view text) { return add(std::as_bytes(std::span(text))).add(text.size()); }
  Fingerprint& add(std::uint64_t value) { return add(std::as_bytes(std::span(&value, 1))); }

  [[nodiscard]] std::uint64_t value() const { return hash_; }
  [[nodiscard]] std::string text() const {
    char buffer[length + 1];
    std::snprintf(buffer, sizeof buffer, "%016llx", static_cast<unsigned long long>(hash_));
    return buffer;
  }

 private:
  static constexpr std::size_t length = 16; // number of characters of a fingerprint's text

  std::uint64_t hash_ = 0xcbf2'9ce4'8422'2325;
};

} // namespace rtexec::tasks
