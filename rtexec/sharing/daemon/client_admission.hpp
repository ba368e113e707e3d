// Admission of the memory and the contracts of the daemon's clients. A promise is a response bound that the daemon has
// guaranteed to a client. A client *declares itself* when it sends its period, deadline and WCET (protocol::Declare). A
// client *grows* when it gets more slots. If a client connects, declares itself or grows, this change may break a
// promise. Therefore the change must pass the schedulability analysis of the executive (policies/admission/admission).
// Otherwise the change is refused with the numbers, and has no effect.
//
// A client may have delayed jobs of other clients before it leaves or declares itself. The promises to the other
// clients include only one such delay. Therefore the client's former demand counts until a quiet instant, when all
// delayed jobs have ended (policies/proofs/exchanges.md). Former demand of slots that did not fit into the device
// counts in the same way. If a request is refused only because of former demand, the answer is "later".
//
// The analysed set has one synthetic task for each client, on a separate core. The task's memory is all slots of the
// client. The slots count as state: a swap copies them to the device and back. If the slots of all clients fit into the
// device, the tasks never swap. Otherwise all slots of each client are swapped. A client without a declaration is a
// best-effort task. Such a client blocks other clients by one job of `best_effort_wcet` and by the load of its slots.
// The tasks are in the order of places; a place is a client's number at the daemon.
//
// If a client grows while it holds the device, the rest of its job counts as a new job with the new number of slots.
// This new job is released at the client's next release. Therefore the client delays other clients by no more than
// their contracts allow.
//
// Set-up: allocates, and takes as long as the analysis. No input or output; one thread at a time.
#pragma once

#include <rtexec/plan.hpp>
#include <rtexec/resolved_set.hpp>
#include <rtexec/result.hpp>
#include <rtexec/units.hpp>
#include "config/daemon_settings.hpp"
#include "rtexec/sharing/daemon/contract.hpp"
#include "rtexec/sharing/protocol/messages.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rtexec::daemon {

struct AdmissionOptions {
  /// Board, device options, order and swap policy, without tasks. Capacity and chunk size must be known.
  ResolvedSet device;
  std::vector<config::ClientRule> rules;
  std::uint32_t places = 32;
  Duration best_effort_wcet{std::chrono::milliseconds(50)};
};

struct Refusal {
  protocol::Refusal code{};
  std::string text; // complete sentences with the numbers
};
template <class T = void> using Admitted = Expected<T, Refusal>;

struct Identity {
  std::string name;                 // the name that the client sent in Hello
  std::filesystem::path executable; // as reported by the kernel
};

/// A connected client with the data that admission needs.
struct AdmittedClient {
  Identity identity;
  std::uint32_t slots = 0;
  std::uint32_t limit = 0; // maximum number of slots
  std::optional<config::ClientDeclaration> declaration;
  bool declared_by_rule = false;
  std::optional<Duration> response_bound; // present if the client is declared
  Contract contract;
};

class ClientAdmission {
 public:
  explicit ClientAdmission(AdmissionOptions options);

  /// Admits a client, with the declaration in the first rule of the daemon's file that matches `who`. Returns its
  /// place.
  [[nodiscard]] Admitted<std::uint32_t> connect(const Identity& who, std::uint32_t slots);
  /// Admits the declaration of a client (its period, deadline and WCET). A client may send one declaration. `delays` is
  /// true if an earlier job of the client was granted or waited since the last quiet instant.
  [[nodiscard]] Admitted<> declare(std::uint32_t place, const config::ClientDeclaration& declaration, bool delays);
  /// Admits the growth of a client to `slots` slots. `slots` must not be less than the present number, because a client
  /// cannot return frames while it is connected.
  [[nodiscard]] Admitted<> grow(std::uint32_t place, std::uint32_t slots);
  /// Removes a client, so that `place` is free. The promises to other clients stay valid. Their contracts change only
  /// if all slots now fit into the device. `delays` is true if an earlier job of the client was granted or waited since
  /// the last quiet instant.
  void leave(std::uint32_t place, bool delays);
  /// Records a quiet instant: no promised job is unfinished. From then on, the demand of departed clients no longer
  /// counts. Requires that the contracts last returned by take_changes() were in force at that instant.
  void quiet() { departed_.clear(); }

  /// Returns the places whose contracts have changed since the last call, in ascending order. Includes new clients.
  [[nodiscard]] std::vector<std::uint32_t> take_changes();

  /// Returns the client at `place`, or null if the place is free.
  [[nodiscard]] const AdmittedClient* at(std::uint32_t place) const {
    return place < clients_.size() && clients_[place] ? &*clients_[place] : nullptr;
  }
  [[nodiscard]] std::uint32_t places() const { return static_cast<std::uint32_t>(clients_.size()); }
  [[nodiscard]] std::uint32_t frames() const { return frames_; }

 private:
  using ClientsByPlace = std::vector<std::optional<AdmittedClient>>;
  [[nodiscard]] const config::ClientRule* rule_for(const Identity& who) const;
  /// Replaces the connected and departed clients if all promises can be kept. Otherwise returns the refusal.
  [[nodiscard]] Admitted<> admit(ClientsByPlace all, std::vector<AdmittedClient> departed);
  [[nodiscard]] Admitted<> promise(ClientsByPlace& all, const std::vector<AdmittedClient>& departed) const;
  /// True if the slots of all clients in `all` and `departed` fit into the device at once.
  [[nodiscard]] bool fit(const ClientsByPlace& all, const std::vector<AdmittedClient>& departed) const;
  /// Returns the part of the client's present demand that would still count until the next quiet instant if the client
  /// left or sent a declaration now.
  [[nodiscard]] AdmittedClient departing(std::uint32_t place) const;

  AdmissionOptions options_;
  std::uint32_t frames_ = 0;
  ClientsByPlace clients_;
  std::vector<AdmittedClient> departed_; // clients whose demand counts until a quiet instant
  std::vector<std::optional<Contract>> reported_;
};

/// Converts the protocol's declaration to the type of a declaration in the daemon's file.
[[nodiscard]] config::ClientDeclaration declaration_of(const protocol::Declare& message);

} // namespace rtexec::daemon
