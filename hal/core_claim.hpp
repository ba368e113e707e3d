// Two runs on the same core would each break the other's promise. A claim holds cores for one run, against every other
// run on the machine; it ends with this object, or with the process, however that ends.
//
// A claim is a lock on a file of the user's own, in a folder that nobody else can write to: root's in /run/rtexec,
// another user's in /dev/shm/rtexec-UID. Claims of root hold for every user; those of another user hold for that user
// alone, or anybody could keep root from running. Containers see one another's claims where they share the folder.
// An inquiry, which only asks what a run would be told, claims cores for a moment: others wait for its end.
#pragma once

#include <rtexec/result.hpp>
#include "hal/resources.hpp"

#include <filesystem>
#include <span>
#include <vector>

namespace rtexec::hal {

struct ClaimFolders {
  std::filesystem::path own;     // of this user's claims
  std::filesystem::path of_root; // whose claims hold here too; empty: this user is root
  [[nodiscard]] static ClaimFolders of_this_user();
};

enum class ClaimFor { run, inquiry };

class CoreClaim {
 public:
  /// All of `cores` or none. Waits, up to ten seconds, as long as nobody but inquiries holds some. refused: another run
  /// holds some, which the error names beside its process and user; or the folder cannot be made, or is somebody
  /// else's.
  [[nodiscard]] static Result<CoreClaim> take(std::span<const unsigned> cores,
                                              const ClaimFolders& folders = ClaimFolders::of_this_user(),
                                              ClaimFor purpose = ClaimFor::run);

 private:
  struct Holders;

  /// A core's lock, and the file that tells others who holds it.
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
  /// Claims those of `cores` that are free, and tells `holders` who holds the others.
  static Result<CoreClaim> take_free(std::span<const unsigned> cores, const ClaimFolders& folders, ClaimFor purpose,
                                     Holders& holders);

  std::vector<Held> held_;
};

} // namespace rtexec::hal
