#include "config/names.hpp"

namespace rtexec {
namespace {

constexpr Spelling<Order> orders[] = {{"edf", Order::edf}, {"static-priority", Order::static_priority}};

constexpr Spelling<PriorityAssignment> priority_assignments[] = {
    {"rate-monotonic", PriorityAssignment::rate_monotonic},
    {"deadline-monotonic", PriorityAssignment::deadline_monotonic},
    {"explicit", PriorityAssignment::explicit_priorities},
    {"audsley", PriorityAssignment::audsley}};

constexpr Spelling<Criticality> criticalities[] = {{"real-time", Criticality::real_time},
                                                   {"best-effort", Criticality::best_effort}};

constexpr Spelling<OnOverrun> overruns[] = {{"skip", OnOverrun::skip},
                                            {"catch-up", OnOverrun::catch_up},
                                            {"re-phase", OnOverrun::re_phase},
                                            {"abort-job", OnOverrun::abort_job},
                                            {"stop", OnOverrun::stop}};

constexpr Spelling<WorkloadKind> workloads[] = {{"dnn", WorkloadKind::dnn},
                                                {"synthetic", WorkloadKind::synthetic},
                                                {"traffic", WorkloadKind::traffic},
                                                {"winograd", WorkloadKind::winograd},
                                                {"custom", WorkloadKind::custom}};

constexpr Spelling<MemoryPolicy> memory_policies[] = {{"auto", MemoryPolicy::automatic},
                                                      {"D", MemoryPolicy::device},
                                                      {"M", MemoryPolicy::managed},
                                                      {"H", MemoryPolicy::host}};

constexpr Spelling<SwapPolicy> swap_policies[] = {{"pipelined", SwapPolicy::pipelined},
                                                  {"serial", SwapPolicy::serial},
                                                  {"rt-swap", SwapPolicy::rt_swap},
                                                  {"mo-vmm", SwapPolicy::mo_vmm},
                                                  {"min", SwapPolicy::min},
                                                  {"pageable", SwapPolicy::pageable},
                                                  {"lru", SwapPolicy::lru},
                                                  {"none", SwapPolicy::none}};

constexpr Spelling<StoreKind> store_kinds[] = {
    {"pinned", StoreKind::pinned}, {"pageable", StoreKind::pageable}, {"file", StoreKind::file}};

constexpr Spelling<MemoryClass> memory_classes[] = {
    {"constant", MemoryClass::constant}, {"scratch", MemoryClass::scratch}, {"state", MemoryClass::state}};

constexpr Spelling<SwapCandidates> swap_candidates[] = {{"constants-first", SwapCandidates::constants_first},
                                                        {"largest-first", SwapCandidates::largest_first}};

constexpr Spelling<ThreadPolicy> thread_policies[] = {
    {"auto", ThreadPolicy::automatic}, {"fifo", ThreadPolicy::fifo}, {"deadline", ThreadPolicy::deadline}};

constexpr Spelling<DeviceKind> device_kinds[] = {{"host", DeviceKind::host}, {"cuda", DeviceKind::cuda}};

constexpr Spelling<Precision> precisions[] = {
    {"fp32", Precision::fp32}, {"tf32", Precision::tf32}, {"fp16", Precision::fp16}};

constexpr Spelling<Completion> completions[] = {{"block", Completion::block}, {"spin", Completion::spin}};

constexpr Spelling<TrafficPattern> traffic_patterns[] = {{"write", TrafficPattern::write},
                                                         {"read", TrafficPattern::read},
                                                         {"copy", TrafficPattern::copy},
                                                         {"latency", TrafficPattern::latency}};

constexpr Spelling<RegulateWhile> regulate_whiles[] = {{"device-works", RegulateWhile::device_works},
                                                       {"device-busy", RegulateWhile::device_busy},
                                                       {"always", RegulateWhile::always}};

constexpr Spelling<BandwidthSharing> bandwidth_sharings[] = {{"none", BandwidthSharing::none},
                                                             {"spare", BandwidthSharing::spare},
                                                             {"proportional", BandwidthSharing::proportional}};

constexpr Spelling<Overshoot> overshoots[] = {{"carry", Overshoot::carry}, {"forgive", Overshoot::forgive}};

constexpr Spelling<CounterBackEnd> counter_back_ends[] = {{"auto", CounterBackEnd::automatic},
                                                          {"core", CounterBackEnd::core},
                                                          {"thread", CounterBackEnd::thread},
                                                          {"polling", CounterBackEnd::polling}};

} // namespace

template <> std::span<const Spelling<Order>> spellings() { return orders; }
template <> std::span<const Spelling<PriorityAssignment>> spellings() { return priority_assignments; }
template <> std::span<const Spelling<Criticality>> spellings() { return criticalities; }
template <> std::span<const Spelling<OnOverrun>> spellings() { return overruns; }
template <> std::span<const Spelling<WorkloadKind>> spellings() { return workloads; }
template <> std::span<const Spelling<MemoryPolicy>> spellings() { return memory_policies; }
template <> std::span<const Spelling<SwapPolicy>> spellings() { return swap_policies; }
template <> std::span<const Spelling<StoreKind>> spellings() { return store_kinds; }
template <> std::span<const Spelling<MemoryClass>> spellings() { return memory_classes; }
template <> std::span<const Spelling<SwapCandidates>> spellings() { return swap_candidates; }
template <> std::span<const Spelling<ThreadPolicy>> spellings() { return thread_policies; }
template <> std::span<const Spelling<DeviceKind>> spellings() { return device_kinds; }
template <> std::span<const Spelling<Precision>> spellings() { return precisions; }
template <> std::span<const Spelling<Completion>> spellings() { return completions; }
template <> std::span<const Spelling<TrafficPattern>> spellings() { return traffic_patterns; }
template <> std::span<const Spelling<RegulateWhile>> spellings() { return regulate_whiles; }
template <> std::span<const Spelling<BandwidthSharing>> spellings() { return bandwidth_sharings; }
template <> std::span<const Spelling<Overshoot>> spellings() { return overshoots; }
template <> std::span<const Spelling<CounterBackEnd>> spellings() { return counter_back_ends; }

std::string_view name(Order value) noexcept { return spelling(value); }
std::string_view name(PriorityAssignment value) noexcept { return spelling(value); }
std::string_view name(Criticality value) noexcept { return spelling(value); }
std::string_view name(OnOverrun value) noexcept { return spelling(value); }
std::string_view name(WorkloadKind value) noexcept { return spelling(value); }
std::string_view name(TrafficPattern value) noexcept { return spelling(value); }
std::string_view name(MemoryPolicy value) noexcept { return spelling(value); }
std::string_view name(Precision value) noexcept { return spelling(value); }
std::string_view name(Completion value) noexcept { return spelling(value); }
std::string_view name(RegulateWhile value) noexcept { return spelling(value); }
std::string_view name(BandwidthSharing value) noexcept { return spelling(value); }
std::string_view name(Overshoot value) noexcept { return spelling(value); }
std::string_view name(CounterBackEnd value) noexcept { return spelling(value); }
std::string_view name(SwapPolicy value) noexcept { return spelling(value); }
std::string_view name(MemoryClass value) noexcept { return spelling(value); }
std::string_view name(SwapCandidates value) noexcept { return spelling(value); }
std::string_view name(ThreadPolicy value) noexcept { return spelling(value); }
std::string_view name(StoreKind value) noexcept { return spelling(value); }
std::string_view name(DeviceKind value) noexcept { return spelling(value); }

} // namespace rtexec
