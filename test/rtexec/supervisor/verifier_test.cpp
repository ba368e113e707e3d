// Tests what the verifier of an image finds. A folder stands in for the image, with a manifest written by hand. For the
// whole program, with bsdtar's manifest and openssl's signature, see test/system/image.sh.
#include "rtexec/verifier/cryptography.hpp"
#include "rtexec/verifier/manifest.hpp"
#include "rtexec/verifier/verification.hpp"
#include "test/support/test_files.hpp"

#include <array>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sodium/crypto_sign_ed25519.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace rtexec::verifier {

static void PrintTo(const Difference& difference, std::ostream* out) {
  *out << difference.path << ' ' << difference.what;
}

namespace {

namespace fs = std::filesystem;
using namespace test;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// ---- digests and signatures ----

TEST(VerifierDigest, MatchesPublishedValues) {
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"); // FIPS 180-2, B.1
  ScratchFolder folder;
  const std::string larger_than_buffer(200'000, 'x');
  write_text(folder / "file", larger_than_buffer);
  EXPECT_EQ(sha256_of_file(folder / "file"), sha256(larger_than_buffer));
  EXPECT_EQ(sha256_of_file(folder / "none"), "");
}

std::string from_hexadecimal(std::string_view digits) {
  std::string bytes;
  for (; !digits.empty(); digits.remove_prefix(2))
    bytes += static_cast<char>(std::stoi(std::string(digits.substr(0, 2)), nullptr, 16));
  return bytes;
}

TEST(VerifierSignature, AcceptsPublishedSignatureOnly) { // RFC 8032, 7.1, test 2
  const std::string key = from_hexadecimal("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c");
  const std::string signature = from_hexadecimal(
      "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
      "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00");
  EXPECT_TRUE(is_signed("\x72", signature, key));
  EXPECT_FALSE(is_signed("\x73", signature, key));
  EXPECT_FALSE(is_signed("\x72", signature.substr(1), key));
  EXPECT_FALSE(is_signed("\x72", signature, key.substr(1)));
  EXPECT_FALSE(is_signed("\x72", std::string(64, '\0'), std::string(32, '\0'))); // a key of small order
}

// ---- manifests ----

constexpr const char* digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

TEST(VerifierManifest, ReadsWhatBsdtarWrites) {
  const auto manifest = parse_manifest(
      "#mtree\n"
      "/. mode=755 gid=0 uid=0 type=dir\n"
      "./l\\040k mode=777 gid=0 uid=0 type=link link=a\\040b/n\\0431\n"
      "./\\303\\251 mode=4755 gid=7 uid=8 type=file size=3 sha256digest=" +
      std::string(digest) + "\n");
  ASSERT_TRUE(manifest) << manifest.error();
  ASSERT_EQ(manifest->size(), 3U);
  EXPECT_EQ(manifest->at(".").type, Entry::Type::directory);
  EXPECT_EQ(manifest->at("l k").target, "a b/n#1");
  const Entry& file = manifest->at("\xc3\xa9");
  EXPECT_EQ(file.mode, 04755U);
  EXPECT_EQ(file.user, 8U);
  EXPECT_EQ(file.group, 7U);
  EXPECT_EQ(file.size, 3U);
  EXPECT_EQ(file.digest, digest);
}

TEST(VerifierManifest, RefusesUnknownOrMalformedEntries) {
  for (const char* line : {
           "./a mode=755 gid=0 uid=0 type=dir nochange=1", // another keyword
           "./a mode=755 gid=0 uid=0 type=dir optional",   // one without a value
           "./a mode=755 gid=0 uid=0 type=block",          // another type
           "./a mode=755 gid=0 uid=0",                     // no type
           "./a mode=755 uid=0 type=dir",                  // no group
           "./a mode=755 mode=755 gid=0 uid=0 type=dir",   // twice
           "./a mode=999 gid=0 uid=0 type=dir",            // not octal
           "./a mode= gid=0 uid=0 type=dir",
           "./a mode=644 gid=0 uid=0 type=file size=3",                     // no digest
           "./a mode=644 gid=0 uid=0 type=file size=3 sha256digest=ba7816", // a part of a digest
           "./a mode=777 gid=0 uid=0 type=link",                            // no target
           "./a\\04 mode=755 gid=0 uid=0 type=dir",                         // half an escape
           "./a\\000b mode=755 gid=0 uid=0 type=dir",
           "./ mode=755 gid=0 uid=0 type=dir",
           "/set type=dir",
       })
    EXPECT_FALSE(parse_manifest(line)) << line;
  const std::string line = "./a mode=755 gid=0 uid=0 type=dir\n";
  EXPECT_EQ(parse_manifest(line + line).error(), "line 2: a is named twice");
}

// ---- images ----

/// An image: a folder with a program, a link and a model, and its manifest.
class VerifierTest : public testing::Test {
 protected:
  VerifierTest() {
    write_text(root / "bin/program", "abc");
    write_text(root / "set/model", "abc");
    fs::create_symlink("bin/program", root / "link");
    for (const char* path : {"bin/program", "set/model"}) ::chmod((root / path).c_str(), 0644);
    for (const char* path : {".", "bin", "set"}) ::chmod((root / path).c_str(), 0755);
    write_text(root / manifest_name, line(".", 755, "dir") + line("./bin", 755, "dir") + line("./set", 755, "dir") +
                                         line("./link", 777, "link link=bin/program") +
                                         line("./bin/program", 644, "file size=3 sha256digest=" + std::string(digest)) +
                                         line("./set/model", 644, "file size=3 sha256digest=" + std::string(digest)));
  }

  static std::string line(const std::string& path, unsigned mode, const std::string& type) {
    return path + " mode=" + std::to_string(mode) + " uid=" + std::to_string(::getuid()) +
           " gid=" + std::to_string(::getgid()) + " type=" + type + '\n';
  }
  std::vector<Difference> differences() { return compare(root.path(), trusted_manifest(root.path(), {}).value()); }
  std::string text(const char* name) { return read_text(root / name); }

  ScratchFolder root;
};

MATCHER_P2(Differs, path, what, "") { return arg.path == path && arg.what.find(what) != std::string::npos; }

TEST_F(VerifierTest, FindsNothingInUnchangedImage) { EXPECT_THAT(differences(), IsEmpty()); }

TEST_F(VerifierTest, NamesChangedFile) {
  write_text(root / "bin/program", "abd");
  EXPECT_THAT(differences(), ElementsAre(Differs("bin/program", "has other contents")));
}

TEST_F(VerifierTest, NamesTruncatedFile) {
  write_text(root / "bin/program", "ab");
  EXPECT_THAT(differences(), ElementsAre(Differs("bin/program", "has 2 bytes, expected 3")));
}

TEST_F(VerifierTest, NamesMissingFiles) {
  fs::remove_all(root / "set");
  EXPECT_THAT(differences(), ElementsAre(Differs("set", "is missing"), Differs("set/model", "is missing")));
}

TEST_F(VerifierTest, NamesEachAddedFile) {
  write_text(root / "bin/more", "");
  fs::create_directory(root / "folder");
  fs::create_symlink("/", root / "set/elsewhere");
  ASSERT_EQ(::mkfifo((root / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(differences(),
              ElementsAre(Differs("bin/more", "not in the manifest"), Differs("folder", "not in the manifest"),
                          Differs("pipe", "not in the manifest"), Differs("set/elsewhere", "not in the manifest")));
}

TEST_F(VerifierTest, NamesChangedMode) {
  ::chmod((root / "bin/program").c_str(), 04755);
  ::chmod((root / "set").c_str(), 01777);
  EXPECT_THAT(differences(), ElementsAre(Differs("bin/program", "has mode 4755, expected 0644"),
                                         Differs("set", "has mode 1777, expected 0755")));
}

TEST_F(VerifierTest, NamesChangedOwner) {
  std::string manifest = text(manifest_name);
  const std::string mine = " uid=" + std::to_string(::getuid());
  manifest.replace(manifest.find(mine, manifest.find("./bin/program")), mine.size(), " uid=4711");
  write_text(root / manifest_name, manifest);
  EXPECT_THAT(differences(), ElementsAre(Differs("bin/program", "expected 4711:")));
}

TEST_F(VerifierTest, NamesLinkToAnotherFile) {
  fs::remove(root / "link");
  fs::create_symlink("/etc/passwd", root / "link");
  EXPECT_THAT(differences(), ElementsAre(Differs("link", "is a link to /etc/passwd, expected bin/program")));
}

TEST_F(VerifierTest, DoesNotFollowLinks) {
  fs::rename(root / "bin/program", root / "set/program");
  fs::create_symlink("../set/program", root / "bin/program");
  EXPECT_THAT(differences(), ElementsAre(Differs("bin/program", "is a link, expected a file"),
                                         Differs("set/program", "not in the manifest")));
  fs::rename(root / "bin", root / "binaries");
  fs::create_symlink("binaries", root / "bin");
  EXPECT_THAT(differences(), testing::Contains(Differs("bin", "is a link, expected a folder")));
}

TEST_F(VerifierTest, NamesPipeInPlaceOfFileAndDoesNotWait) {
  fs::remove(root / "bin/program");
  ASSERT_EQ(::mkfifo((root / "bin/program").c_str(), 0644), 0);
  EXPECT_THAT(differences(), ElementsAre(Differs("bin/program", "is a device, socket or pipe, expected a file")));
}

TEST_F(VerifierTest, RemovesOnlyWhatDiffersBelowFolder) {
  write_text(root / "set/model", "abd");
  write_text(root / "set/folder/more", "");
  const auto found = differences();
  EXPECT_TRUE(all_below("set", found));
  EXPECT_FALSE(all_below("se", found));
  EXPECT_FALSE(all_below("set/folder", found));
  EXPECT_EQ(remove(root.path(), found), "");
  EXPECT_FALSE(fs::exists(root / "set/model"));
  EXPECT_FALSE(fs::exists(root / "set/folder"));
  EXPECT_TRUE(fs::exists(root / "bin/program"));
  ::chmod((root / "set").c_str(), 0777); // the folder itself is not below it
  EXPECT_FALSE(all_below("set", differences()));
}

// ---- trust ----

/// An image whose manifest is signed.
class VerifierTrustTest : public VerifierTest {
 protected:
  VerifierTrustTest() {
    std::array<unsigned char, crypto_sign_ed25519_SEEDBYTES> seed{1};
    crypto_sign_ed25519_seed_keypair(key_.data(), secret_.data(), seed.data());
    write_text(keys_ / "image.key", {reinterpret_cast<const char*>(key_.data()), key_.size()});
    write_text(root / signature_name, signature());
  }

  std::string signature() {
    const std::string manifest = text(manifest_name);
    std::array<unsigned char, crypto_sign_ed25519_BYTES> signature{};
    crypto_sign_ed25519_detached(signature.data(), nullptr, reinterpret_cast<const unsigned char*>(manifest.data()),
                                 manifest.size(), secret_.data());
    return {reinterpret_cast<const char*>(signature.data()), signature.size()};
  }
  /// Returns why the manifest is refused, or an empty text if it is not.
  std::string problem() {
    const auto manifest = trusted_manifest(root.path(), {.key = keys_ / "image.key", .digest = {}});
    return manifest ? "" : manifest.error();
  }

 private:
  std::array<unsigned char, crypto_sign_ed25519_PUBLICKEYBYTES> key_{};
  std::array<unsigned char, crypto_sign_ed25519_SECRETKEYBYTES> secret_{};
  ScratchFolder keys_;
};

TEST_F(VerifierTrustTest, AcceptsSignedManifest) {
  EXPECT_EQ(problem(), "");
  EXPECT_THAT(differences(), IsEmpty()); // no manifest lists the signature
}

TEST_F(VerifierTrustTest, RefusesChangedManifest) {
  write_text(root / manifest_name, text(manifest_name) + "#\n");
  EXPECT_THAT(problem(), HasSubstr("manifest.sig is no signature of manifest.mtree for the key image.key"));
}

TEST_F(VerifierTrustTest, RefusesWrongSignature) {
  for (const std::size_t byte : {0U, 31U, 32U, 63U}) {
    std::string changed = signature();
    changed[byte] = static_cast<char>(changed[byte] ^ 1);
    write_text(root / signature_name, changed);
    EXPECT_THAT(problem(), HasSubstr("manifest.sig is no signature"));
  }
  write_text(root / signature_name, signature().substr(0, 63));
  EXPECT_THAT(problem(), HasSubstr("manifest.sig is no signature"));
  write_text(root / signature_name, signature() + "x");
  EXPECT_THAT(problem(), HasSubstr("manifest.sig is no signature"));
}

TEST_F(VerifierTrustTest, RefusesMissingSignature) {
  fs::remove(root / signature_name);
  EXPECT_THAT(problem(), HasSubstr("manifest.sig cannot be read: No such file or directory: the image is not signed"));
}

TEST_F(VerifierTrustTest, RefusesMissingManifest) {
  fs::remove(root / manifest_name);
  EXPECT_THAT(problem(), HasSubstr("manifest.mtree cannot be read"));
}

TEST_F(VerifierTest, RefusesManifestOfAnotherDigest) {
  const std::string right = sha256(text(manifest_name));
  EXPECT_TRUE(trusted_manifest(root.path(), {.key = {}, .digest = right}));
  write_text(root / manifest_name, text(manifest_name) + "#\n");
  EXPECT_THAT(trusted_manifest(root.path(), {.key = {}, .digest = right}).error(),
              AllOf(HasSubstr("manifest.mtree was changed"), HasSubstr(right)));
  EXPECT_TRUE(trusted_manifest(root.path(), {})); // without a digest, the manifest detects damage only
}

} // namespace
} // namespace rtexec::verifier
