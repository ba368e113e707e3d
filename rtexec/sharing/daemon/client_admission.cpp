#include "rtexec/sharing/daemon/client_admission.hpp"

#include "policies/admission/admission.hpp"

#include <algorithm>
#include <numeric>

namespace rtexec::daemon {
namespace {

/// The relative deadline for ordering jobs of undeclared clients. The deadline is the same for all undeclared clients,
/// so that their jobs are ordered by the time of request.
constexpr Duration any_time = std::chrono::seconds(10);

static_assert(config::longest_client_name + 1 == sizeof protocol::Hello::name);

Unexpected<Refusal> refused(protocol::Refusal code, std::string text) {
  return Unexpected(Refusal{code, std::move(text)});
}

Unexpected<Refusal> later() {
  return refused(protocol::Refusal::later,
                 "This can be promised only after the jobs that an earlier client has delayed have ended: try again.");
}

Task task_of(const AdmittedClient& client, std::size_t place, Bytes memory, Duration best_effort_wcet) {
  Task task;
  task.name = client.identity.name + " (" + std::to_string(place) + ")";
  task.workload = WorkloadKind::synthetic;
  task.core = static_cast<unsigned>(place);
  task.footprint = memory;
  task.memory_class = MemoryClass::state;
  if (const auto& declared = client.declaration) {
    task.period = declared->period;
    task.deadline = declared->deadline;
    task.priority = declared->priority;
    task.wcet = Wcet{.before = {}, .device = declared->wcet, .after = {}};
  } else {
    task.criticality = Criticality::best_effort;
    task.period = task.deadline = any_time;
    task.wcet = Wcet{.before = {}, .device = best_effort_wcet, .after = {}};
  }
  return task;
}

} // namespace

config::ClientDeclaration declaration_of(const protocol::Declare& message) {
  return {.period = Duration(message.period_ns),
          .deadline = Duration(message.deadline_ns),
          .wcet = Duration(message.wcet_ns),
          .priority = message.priority == 0 ? std::nullopt : std::optional(message.priority),
          .on_overrun = static_cast<OnWcetExceeded>(message.on_overrun)};
}

ClientAdmission::ClientAdmission(AdmissionOptions options)
    : options_(std::move(options)), clients_(options_.places), reported_(options_.places) {
  const Bytes capacity = options_.device.tasks.device.capacity.value_or(options_.device.board.capacity);
  frames_ = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(capacity.count / options_.device.chunk.count, protocol::max_slots));
}

const config::ClientRule* ClientAdmission::rule_for(const Identity& who) const {
  const auto rule = std::ranges::find_if(options_.rules, [&](const config::ClientRule& each) {
    return (each.name.empty() || each.name == who.name) &&
           (each.executable.empty() || each.executable == who.executable);
  });
  return rule == options_.rules.end() ? nullptr : &*rule;
}

Admitted<std::uint32_t> ClientAdmission::connect(const Identity& who, std::uint32_t slots) {
  const auto vacant = std::ranges::find_if(clients_, [](const auto& each) { return !each; });
  if (vacant == clients_.end())
    return refused(protocol::Refusal::full, "all " + std::to_string(clients_.size()) + " slots for clients are in use");
  if (departed_.size() >= clients_.size()) return later();
  const auto place = static_cast<std::uint32_t>(vacant - clients_.begin());
  AdmittedClient client;
  client.identity = who;
  client.slots = slots;
  client.limit = frames_;
  if (const auto* rule = rule_for(who)) {
    if (rule->memory)
      client.limit = static_cast<std::uint32_t>(
          std::min<std::uint64_t>(frames_, rule->memory->count / options_.device.chunk.count));
    client.declaration = rule->declaration;
    client.declared_by_rule = rule->declaration.has_value();
  }
  ClientsByPlace all = clients_;
  all[place] = std::move(client);
  if (auto admitted = admit(std::move(all), departed_); !admitted) return Unexpected(std::move(admitted).error());
  return place;
}

Admitted<> ClientAdmission::declare(std::uint32_t place, const config::ClientDeclaration& declaration, bool delays) {
  if (at(place) == nullptr) return refused(protocol::Refusal::order, "no client is connected");
  if (at(place)->declaration) return refused(protocol::Refusal::order, "the client is already declared");
  const ExecutiveOptions& executive = options_.device.tasks.executive;
  if (executive.order == Order::static_priority && executive.priorities == PriorityAssignment::explicit_priorities &&
      !declaration.priority)
    return refused(protocol::Refusal::not_allowed,
                   "priorities = \"explicit\" in [daemon]: the declaration needs a priority");
  ClientsByPlace all = clients_;
  all[place]->declaration = declaration;
  std::vector<AdmittedClient> departed = departed_;
  if (delays) departed.push_back(departing(place));
  return admit(std::move(all), std::move(departed));
}

Admitted<> ClientAdmission::grow(std::uint32_t place, std::uint32_t slots) {
  if (at(place) == nullptr) return refused(protocol::Refusal::order, "no client is connected");
  if (slots < at(place)->slots)
    return refused(protocol::Refusal::unsupported, "the memory of a connected client cannot shrink");
  ClientsByPlace all = clients_;
  all[place]->slots = slots;
  return admit(std::move(all), departed_);
}

/// Removes a client. Its demand continues to count until the next quiet instant (quiet()) in two cases: if its jobs may
/// have delayed other clients (`delays`), or if the slots of all clients fit into the device only after the removal.
void ClientAdmission::leave(std::uint32_t place, bool delays) {
  AdmittedClient left = departing(place);
  const bool fitted = fit(clients_, departed_);
  clients_[place].reset();
  reported_[place].reset();
  if (delays || fitted != fit(clients_, departed_)) departed_.push_back(std::move(left));
  if (std::ranges::none_of(clients_, [](const auto& each) { return each && each->declaration; })) return;
  const bool stays = fit(clients_, {});
  for (auto& client : clients_)
    if (client) client->contract.task.stays = stays;
}

bool ClientAdmission::fit(const ClientsByPlace& all, const std::vector<AdmittedClient>& departed) const {
  std::uint64_t slots = 0;
  for (const auto& client : all) slots += client ? client->slots : 0;
  for (const AdmittedClient& client : departed) slots += client.slots;
  return slots <= frames_;
}

/// Returns the part of the client's present demand that would still count if the client left or sent a declaration now.
/// The demand has 0 slots if the slots of all clients fit into the device: then no chunk was swapped for the client's
/// jobs, and its frames are free.
AdmittedClient ClientAdmission::departing(std::uint32_t place) const {
  AdmittedClient departing = *clients_[place];
  if (fit(clients_, departed_)) departing.slots = 0;
  return departing;
}

Admitted<> ClientAdmission::admit(ClientsByPlace all, std::vector<AdmittedClient> departed) {
  for (const auto& client : all) {
    if (!client || client->slots <= client->limit) continue;
    const Bytes chunk = options_.device.chunk;
    return refused(protocol::Refusal::limit, client->identity.name + ": " + readable(chunk * client->slots) +
                                                 " exceed its limit of " + readable(chunk * client->limit));
  }
  if (auto promised = promise(all, departed); !promised) {
    if (departed.empty()) return promised;
    if (auto without = promise(all, {}); !without) return without;
    return later();
  }
  clients_ = std::move(all);
  departed_ = std::move(departed);
  return {};
}

/// Analyses the clients of `all`, with the demand of `departed`, and writes the contracts. Returns the refusal if a
/// promise cannot be kept.
Admitted<> ClientAdmission::promise(ClientsByPlace& all, const std::vector<AdmittedClient>& departed) const {
  ResolvedSet set = options_.device;
  std::vector<MemoryDemand> memory;
  std::vector<std::size_t> place_of;
  bool anything = false;
  const auto add = [&](const AdmittedClient& client, std::size_t core) {
    const Bytes size = set.chunk * client.slots;
    set.tasks.tasks.push_back(task_of(client, core, size, options_.best_effort_wcet));
    memory.emplace_back().add(MemoryClass::state, size);
  };
  for (std::size_t place = 0; place < all.size(); ++place) {
    if (!all[place]) continue;
    AdmittedClient& client = *all[place];
    client.response_bound.reset();
    client.contract = {.task = {.rank = 1, .device_done_by = any_time, .slots = client.slots},
                       .wcet = options_.best_effort_wcet};
    anything = anything || client.declaration;
    add(client, place);
    place_of.push_back(place);
  }
  if (!anything) return {};
  for (std::size_t i = 0; i < departed.size(); ++i) add(departed[i], all.size() + i);

  const std::size_t cores = all.size() + departed.size();
  set.machine.cores.resize(cores + 2);
  std::iota(set.machine.cores.begin(), set.machine.cores.end(), 0u);
  set.compute_core = static_cast<unsigned>(cores);
  set.service_core = set.compute_core + 1;
  set.tasks.device.capacity = set.chunk * frames_;
  const bool stays = fit(all, {}), swaps = !fit(all, departed);
  for (Task& task : set.tasks.tasks)
    if (swaps && task.footprint->count > 0) task.swap_volume = task.footprint;

  const auto plan = policies::make_plan(set, memory);
  if (!plan) return refused(protocol::Refusal::not_proved, plan.error().what);
  if (!plan->proved) return refused(protocol::Refusal::not_proved, plan->end_to_end.explanation);
  for (std::size_t i = 0; i < place_of.size(); ++i) {
    AdmittedClient& client = *all[place_of[i]];
    const PlannedTask& planned = plan->tasks[i];
    client.contract.task = {.rank = planned.device_rank,
                            .device_done_by = planned.device_done_by,
                            .period = planned.period,
                            .slots = client.slots,
                            .stays = stays};
    if (!client.declaration) continue;
    client.response_bound = planned.response_bound;
    client.contract = {.task = client.contract.task,
                       .real_time = true,
                       .period = client.declaration->period,
                       .deadline = client.declaration->deadline,
                       .wcet = client.declaration->wcet,
                       .gap = client.declaration->gap,
                       .on_overrun = client.declaration->on_overrun};
  }
  return {};
}

std::vector<std::uint32_t> ClientAdmission::take_changes() {
  std::vector<std::uint32_t> changed;
  for (std::uint32_t place = 0; place < clients_.size(); ++place) {
    const auto now = clients_[place] ? std::optional(clients_[place]->contract) : std::nullopt;
    if (now && reported_[place] != now) changed.push_back(place);
    reported_[place] = now;
  }
  return changed;
}

} // namespace rtexec::daemon
