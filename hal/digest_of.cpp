#include "hal/digest_of.hpp"

#include "hal/digest.hpp"

#include <cstring>

namespace rtexec::hal {

Digest digest_of(const std::byte* at, Bytes size) noexcept {
  DigestWord low = 0;
  DigestWord high = 0;
  const DigestWord words = size.count / sizeof(DigestWord);
  for (DigestWord i = 0; i < words; ++i) {
    DigestWord word = 0;
    std::memcpy(&word, at + i * sizeof word, sizeof word);
    low += digest_low(word, i);
    high += digest_high(word, i);
  }
  return {low, high};
}

} // namespace rtexec::hal
