// Claims of cores. Two runs on the same core would each invalidate the response-time bounds of the other run. A claim
// reserves cores for one run, against every other run on the machine. The claim ends with this object or with the
// process, however the process ends.
//
// A claim is a lock on a file of the user, in a folder that nobody else can write to: /run/rtexec for root,
// /dev/shm/rtexec-UID for another user. Claims of root bind every user. Claims of another user bind only that user;
// otherwise any user could keep root from running. Containers see each other's claims if they share the folder.
// An inquiry is a short claim that only finds out if a run would get the cores. Other claims wait until the inquiry
// ends.
#pragma once

#include <rtexec/result.hpp>
#include "hal/resources.hpp"

#include <filesystem>
#include <span>
#include <vector>

namespace rtexec::hal {

struct ClaimFolders {
  std::filesystem::path own;     // folder of this user's claims
  std::filesystem::path of_root; // folder of root's claims, which bind this user too; empty if this user is root
  [[nodiscard]] static ClaimFolders of_this_user();
};

enum class ClaimFor { run, inquiry };

class CoreClaim {
 public:
  /// Claims all of `cores` or none of them. If inquiries hold some of the cores, and no run holds any of them, waits up
  /// to ten seconds for the inquiries to end. Returns refused if another run holds some of the cores, or if inquiries
  /// still hold some after ten seconds. The error names these cores, and the process and user of a holder. Returns
  /// refused if the folder cannot be created or belongs to another user.
  [[nodiscard]] static Result<CoreClaim> take(std::span<const unsigned> cores,
                                              const ClaimFolders& folders = ClaimFolders::of_this_user(),
                                              ClaimFor purpose = ClaimFor::run);

 private:
  struct Holders;

  /// A core's lock, and the file that names its holder to other processes.
  class Held {
   public:
    Held(FileDescriptor lock, std::filesystem::path holder) : lock_(std::move(lock)), holder_(std::move(holder)) {}
    Held(Held&& other) noexcept
        : lock_(std::move(other.lock_)), holder_(std::exchange(other.holder_, std::filesystem::path())) {}
    Held& operator=(Held&&) = delete;
    ~Held();

   private:
    FileDescriptor lock_;
    std::filesystem::path holder_;
  };
  /// Claims the free cores among `cores`, and records the holders of the other cores in `holders`.
  static Result<CoreClaim> take_free(std::span<const unsigned> cores, const ClaimFolders& folders, ClaimFor purpose,
                                     Holders& holders);

  std::vector<Held> held_;
};

} // namespace rtexec::hal
