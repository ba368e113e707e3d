// Who is connected to the daemon, what each may have, and what each is promised. Every change that could break a
// promise (a client comes, declares itself, grows) is admitted by the analysis of the executive
// (policies/admission/admission) or refused with its numbers, and then nothing has changed.
//
// What a client was before it left or declared itself may have delayed jobs of others, who are promised no second such
// delay. So it counts in admission until a quiet instant (policies/proofs/exchanges.md), and so does that not all slots
// fitted. Who is refused only for that is told to ask again.
//
// The set that is analysed has one synthetic task for each client, on a core of its own: all its slots, as state that
// is copied both ways. Where the slots of all clients fit, no chunk leaves again, and the set is one of tasks that
// never swap; otherwise all of every client's slots are swapped. A client without a declaration is a best-effort task:
// it blocks others by one job of `best_effort_wcet` and by its load. Each client is a task in the order of places.
//
// A client that grows with the device in hand costs others nothing that was not promised: its job goes on as its next
// one, from its next release on, with all slots that it has then.
//
// Set-up: allocates, and takes as long as the analysis does. Pure; one thread at a time.
#pragma once

#include <rtexec/plan.hpp>
#include <rtexec/resolved_set.hpp>
#include <rtexec/result.hpp>
#include <rtexec/units.hpp>
#include "config/daemon_settings.hpp"
#include "rtexec/sharing/daemon/tenancy.hpp"
#include "rtexec/sharing/protocol/messages.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rtexec::daemon {

struct Terms {
  /// Board, device options, order and swap policy, without tasks; its capacity and chunk are settled.
  ResolvedSet device;
  std::vector<config::ClientRule> rules;
  std::uint32_t places = 32;
  Duration best_effort_wcet{std::chrono::milliseconds(50)};
};

struct Refusal {
  protocol::Refusal code{};
  std::string text; // whole sentences, with the numbers
};
template <class T = void> using Admitted = Expected<T, Refusal>;

/// Who a client is: its own word for it, and the kernel's.
struct Identity {
  std::string name;
  std::filesystem::path executable;
};

class Clients {
 public:
  struct Client {
    Identity identity;
    std::uint32_t slots = 0;
    std::uint32_t limit = 0; // slots
    std::optional<config::ClientDeclaration> declaration;
    bool declared_by_rule = false;
    std::optional<Duration> response_bound; // of a declared one
    Tenancy tenancy;
  };

  explicit Clients(Terms terms);

  /// Where the client is from now on, with the declaration of the first rule that fits.
  [[nodiscard]] Admitted<std::uint32_t> connect(const Identity& who, std::uint32_t slots);
  /// Once for each client. `delays`: a job of it, as it was, has had its turn or waits for it since the last quiet
  /// instant.
  [[nodiscard]] Admitted<> declare(std::uint32_t place, const config::ClientDeclaration& declaration, bool delays);
  /// To as many slots as it has, or more: others may have the frames of those that it lost before it let go of them.
  [[nodiscard]] Admitted<> grow(std::uint32_t place, std::uint32_t slots);
  /// Nobody is at `place` any more. What others are promised stays as it is, though all slots may fit now, which their
  /// tenancies say then. `delays`: as for declare().
  void leave(std::uint32_t place, bool delays);
  /// A quiet instant has come after all that this was told, and what it told last was so by then.
  void quiet() { departed_.clear(); }

  /// Places whose tenancy differs from what this told last, newcomers among them, in order.
  [[nodiscard]] std::vector<std::uint32_t> take_changes();

  /// Null: nobody is there.
  [[nodiscard]] const Client* at(std::uint32_t place) const {
    return place < clients_.size() && clients_[place] ? &*clients_[place] : nullptr;
  }
  [[nodiscard]] std::uint32_t places() const { return static_cast<std::uint32_t>(clients_.size()); }
  [[nodiscard]] std::uint32_t frames() const { return frames_; }

 private:
  using Everyone = std::vector<std::optional<Client>>;
  [[nodiscard]] const config::ClientRule* rule_for(const Identity& who) const;
  /// Makes both what is so, if everything that is promised can be kept.
  [[nodiscard]] Admitted<> admit(Everyone all, std::vector<Client> departed);
  [[nodiscard]] Admitted<> promise(Everyone& all, const std::vector<Client>& departed) const;
  /// Whether all slots do.
  [[nodiscard]] bool fit(const Everyone& all, const std::vector<Client>& departed) const;
  /// As it counts from now on, when it is that no more.
  [[nodiscard]] Client departing(std::uint32_t place) const;

  Terms terms_;
  std::uint32_t frames_ = 0;
  Everyone clients_;
  std::vector<Client> departed_; // terms that count until a quiet instant
  std::vector<std::optional<Tenancy>> told_;
};

/// As the protocol says it.
[[nodiscard]] config::ClientDeclaration declaration_of(const protocol::Declare& message);

} // namespace rtexec::daemon
