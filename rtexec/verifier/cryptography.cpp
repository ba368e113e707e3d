#include "rtexec/verifier/cryptography.hpp"

#include "rtexec/verifier/file.hpp"

#include <array>
#include <sodium/crypto_hash_sha256.h>
#include <sodium/crypto_sign_ed25519.h>
#include <vector>

// sodium_init() is not called. sodium_init() waits for random numbers, which may take seconds on a booting machine.
// Neither hashes nor verification use random numbers.
namespace rtexec::verifier {
namespace {

const unsigned char* bytes(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

std::string hexadecimal(crypto_hash_sha256_state& state) {
  std::array<unsigned char, crypto_hash_sha256_BYTES> digest{};
  crypto_hash_sha256_final(&state, digest.data());
  std::string text;
  for (const unsigned char byte : digest) text += {"0123456789abcdef"[byte >> 4U], "0123456789abcdef"[byte & 15U]};
  return text;
}

} // namespace

std::string sha256(std::string_view text) {
  crypto_hash_sha256_state state;
  crypto_hash_sha256_init(&state);
  crypto_hash_sha256_update(&state, bytes(text), text.size());
  return hexadecimal(state);
}

std::string sha256_of_file(const std::filesystem::path& path) {
  const File file(path);
  crypto_hash_sha256_state state;
  crypto_hash_sha256_init(&state);
  std::vector<char> buffer(std::size_t{1} << 16U);
  ssize_t count = 0;
  while ((count = file.read(buffer)) > 0)
    crypto_hash_sha256_update(&state, bytes({buffer.data(), buffer.size()}), static_cast<unsigned long long>(count));
  return count < 0 ? std::string() : hexadecimal(state);
}

bool is_signed(std::string_view text, std::string_view signature, std::string_view key) {
  return signature.size() == crypto_sign_ed25519_BYTES && key.size() == crypto_sign_ed25519_PUBLICKEYBYTES &&
         crypto_sign_ed25519_verify_detached(bytes(signature), bytes(text), text.size(), bytes(key)) == 0;
}

} // namespace rtexec::verifier
