// The spellings of the configuration's enumerations in TOML files, reports and traces. There is one table for each
// enumeration.
#pragma once

#include <rtexec/profile.hpp>
#include <rtexec/board.hpp>
#include <rtexec/result.hpp>
#include <rtexec/choices.hpp>
#include "config/daemon_settings.hpp"

#include <array>
#include <span>
#include <string_view>

namespace rtexec {

template <class Enum> struct Spelling {
  std::string_view text; // a string literal, so that it ends with a null character
  Enum value;
};

/// The table of `Enum`: every value with its spelling.
template <class Enum> inline constexpr std::array<Spelling<Enum>, 0> spellings_of{};

template <>
inline constexpr auto spellings_of<Order> =
    std::to_array<Spelling<Order>>({{"edf", Order::edf}, {"static-priority", Order::static_priority}});

template <>
inline constexpr auto spellings_of<PriorityAssignment> =
    std::to_array<Spelling<PriorityAssignment>>({{"rate-monotonic", PriorityAssignment::rate_monotonic},
                                                 {"deadline-monotonic", PriorityAssignment::deadline_monotonic},
                                                 {"explicit", PriorityAssignment::explicit_priorities},
                                                 {"audsley", PriorityAssignment::audsley}});

template <>
inline constexpr auto spellings_of<config::ChunkSharing> =
    std::to_array<Spelling<config::ChunkSharing>>({{"auto", config::ChunkSharing::automatic},
                                                   {"shared", config::ChunkSharing::shared},
                                                   {"separate", config::ChunkSharing::separate}});

template <>
inline constexpr auto spellings_of<Criticality> = std::to_array<Spelling<Criticality>>(
    {{"real-time", Criticality::real_time}, {"best-effort", Criticality::best_effort}});

template <>
inline constexpr auto spellings_of<Trigger> = std::to_array<Spelling<Trigger>>(
    {{"timer", Trigger::timer}, {"input", Trigger::input}, {"call", Trigger::call}, {"after", Trigger::after}});

template <>
inline constexpr auto spellings_of<Communication> =
    std::to_array<Spelling<Communication>>({{"immediate", Communication::immediate}, {"let", Communication::let}});

template <>
inline constexpr auto spellings_of<OnOverrun> = std::to_array<Spelling<OnOverrun>>({{"skip", OnOverrun::skip},
                                                                                    {"catch-up", OnOverrun::catch_up},
                                                                                    {"re-phase", OnOverrun::re_phase},
                                                                                    {"abort-job", OnOverrun::abort_job},
                                                                                    {"stop", OnOverrun::stop}});

template <>
inline constexpr auto spellings_of<OnWcetExceeded> = std::to_array<Spelling<OnWcetExceeded>>(
    {{"tell", OnWcetExceeded::tell}, {"skip-next", OnWcetExceeded::skip_next}, {"stop", OnWcetExceeded::stop}});

template <>
inline constexpr auto spellings_of<WorkloadKind> =
    std::to_array<Spelling<WorkloadKind>>({{"dnn", WorkloadKind::dnn},
                                           {"synthetic", WorkloadKind::synthetic},
                                           {"traffic", WorkloadKind::traffic},
                                           {"winograd", WorkloadKind::winograd},
                                           {"vector-add", WorkloadKind::vector_add},
                                           {"matrix-add", WorkloadKind::matrix_add},
                                           {"matrix-multiply", WorkloadKind::matrix_multiply},
                                           {"needleman-wunsch", WorkloadKind::needleman_wunsch},
                                           {"gaussian", WorkloadKind::gaussian},
                                           {"hotspot", WorkloadKind::hotspot},
                                           {"pathfinder", WorkloadKind::pathfinder},
                                           {"bfs", WorkloadKind::bfs},
                                           {"nearest-neighbour", WorkloadKind::nearest_neighbour},
                                           {"random-access", WorkloadKind::random_access},
                                           {"euclidean-clustering", WorkloadKind::euclidean_clustering},
                                           {"custom", WorkloadKind::custom}});

template <>
inline constexpr auto spellings_of<MemoryPolicy> =
    std::to_array<Spelling<MemoryPolicy>>({{"auto", MemoryPolicy::automatic},
                                           {"D", MemoryPolicy::device},
                                           {"M", MemoryPolicy::managed},
                                           {"H", MemoryPolicy::host},
                                           {"D/H", MemoryPolicy::switching}});

template <>
inline constexpr auto spellings_of<Constants> = std::to_array<Spelling<Constants>>({{"auto", Constants::automatic},
                                                                                    {"whole", Constants::whole},
                                                                                    {"stream", Constants::streamed}});

template <>
inline constexpr auto spellings_of<MemoryObjective> = std::to_array<Spelling<MemoryObjective>>(
    {{"most-slack", MemoryObjective::max_slack}, {"least-memory", MemoryObjective::min_memory}});

template <>
inline constexpr auto spellings_of<SwapPolicy> =
    std::to_array<Spelling<SwapPolicy>>({{"pipelined", SwapPolicy::pipelined},
                                         {"serial", SwapPolicy::serial},
                                         {"rt-swap", SwapPolicy::rt_swap},
                                         {"mo-vmm", SwapPolicy::mo_vmm},
                                         {"min", SwapPolicy::min},
                                         {"pageable", SwapPolicy::pageable},
                                         {"lru", SwapPolicy::lru},
                                         {"none", SwapPolicy::none}});

template <>
inline constexpr auto spellings_of<StoreKind> = std::to_array<Spelling<StoreKind>>({{"pinned", StoreKind::pinned},
                                                                                    {"pageable", StoreKind::pageable},
                                                                                    {"file", StoreKind::file}});

template <>
inline constexpr auto spellings_of<MemoryClass> = std::to_array<Spelling<MemoryClass>>(
    {{"constant", MemoryClass::constant}, {"scratch", MemoryClass::scratch}, {"state", MemoryClass::state}});

template <>
inline constexpr auto spellings_of<SwapCandidates> = std::to_array<Spelling<SwapCandidates>>(
    {{"constants-first", SwapCandidates::constants_first}, {"largest-first", SwapCandidates::largest_first}});

template <>
inline constexpr auto spellings_of<ThreadPolicy> = std::to_array<Spelling<ThreadPolicy>>(
    {{"auto", ThreadPolicy::automatic}, {"fifo", ThreadPolicy::fifo}, {"deadline", ThreadPolicy::deadline}});

template <>
inline constexpr auto spellings_of<ClockKind> = std::to_array<Spelling<ClockKind>>({{"cpu", ClockKind::cpu},
                                                                                    {"gpu", ClockKind::gpu},
                                                                                    {"memory", ClockKind::memory}});

template <>
inline constexpr auto spellings_of<SensorKind> =
    std::to_array<Spelling<SensorKind>>({{"temperature", SensorKind::temperature},
                                         {"power", SensorKind::power},
                                         {"load", SensorKind::load},
                                         {"memory-activity", SensorKind::memory_activity},
                                         {"over-current", SensorKind::over_current}});

template <>
inline constexpr auto spellings_of<DeviceKind> = std::to_array<Spelling<DeviceKind>>({{"host", DeviceKind::host},
                                                                                      {"cuda", DeviceKind::cuda}});

template <>
inline constexpr auto spellings_of<Precision> = std::to_array<Spelling<Precision>>({{"fp32", Precision::fp32},
                                                                                    {"tf32", Precision::tf32},
                                                                                    {"fp16", Precision::fp16}});

template <>
inline constexpr auto spellings_of<Completion> = std::to_array<Spelling<Completion>>({{"block", Completion::block},
                                                                                      {"spin", Completion::spin}});

template <>
inline constexpr auto spellings_of<SourceKind> = std::to_array<Spelling<SourceKind>>({{"noise", SourceKind::noise},
                                                                                      {"files", SourceKind::files},
                                                                                      {"camera", SourceKind::camera},
                                                                                      {"iceoryx", SourceKind::iceoryx},
                                                                                      {"task", SourceKind::task},
                                                                                      {"program",
                                                                                       SourceKind::program}});

template <>
inline constexpr auto spellings_of<SinkKind> = std::to_array<Spelling<SinkKind>>({{"files", SinkKind::files},
                                                                                  {"iceoryx", SinkKind::iceoryx},
                                                                                  {"null", SinkKind::none}});

template <>
inline constexpr auto spellings_of<PixelFormat> = std::to_array<Spelling<PixelFormat>>({{"RGB24", PixelFormat::rgb24},
                                                                                        {"BGR24", PixelFormat::bgr24},
                                                                                        {"YUYV", PixelFormat::yuyv},
                                                                                        {"NV12", PixelFormat::nv12},
                                                                                        {"MJPG", PixelFormat::mjpg}});

template <>
inline constexpr auto spellings_of<ChannelOrder> = std::to_array<Spelling<ChannelOrder>>({{"RGB", ChannelOrder::rgb},
                                                                                          {"BGR", ChannelOrder::bgr}});

template <>
inline constexpr auto spellings_of<TensorLayout> =
    std::to_array<Spelling<TensorLayout>>({{"NCHW", TensorLayout::nchw}, {"NHWC", TensorLayout::nhwc}});

template <>
inline constexpr auto spellings_of<PictureFit> =
    std::to_array<Spelling<PictureFit>>({{"letterbox", PictureFit::letterbox}, {"stretch", PictureFit::stretch}});

template <>
inline constexpr auto spellings_of<OnStale> =
    std::to_array<Spelling<OnStale>>({{"reuse", OnStale::reuse}, {"skip", OnStale::skip}, {"miss", OnStale::miss}});

template <>
inline constexpr auto spellings_of<TrafficPattern> =
    std::to_array<Spelling<TrafficPattern>>({{"write", TrafficPattern::write},
                                             {"read", TrafficPattern::read},
                                             {"copy", TrafficPattern::copy},
                                             {"latency", TrafficPattern::latency}});

template <>
inline constexpr auto spellings_of<RegulateWhile> =
    std::to_array<Spelling<RegulateWhile>>({{"device-works", RegulateWhile::device_works},
                                            {"device-busy", RegulateWhile::device_busy},
                                            {"always", RegulateWhile::always}});

template <>
inline constexpr auto spellings_of<BandwidthSharing> =
    std::to_array<Spelling<BandwidthSharing>>({{"none", BandwidthSharing::none},
                                               {"spare", BandwidthSharing::spare},
                                               {"proportional", BandwidthSharing::proportional}});

template <>
inline constexpr auto spellings_of<Overshoot> = std::to_array<Spelling<Overshoot>>({{"carry", Overshoot::carry},
                                                                                    {"forgive", Overshoot::forgive}});

template <>
inline constexpr auto spellings_of<CounterBackEnd> =
    std::to_array<Spelling<CounterBackEnd>>({{"auto", CounterBackEnd::automatic},
                                             {"core", CounterBackEnd::core},
                                             {"thread", CounterBackEnd::thread},
                                             {"polling", CounterBackEnd::polling}});

template <>
inline constexpr auto spellings_of<WcetMethod> = std::to_array<Spelling<WcetMethod>>(
    {{"growth", WcetMethod::growth}, {"tail-model", WcetMethod::tail_model}, {"layers", WcetMethod::layers}});

template <>
inline constexpr auto spellings_of<Errc> = std::to_array<Spelling<Errc>>({{"bad-input", Errc::bad_input},
                                                                          {"not-proved", Errc::not_proved},
                                                                          {"missed", Errc::missed},
                                                                          {"refused", Errc::refused},
                                                                          {"out-of-memory", Errc::out_of_memory},
                                                                          {"unsupported", Errc::unsupported},
                                                                          {"device-fault", Errc::device_fault},
                                                                          {"device-lost", Errc::device_lost},
                                                                          {"cancelled", Errc::cancelled},
                                                                          {"io-error", Errc::io_error},
                                                                          {"corrupted", Errc::corrupted},
                                                                          {"stale", Errc::stale}});

template <class Enum> [[nodiscard]] constexpr std::span<const Spelling<Enum>> spellings() {
  static_assert(!spellings_of<Enum>.empty(), "an enumeration without a table");
  return spellings_of<Enum>;
}

/// Returns the spelling of a value: "edf", "best-effort", "D", ...
template <class Enum> [[nodiscard]] constexpr std::string_view spelling(Enum value) {
  for (const Spelling<Enum>& known : spellings<Enum>())
    if (known.value == value) return known.text;
  return "?";
}

} // namespace rtexec
