// rtexec-verify: compares an image with its manifest (manifest.hpp). As /init of an initramfs, it compares the image
// before any other program runs, and then executes /etc/rtexec/start of the image.
#include "rtexec/verifier/file.hpp"
#include "rtexec/verifier/verification.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <unistd.h>

namespace rtexec::verifier {
namespace {

constexpr const char* help =
    R"(Compare an image with its manifest

rtexec-verify [OPTIONS] ROOT
  ROOT/manifest.mtree has type, mode, owner, size and SHA-256 of each file below ROOT. All differences are printed,
  files that are missing and files that the manifest does not name among them.

  --key FILE             an Ed25519 public key (32 bytes): ROOT/manifest.sig must be its signature of the manifest
  --sha256 SUM           the SHA-256 that the manifest must have
  --remove-below FOLDER  removes what differs, if all of that lies below FOLDER, a path below ROOT

Exit codes: 0 no difference, 2 bad input, 3 what differed was removed, 5 the manifest is not the right one, or files
differ.
)";

enum Code { same = 0, bad_input = 2, removed = 3, refused = 5 };

struct Options {
  std::filesystem::path root;
  Trust trust;
  std::string remove_below;
};

/// Prints a message. Replaces control characters, because file names come from the author of the image and must not
/// control the terminal.
void say(std::string text) {
  std::ranges::replace_if(
      text, [](unsigned char byte) { return byte < ' ' || byte == 127; }, '?');
  std::fprintf(stderr, "rtexec-image: %s\n", text.c_str());
}

Code verify(const Options& options) {
  const auto manifest = trusted_manifest(options.root, options.trust);
  if (!manifest) return say(manifest.error()), refused;
  const auto differences = compare(options.root, *manifest);
  for (const auto& [path, what] : differences) say("/" + path + " " + what);
  if (differences.empty()) return same;
  if (options.remove_below.empty() || !all_below(options.remove_below, differences)) return refused;
  if (const std::string problem = remove(options.root, differences); !problem.empty()) return say(problem), refused;
  return removed;
}

bool take_option(std::string_view name, const char* value, Options& options) {
  if (name == "--key") return options.trust.key = value, true;
  if (name == "--sha256") return options.trust.digest = value, true;
  if (name == "--remove-below") return options.remove_below = value, true;
  return false;
}

bool take_arguments(int count, char** arguments, Options& options) {
  for (int i = 1; i < count; ++i)
    if (i + 1 == count) options.root = arguments[i];
    else if (!take_option(arguments[i], arguments[i + 1], options)) return false;
    else ++i;
  return !options.root.empty() && !options.root.string().starts_with("--");
}

// ---- as /init ----

/// Returns the value of the last word NAME=VALUE in `line`, the kernel's command line.
std::optional<std::string> word(std::string_view line, std::string_view name) {
  std::optional<std::string> value;
  while (!line.empty()) {
    const std::string_view each = line.substr(0, line.find_first_of(" \n"));
    if (each.starts_with(name)) value = each.substr(name.size());
    line.remove_prefix(std::min(each.size() + 1, line.size()));
  }
  return value;
}

[[noreturn]] void power_off(const std::string& why) {
  say(why + ": the machine is powered off");
  ::reboot(RB_POWER_OFF);
  while (true) ::pause();
}

std::string command_line() {
  if (::mount("none", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0)
    power_off(std::string("/proc cannot be mounted (") + std::strerror(errno) + ")");
  char buffer[4096] = {};
  const ssize_t count = File("/proc/cmdline").read(buffer);
  ::umount("/proc"); // a file system mounted below the root is no part of the image
  return {buffer, count < 0 ? 0U : static_cast<std::size_t>(count)};
}

[[noreturn]] void boot() {
  Options options{.root = "/", .trust = {}, .remove_below = "opt/rtexec/set"};
  options.trust.digest = word(command_line(), "rtexec.manifest=");
  if (!options.trust.digest) say("no rtexec.manifest= on the command line: the manifest itself is not verified");
  const Code code = verify(options);
  if (code == refused) power_off("nothing of the image is used");
  ::execl("/bin/busybox", "sh", "/etc/rtexec/start", code == same ? "verified" : "changed", nullptr);
  power_off(std::string("/bin/busybox cannot be started (") + std::strerror(errno) + ")");
}

} // namespace
} // namespace rtexec::verifier

int main(int count, char** arguments) {
  using namespace rtexec::verifier;
  if (std::string_view(arguments[0]) == "/init" && ::getpid() == 1) boot();
  if (count == 2 && std::string_view(arguments[1]) == "--help") return std::fputs(help, stdout), 0;
  Options options;
  if (!take_arguments(count, arguments, options)) return std::fputs(help, stderr), bad_input;
  return verify(options);
}
