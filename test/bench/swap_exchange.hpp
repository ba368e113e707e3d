// Section exchange compares swapping by the running executive with the limits of the bus. Section procedures compares
// it with the paper's method, Fig. 4.
#pragma once

#include "rtexec/runtime/measuring/swap_observation.hpp"
#include "test/bench/swap_procedures.hpp"

#include <optional>

namespace rtexec::bench {

inline Result<json> limit_section(const Context&) {
  const auto limits = LimitMeasurement().measure();
  if (!limits) return Unexpected(limits.error());
  std::printf(
      "  in %.1f GB/s, out %.1f GB/s, both at once %.1f GB/s in sum (%d pieces of 1 GiB each way, median of %d)\n",
      limits->in, limits->out, limits->both, LimitMeasurement::copies, LimitMeasurement::runs);
  return json{{"in_gb_s", limits->in}, {"out_gb_s", limits->out}, {"both_gb_s", limits->both}};
}

/// Returns nullopt without a GPU.
inline std::optional<CopyLimits> limits_of(const Context& context) {
  if (const auto found = context.before.find("limit"); found != context.before.end() && found->contains("both_gb_s"))
    return CopyLimits{(*found)["in_gb_s"], (*found)["out_gb_s"], (*found)["both_gb_s"]};
  const auto measured = LimitMeasurement().measure();
  return measured ? std::optional(*measured) : std::nullopt;
}

// ---- ours ----

/// One observed exchange: `volume` replaces as much.
struct Exchange {
  Bytes volume, chunk;
  MemoryClass kind;
  bool keep_awake;
};

class ExchangeSection {
 public:
  explicit ExchangeSection(const Context& context)
      : context_(context), limits_(limits_of(context)), begun_(hal::now()) {}

  Result<json> run() {
    if (!limits_) std::printf("  no GPU, whose limits could be measured: times only\n");
    for (const MemoryClass kind : {MemoryClass::state, MemoryClass::constant}) {
      print_heading(kind);
      for (const Exchange& each : exchanges(kind)) measure(each);
    }
    if (runs_.empty()) return fail(Errc::refused, "no exchange could be observed");
    return json{{"board", context_.options.board}, {"runs", runs_}};
  }

 private:
  static constexpr Duration enough = std::chrono::seconds(100); // for this section
  static constexpr unsigned jobs = 20;

  std::vector<Exchange> exchanges(MemoryClass kind) const {
    constexpr Bytes large = GiB * 4, odd = MiB * 300;
    std::vector<Exchange> list;
    if (kind == MemoryClass::state) {
      for (const Bytes volume : {large, GiB})
        for (const bool keep_awake : {true, false}) list.push_back({volume, MiB * 64, kind, keep_awake});
      for (const Bytes chunk : {MiB * 64, MiB * 32, MiB * 30, MiB * 20, MiB * 16, MiB * 8})
        list.push_back({odd, chunk, kind, true});
    } else {
      for (const auto& [volume, chunk] : {std::pair(large, MiB * 64),
                                          {GiB, MiB * 64},
                                          {GiB, MiB * 128},
                                          {GiB, MiB * 256},
                                          {large, MiB * 128},
                                          {large, MiB * 256}})
        list.push_back({volume, chunk, kind, true});
    }
    return list;
  }

  static void print_heading(MemoryClass kind) {
    if (kind == MemoryClass::state)
      std::printf(
          "  state: request to execution, ms; limit: what the volume takes both ways at once\n  %-10s %9s %6s %9s %9s "
          "%9s %8s  %s\n",
          "volume", "chunk", "cores", "p50", "p99", "limit", "ratio", "goal");
    else
      std::printf(
          "  constants: swap-in, ms; limit: what the volume takes one way\n  %-10s %9s %6s %9s %9s %9s %8s %14s  %s\n",
          "volume", "chunk", "cores", "in p50", "in p99", "limit", "ratio", "out ms/GiB p50", "goal");
  }

  void measure(const Exchange& each) {
    const std::string volume = readable(context_.sized(each.volume)), chunk = readable(context_.sized(each.chunk));
    const char* cores = each.keep_awake ? "awake" : "idle";
    std::printf("  %-10s %9s %6s ", volume.c_str(), chunk.c_str(), cores);
    std::fflush(stdout);
    if (hal::now() - begun_ > enough) {
      std::printf("left out: this section has taken its time\n");
      return;
    }
    const auto observed = observe(each);
    if (!observed) std::printf("failed: %s\n", observed.error().what.c_str());
    else if (each.kind == MemoryClass::state) report_state(each, *observed);
    else report_constants(each, *observed);
    std::fflush(stdout);
  }

  /// Uses longer turns if jobs did not fit into theirs.
  Result<executive::ObservedSwaps> observe(const Exchange& each) const {
    executive::SwapExperiment experiment{.board = context_.options.board,
                                         .chunk = context_.sized(each.chunk),
                                         .chunks = 1,
                                         .kind = each.kind,
                                         .jobs = jobs,
                                         .turn = {},
                                         .swap = {},
                                         .keep_awake = each.keep_awake};
    experiment.chunks = static_cast<std::uint32_t>(round_up(each.volume, each.chunk).count / each.chunk.count);
    Result<executive::ObservedSwaps> observed = fail(Errc::refused, "not tried");
    for (const double slack : {1.5, 4.0}) {
      const double expected_ns =
          static_cast<double>(context_.sized(each.volume).count) * 2 / (limits_ ? limits_->both : 2.0);
      experiment.turn = std::chrono::milliseconds(4) + Duration(static_cast<Duration::rep>(expected_ns * slack));
      observed = executive::observe_swaps(experiment);
      if (observed && observed->jobs.size() >= jobs / 4) break;
    }
    if (observed && observed->jobs.empty()) return fail(Errc::refused, "no job swapped all of its chunks");
    return observed;
  }

  json entry(const Exchange& each, const executive::ObservedSwaps& observed) const {
    return {{"volume_mib", mebibytes(context_.sized(each.volume))},
            {"chunk_mib", mebibytes(context_.sized(each.chunk))},
            {"kind", each.kind == MemoryClass::state ? "state" : "constant"},
            {"keep_awake", each.keep_awake},
            {"jobs", observed.jobs.size()},
            {"store", observed.store}};
  }

  template <class Value> static std::vector<double> collect(const executive::ObservedSwaps& observed, Value value) {
    std::vector<double> values;
    for (const auto& job : observed.jobs) values.push_back(milliseconds(value(job)));
    return values;
  }

  void report_state(const Exchange& each, const executive::ObservedSwaps& observed) {
    const auto whole = collect(observed, [](const auto& job) { return job.whole; });
    const double limit = limits_ ? gigabytes(context_.sized(each.volume)) * 2 / limits_->both * 1e3 : 0;
    const char* goal = each.volume >= GiB * 4 ? "<= 1.06" : each.volume < GiB ? "<= 1.2 at the best chunk" : "";
    print_times(whole, limit);
    std::printf("  %s\n", goal);
    json one = entry(each, observed);
    one["whole_ms"] = percentiles(whole);
    one["in_ms"] = percentiles(collect(observed, [](const auto& job) { return job.in; }));
    one["out_ms"] = percentiles(collect(observed, [](const auto& job) { return job.out; }));
    one["limit_ms"] = limit;
    runs_.push_back(one);
  }

  void report_constants(const Exchange& each, const executive::ObservedSwaps& observed) {
    const auto in = collect(observed, [](const auto& job) { return job.in; });
    const auto out = collect(observed, [](const auto& job) { return job.out_busy; });
    const double limit = limits_ ? gigabytes(context_.sized(each.volume)) / limits_->in * 1e3 : 0;
    const double out_per_gib = median(out) / gibibytes(context_.sized(each.volume));
    print_times(in, limit);
    std::printf(" %14.3f  in <= 1.03, out < 0.2\n", out_per_gib);
    json one = entry(each, observed);
    one["in_ms"] = percentiles(in);
    one["out_busy_ms"] = percentiles(out);
    one["out_ms_per_gib"] = out_per_gib;
    one["whole_ms"] = percentiles(collect(observed, [](const auto& job) { return job.whole; }));
    one["limit_ms"] = limit;
    runs_.push_back(one);
  }

  static void print_times(const std::vector<double>& times, double limit) {
    std::printf("%9.3f %9.3f ", median(times), percentile(times, 0.99));
    if (limit > 0) std::printf("%9.3f %8.3f", limit, median(times) / limit);
    else std::printf("%9s %8s", "-", "-");
  }

  const Context& context_;
  std::optional<CopyLimits> limits_;
  Instant begun_;
  json runs_ = json::array();
};

// ---- the paper's method ----

class ProceduresSection {
 public:
  explicit ProceduresSection(const Context& context) : context_(context) {}

  Result<json> run() {
    auto device = hal::CudaDevice::open({.capacity = MiB * 64});
    if (!device) return Unexpected(device.error());
    device_ = std::move(*device);
    find_objects();
    print_methods();
    print_chunk_sizes();
    print_exchanges();
    return result_;
  }

 private:
  static constexpr int runs = 5;
  static constexpr Bytes volume = MiB * 300, chunk = MiB * 64;
  using Pieces = std::vector<PaperSwap::Piece>;

  void find_objects() {
    if (context_.options.models.empty()) return std::printf("  mo-vmm left out: no network\n"), void();
    const auto network = build_network(context_.options.models.front());
    if (!network) return std::printf("  mo-vmm left out: %s\n", network.error().what.c_str()), void();
    for (const MemoryObject& object : (*network)->objects()) objects_.push_back(object.size);
  }

  Result<SwapTimes> measure(const Pieces& pieces, HostSide host) {
    if (pieces.empty()) return fail(Errc::bad_input, "no memory objects");
    const auto swap = PaperSwap::prepare(*device_, pieces, host);
    if (!swap) return Unexpected(swap.error());
    return (*swap)->measure(runs);
  }

  static json to_json(const SwapTimes& times) {
    json steps;
    for (std::size_t i = 0; i < step_count; ++i) steps[step_names[i]] = times.steps[i];
    return {{"out_ms", times.out}, {"in_ms", times.in}, {"steps_ms", steps}};
  }
  Pieces pieces_of_objects(Bytes size) const { return objects_.empty() ? Pieces() : object_pieces(size, objects_); }

  void print_methods() {
    std::printf(
        "  Fig. 4(a): 300 MiB, chunks of 64 MiB (min: 2 MiB, mo-vmm: the objects of a network), ms, medians of %d\n  "
        "%-9s %8s %8s |",
        runs, "", "out", "in");
    for (const char* name : step_names) std::printf(" %13s", name);
    std::printf(" | paper, RTX 3090: out, in\n");
    struct Method {
      const char* name;
      Pieces pieces;
      HostSide host;
      const char* paper;
    };
    for (const Method& each : {Method{"pageable", uniform_pieces(volume, chunk), HostSide::pageable, "192.6, 93.9"},
                               {"pinned", uniform_pieces(volume, chunk), HostSide::page_locked, "-"},
                               {"rt-swap", uniform_pieces(volume, chunk), HostSide::reserved, "26.2, 28.3"},
                               {"min", uniform_pieces(volume, MiB * 2), HostSide::reserved, "35.3, -"},
                               {"mo-vmm", pieces_of_objects(volume), HostSide::reserved, "-"}}) {
      std::printf("  %-9s ", each.name);
      const auto times = measure(each.pieces, each.host);
      if (!times) {
        std::printf("failed: %s\n", times.error().what.c_str());
        continue;
      }
      std::printf("%8.2f %8.2f |", times->out, times->in);
      for (const double step : times->steps) std::printf(" %13.3f", step);
      std::printf(" | %s\n", each.paper);
      result_["methods"][each.name] = to_json(*times);
    }
  }

  void print_chunk_sizes() {
    std::printf(
        "  Fig. 4(b): rt-swap, 300 MiB by chunk size, ms (paper, out: 35.3 at 2 MB, 26.2 at 64 MB, 41.6 at 256 MB)\n  "
        "%-9s %8s %8s\n",
        "chunk", "out", "in");
    for (Bytes size = MiB * 2; size <= MiB * 256; size = size * 2) {
      const auto times = measure(uniform_pieces(volume, size), HostSide::reserved);
      if (!times) return std::printf("  failed: %s\n", times.error().what.c_str()), void();
      std::printf("  %-9s %8.2f %8.2f\n", readable(size).c_str(), times->out, times->in);
      json one = to_json(*times);
      one["chunk_mib"] = mebibytes(size);
      result_["chunk_sizes"].push_back(one);
    }
  }

  /// Returns the executive's median at the same volume and chunk size, for the better way to wait, or 0 if it was not
  /// measured.
  double ours(Bytes size) const {
    double best = 0;
    if (!context_.before.contains("exchange") || !context_.before["exchange"].contains("runs")) return best;
    for (const json& each : context_.before["exchange"]["runs"]) {
      if (each["kind"] != "state" || each["volume_mib"] != mebibytes(size) || each["chunk_mib"] != mebibytes(chunk))
        continue;
      const double time = each["whole_ms"]["p50"];
      best = best == 0 ? time : std::min(best, time);
    }
    return best;
  }

  void print_exchanges() {
    std::printf(
        "  exchange: out, then as much in, ms, against the executive's at 64 MiB chunks (goal: rt-swap at 4 GiB at "
        "least 1.8 times as long)\n"
        "  %-9s %9s %9s %9s %9s %9s\n",
        "volume", "rt-swap", "min", "mo-vmm", "ours", "rt-swap/ours");
    for (const Bytes size : {MiB * 300, GiB, GiB * 4}) {
      json one{{"volume_mib", mebibytes(size)}, {"ours_ms", ours(size)}};
      std::printf("  %-9s", readable(size).c_str());
      for (const auto& [name, pieces] : {std::pair("rt_swap", uniform_pieces(size, chunk)),
                                         {"min", uniform_pieces(size, MiB * 2)},
                                         {"mo_vmm", pieces_of_objects(size)}}) {
        const auto times = measure(pieces, HostSide::reserved);
        if (times) one[std::string(name) + "_ms"] = times->out + times->in;
        else one[std::string(name) + "_error"] = times.error().what;
        if (times) std::printf(" %9.2f", times->out + times->in);
        else std::printf(" %9s", "failed");
      }
      if (ours(size) > 0 && one.contains("rt_swap_ms"))
        std::printf(" %9.2f %9.2f\n", ours(size), one["rt_swap_ms"].get<double>() / ours(size));
      else std::printf(" %9s %9s\n", "-", "-");
      result_["exchange"].push_back(one);
    }
  }

  const Context& context_;
  std::unique_ptr<hal::CudaDevice> device_;
  std::vector<Bytes> objects_;
  json result_ = json::object();
};

} // namespace rtexec::bench
