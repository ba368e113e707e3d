#include "hal/core_claim.hpp"

#include "config/base/process.hpp"
#include "hal/linux/lock_file.hpp"
#include "hal/thread.hpp"

#include <cerrno>
#include <cstdint>
#include <fcntl.h>
#include <fstream>
#include <optional>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

namespace rtexec::hal {

namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr Duration max_inquiry = 10s; // the longest time that a claim waits for an inquiry to end
constexpr const char* asks = "asks";  // follows the process in a holder's file if the claim is for an inquiry

fs::path lock_of(const fs::path& folder, unsigned core) { return folder / ("core-" + std::to_string(core)); }
fs::path holder_of(const fs::path& folder, unsigned core) {
  return folder / ("core-" + std::to_string(core) + ".holder");
}

/// The holder of a core, as recorded in the holder's file next to the core's lock.
struct Holder {
  config::Process process;
  uid_t user = 0; // owner of the file
  ClaimFor purpose = ClaimFor::run;

  static std::optional<Holder> read(const fs::path& file) {
    Holder holder;
    struct stat status {};
    std::ifstream text(file);
    if (!(text >> holder.process.number >> holder.process.start >> holder.process.name_space) ||
        ::lstat(file.c_str(), &status) != 0)
      return std::nullopt;
    holder.user = status.st_uid;
    if (std::string word; text >> word && word == asks) holder.purpose = ClaimFor::inquiry;
    return holder;
  }
  [[nodiscard]] std::string text() const {
    return "process " + std::to_string(process.number) + (process.of_this_namespace() ? "" : " of another container") +
           " of user " + std::to_string(user);
  }
};

Result<> tell_holder(const fs::path& file, ClaimFor purpose) {
  const FileDescriptor open(
      sys().create(file.c_str(), O_WRONLY | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH));
  const auto self = config::Process::self();
  const std::string text = std::to_string(self.number) + " " + std::to_string(self.start) + " " +
                           std::to_string(self.name_space) +
                           (purpose == ClaimFor::inquiry ? ' ' + std::string(asks) : "") + "\n";
  if (open.number() < 0 || ::fchmod(open.number(), 0644) != 0 ||
      sys().write(open.number(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return call_failed("claiming a core: writing " + file.string(), errno);
  return {};
}

} // namespace

ClaimFolders ClaimFolders::of_this_user() {
  if (::geteuid() == 0) return {.own = lock_folder, .of_root = {}};
  return {.own = "/dev/shm/rtexec-" + std::to_string(::geteuid()), .of_root = lock_folder};
}

CoreClaim::Held::~Held() {
  if (!holder_.empty()) sys().unlink(holder_.c_str()); // before the lock is released
}

/// The cores that could not be claimed, and their holders.
struct CoreClaim::Holders {
  std::string cores, who;  // `who` describes the first known holder
  bool all_inquire = true; // true if all known holders are inquiries

  void note(unsigned core, const std::optional<Holder>& holder) {
    cores += (cores.empty() ? "" : ", ") + std::to_string(core);
    if (!holder || !holder->process.alive()) return;
    if (who.empty()) who = ", " + holder->text() + ",";
    all_inquire = all_inquire && holder->purpose == ClaimFor::inquiry;
  }
};

Result<CoreClaim> CoreClaim::take_free(std::span<const unsigned> cores, const ClaimFolders& folders, ClaimFor purpose,
                                       Holders& holders) {
  CoreClaim claim;
  for (const unsigned core : cores) {
    if (!folders.of_root.empty())
      if (const auto root = Holder::read(holder_of(folders.of_root, core));
          root && root->user == 0 && root->process.alive()) {
        holders.note(core, root);
        continue;
      }
    const fs::path file = lock_of(folders.own, core), holder = holder_of(folders.own, core);
    auto lock = lock_file(file);
    if (!lock) return Unexpected(lock.error());
    if (!*lock) {
      holders.note(core, Holder::read(holder));
      continue;
    }
    claim.held_.emplace_back(std::move(**lock), holder);
    if (const auto told = tell_holder(holder, purpose); !told) return Unexpected(told.error());
  }
  return claim;
}

Result<CoreClaim> CoreClaim::take(std::span<const unsigned> cores, const ClaimFolders& folders, ClaimFor purpose) {
  if (!cores.empty())
    if (const auto made = make_lock_folder(folders.own); !made) return Unexpected(made.error());
  for (const Instant end = now() + max_inquiry;; sleep_until(now() + 10ms)) {
    Holders holders;
    auto claim = take_free(cores, folders, purpose, holders);
    if (!claim || holders.cores.empty()) return claim;
    if (!holders.all_inquire || now() >= end)
      return fail(Errc::refused,
                  "another run of rtexec" + holders.who + " uses core " + holders.cores +
                      ": both runs would break their promises.\nWait for it to end, or give each run its own cores.");
  }
}

} // namespace rtexec::hal
