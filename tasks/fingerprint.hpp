// A short text that changes when what it was made from changes (FNV-1a, 64 bits). Not for security.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>

namespace rtexec::tasks {

class Fingerprint {
 public:
  Fingerprint& add(std::span<const std::byte> bytes) {
    for (const auto byte : bytes) hash_ = (hash_ ^ static_cast<std::uint64_t>(byte)) * 0x100'0000'01b3;
    return *this;
  }
  Fingerprint& add(std::string_view text) { return add(std::as_bytes(std::span(text))).add(text.size()); }
  Fingerprint& add(std::uint64_t value) { return add(std::as_bytes(std::span(&value, 1))); }

  [[nodiscard]] std::uint64_t value() const { return hash_; }
  [[nodiscard]] std::string text() const {
    char buffer[17];
    std::snprintf(buffer, sizeof buffer, "%016llx", static_cast<unsigned long long>(hash_));
    return buffer;
  }

 private:
  std::uint64_t hash_ = 0xcbf2'9ce4'8422'2325;
};

} // namespace rtexec::tasks
