// Admission of the daemon's clients: their memory, and their contracts. A change that could break a promise (a client
// connects, declares itself, grows) has to pass the analysis of the executive (policies/admission/admission). Otherwise
// it is refused with the numbers, without effect.
//
// A client may have delayed jobs of others before it left or declared itself. They are promised no second such delay,
// so its former demand counts until a quiet instant (policies/proofs/exchanges.md); so does the fact that not all slots
// fitted. A request that is refused only for that is answered with "later".
//
// The analysed set has one synthetic task for each client, on a core of its own: all its slots, as state that is copied
// both ways. If the slots of all clients fit, no chunk leaves again, and the tasks never swap; otherwise all slots of
// each client are swapped. A client without a declaration is a best-effort task: it blocks others by one job of
// `best_effort_wcet` and by its load. The tasks are in the order of places; a place is a client's number at the daemon.
//
// A client that grows while it holds the device costs others nothing beyond their contracts: its job continues as its
// next one, from its next release, with all slots that it has then.
//
// Set-up: allocates, and takes as long as the analysis. Pure; one thread at a time.
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

struct Identity {
  std::string name;                 // the name that the client sent in Hello
  std::filesystem::path executable; // as reported by the kernel
};

/// A connected client as admission knows it.
struct AdmittedClient {
  Identity identity;
  std::uint32_t slots = 0;
  std::uint32_t limit = 0; // in slots
  std::optional<config::ClientDeclaration> declaration;
  bool declared_by_rule = false;
  std::optional<Duration> response_bound; // if declared
  Contract contract;
};

class ClientAdmission {
 public:
  explicit ClientAdmission(AdmissionOptions options);

  /// Admits a client, with the declaration of the first rule that matches. Returns its place.
  [[nodiscard]] Admitted<std::uint32_t> connect(const Identity& who, std::uint32_t slots);
  /// Admits the declaration of a client, once. `delays`: a job that it requested before has been granted, or waits,
  /// since the last quiet instant.
  [[nodiscard]] Admitted<> declare(std::uint32_t place, const config::ClientDeclaration& declaration, bool delays);
  /// Admits `slots` slots, at least as many as the client has: it cannot return frames while it is connected.
  [[nodiscard]] Admitted<> grow(std::uint32_t place, std::uint32_t slots);
  /// Frees `place`. The promises to others stay, except that their contracts say if all slots fit now. `delays`: as for
  /// declare().
  void leave(std::uint32_t place, bool delays);
  /// Reports a quiet instant after all changes. The last reported contracts were in force by then.
  void quiet() { departed_.clear(); }

  /// Returns the places whose contract differs from the last reported one, in order, new clients included.
  [[nodiscard]] std::vector<std::uint32_t> take_changes();

  /// Returns the client at `place`; null: the place is free.
  [[nodiscard]] const AdmittedClient* at(std::uint32_t place) const {
    return place < clients_.size() && clients_[place] ? &*clients_[place] : nullptr;
  }
  [[nodiscard]] std::uint32_t places() const { return static_cast<std::uint32_t>(clients_.size()); }
  [[nodiscard]] std::uint32_t frames() const { return frames_; }

 private:
  using ClientsByPlace = std::vector<std::optional<AdmittedClient>>;
  [[nodiscard]] const config::ClientRule* rule_for(const Identity& who) const;
  /// Replaces the connected and departed clients, if all promises can be kept.
  [[nodiscard]] Admitted<> admit(ClientsByPlace all, std::vector<AdmittedClient> departed);
  [[nodiscard]] Admitted<> promise(ClientsByPlace& all, const std::vector<AdmittedClient>& departed) const;
  /// True if all slots fit.
  [[nodiscard]] bool fit(const ClientsByPlace& all, const std::vector<AdmittedClient>& departed) const;
  /// Returns the client as it counts once it has left or declared itself.
  [[nodiscard]] AdmittedClient departing(std::uint32_t place) const;

  AdmissionOptions options_;
  std::uint32_t frames_ = 0;
  ClientsByPlace clients_;
  std::vector<AdmittedClient> departed_; // their demand counts until a quiet instant
  std::vector<std::optional<Contract>> reported_;
};

/// Converts the protocol's declaration.
[[nodiscard]] config::ClientDeclaration declaration_of(const protocol::Declare& message);

} // namespace rtexec::daemon
