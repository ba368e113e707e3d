// Computes the two halves of a digest (hal/device_interface.hpp). Two functions (mixers) each combine every 64-bit word
// of the contents with its position. The results of each mixer are summed modulo 2^64, so the order of summation does
// not matter, on any device. Shared between device code and host code: plain C++17, no library.
//
// For a fixed position each mixer maps different words to different results. So contents that differ in a single word
// always differ in both halves of the digest. The mixers are the finalisers of splitmix64 (Steele, Lea, Flood: Fast
// splittable pseudorandom number generators, 2014) and of MurmurHash3 (Appleby).
#pragma once

namespace rtexec::hal {

using DigestWord = unsigned long long;
static_assert(sizeof(DigestWord) == 8, "a digest is made of 64-bit words");

/// Returns the term that one word adds to Digest::low. `position` counts words from the beginning of the contents.
constexpr DigestWord digest_low(DigestWord word, DigestWord position) {
  DigestWord x = word + (position + 1) * 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

/// Returns the term that one word adds to Digest::high. `position` counts words from the beginning of the contents.
constexpr DigestWord digest_high(DigestWord word, DigestWord position) {
  DigestWord x = word ^ ((position + 1) * 0xd1342543de82ef95ULL);
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdULL;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53ULL;
  return x ^ (x >> 33);
}

} // namespace rtexec::hal
