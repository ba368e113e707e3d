// Tests that the documented keys are exactly the accepted ones. Each accepts a valid value and refuses one of a wrong
// type.
#include "config/daemon_settings.hpp"
#include "config/profile_file.hpp"
#include "config/keys.hpp"
#include <rtexec/board.hpp>
#include <rtexec/task_set.hpp>
#include "test/config/config_files.hpp"
#include "test/support/expected_result.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace rtexec {
namespace {

using testing::HasSubstr;

using Keys = std::map<std::string, std::string>; // maps a key to a TOML literal
using Document = std::map<std::string, Keys>;    // maps a table header to its keys

std::string text_of(const Document& document) {
  std::string text, inner;                      // lists within the elements of others follow them
  for (const auto& [header, keys] : document) { // "" sorts first
    std::string& place = header.starts_with("[[task.") ? inner : text;
    place += header + "\n";
    for (const auto& [key, value] : keys) place += key + " = " + value + "\n";
  }
  return text + inner;
}

const Keys synthetic = {
    {"name", "'a'"}, {"workload", "'synthetic'"}, {"period", "'100ms'"}, {"wcet", "'1ms'"}, {"footprint", "'1MiB'"}};
const Keys dnn = {{"name", "'a'"}, {"model", "'good/model.onnx'"}, {"period", "'100ms'"}};
const Keys swap_cost = {{"in_per_chunk", "'1ms'"},
                        {"out_per_chunk", "'1ms'"},
                        {"drop_per_chunk", "'1ms'"},
                        {"in_fixed", "'1ms'"},
                        {"out_fixed", "'1ms'"}};

/// Returns valid documents of `kind` that together contain every key.
std::vector<Document> variants(FileKind kind) {
  switch (kind) {
  case FileKind::task_set: {
    Keys with_input = dnn;
    with_input.insert({{"input", "'good/pictures'"},
                       {"priority", "7"},
                       {"memory", "'stream'"},
                       {"stream_chunks", "8"},
                       {"shape", "{ x = [1, 3] }"},
                       {"constant", "{ rate = [16000] }"},
                       {"state", "{ h = 'hn' }"}});
    Keys listed = synthetic;
    listed.insert({{"releases", "['0ms', '140ms']"},
                   {"resident", "'512KiB'"},
                   {"segments", "3"},
                   {"level", "2"},
                   {"layers", "4"},
                   {"live", "'64KiB'"}});
    Keys full = synthetic;
    full.insert({{"deadline", "'90ms'"},
                 {"offset", "'1ms'"},
                 {"core", "2"},
                 {"criticality", "'best-effort'"},
                 {"on_overrun", "'stop'"},
                 {"on_wcet_exceeded", "'skip-next'"},
                 {"trigger", "'timer'"},
                 {"input_delay", "'8ms'"},
                 {"memory_policy", "'D'"},
                 {"precision", "'fp32'"},
                 {"wcet_before", "'1ms'"},
                 {"wcet_after", "'1ms'"},
                 {"swappable", "'512KiB'"},
                 {"class", "'constant'"},
                 {"swap_volume", "'512KiB'"}});
    const Keys traffic = {{"name", "'a'"},
                          {"workload", "'traffic'"},
                          {"period", "'100ms'"},
                          {"traffic_before", "'4MB'"},
                          {"traffic_after", "'1MB'"},
                          {"pattern", "'copy'"},
                          {"buffer", "'16MiB'"}};
    const Keys winograd = {{"name", "'a'"}, {"workload", "'winograd'"}, {"period", "'100ms'"}, {"resolution", "256"}};
    const Keys benchmark = {{"name", "'a'"},          {"workload", "'bfs'"},    {"period", "'100ms'"},
                            {"size", "1000"},         {"memory_policy", "'M'"}, {"co_run_wcet", "'2ms'"},
                            {"mapping_idle", "'1ms'"}};
    const Keys custom = {
        {"name", "'a'"}, {"workload", "'lib:good/model.onnx'"}, {"period", "'100ms'"}, {"arguments", "'gain=0.5'"}};
    Keys foreign = dnn;
    foreign.insert({{"backend", "'other'"}, {"arguments", "'threads=1'"}});
    return {{{"[[task]]", foreign}},
            {{"[bandwidth]", {{"best_effort", "'100MB/s'"}, {"slowdown", "1.1"}}}, {"[[task]]", traffic}},
            {{"[[task]]", winograd}},
            {{"[[task]]", benchmark}},
            {{"[[task]]", custom}},
            {{"[[task]]", dnn},
             {"[[task.inputs]]",
              {{"tensor", "'image'"},
               {"from", "'v4l2:/dev/video0'"},
               {"on_stale", "'skip'"},
               {"size", "'640x480'"},
               {"format", "'NV12'"},
               {"interval", "'30Hz'"},
               {"channels", "'BGR'"},
               {"layout", "'NHWC'"},
               {"fit", "'stretch'"},
               {"mean", "[0.485, 0.456, 0.406]"},
               {"std", "0.225"},
               {"scale", "1"}}},
             {"[[task.outputs]]", {{"tensor", "'boxes'"}, {"to", "'iceoryx:Front/Camera/Boxes'"}}}},
            {{"[executive]", {{"priorities", "'explicit'"}}}, {"[[task]]", with_input}},
            {{"[[task]]", listed}},
            {{"", {{"board", "'host'"}}},
             {"[executive]",
              {{"order", "'edf'"},
               {"duration", "'1s'"},
               {"allow_degraded", "true"},
               {"keep_awake", "true"},
               {"lock_clocks", "true"},
               {"threads", "'fifo'"},
               {"profile", "'p.toml'"},
               {"wcet_exceedance", "0.001"}}},
             {"[device]",
              {{"capacity", "'64MiB'"},
               {"chunk", "'2MiB'"},
               {"completion", "'spin'"},
               {"co_run", "true"},
               {"launch_ahead", "2"},
               {"memory_objective", "'least-memory'"}}},
             {"[device.swap_cost]", swap_cost},
             {"[swap]",
              {{"policy", "'lru'"},
               {"store", "'pinned'"},
               {"candidates", "'largest-first'"},
               {"skip_unchanged", "true"},
               {"verify", "true"}}},
             {"[output]", {{"trace", "'t'"}, {"jobs", "'j.csv'"}, {"json", "'r.json'"}}},
             {"[bandwidth]",
              {{"period", "'1ms'"},
               {"best_effort", "'100MB/s'"},
               {"while", "'device-busy'"},
               {"reclaim", "true"},
               {"sharing", "'spare'"},
               {"overshoot", "'forgive'"},
               {"floor", "'10MB/s'"},
               {"counter", "'core'"},
               {"event", "'page-faults'"}}},
             {"[[bandwidth.core]]", {{"core", "3"}, {"budget", "'1GB/s'"}}},
             {"[[task]]", full},
             {"[[chain]]",
              {{"name", "'c'"},
               {"tasks", "['a']"},
               {"communicate", "'let'"},
               {"max_reaction", "'1s'"},
               {"max_age", "'2s'"}}}}};
  }
  case FileKind::board: {
    Keys measured = swap_cost;
    measured.insert({{"store", "'file'"}, {"chunk", "'2MiB'"}, {"residual", "'1us'"}});
    return {
        {{"",
          {{"name", "'b'"},
           {"device", "'cuda'"},
           {"chunk", "'2MiB'"},
           {"memory_policies", "['D']"},
           {"context_switch", "'1us'"},
           {"dispatch", "'1us'"},
           {"release_latency", "'1us'"}}},
         {"[[clock]]",
          {{"name", "'emc'"},
           {"kind", "'memory'"},
           {"rate", "['/sys/emc/rate']"},
           {"set", "['/sys/emc/rate']"},
           {"lock", "['/sys/emc/mrq_rate_locked']"},
           {"possible", "['/sys/emc/max_rate']"},
           {"cap", "['/sys/cap']"}}}},
        {{"",
          {{"name", "'b'"},
           {"description", "'d'"},
           {"device", "'cuda'"},
           {"ordinal", "0"},
           {"capacity", "'64MiB'"},
           {"chunk", "'2MiB'"},
           {"copy_engines", "2"},
           {"unified_memory", "true"},
           {"memory_policies", "['D', 'H']"},
           {"compute_core", "1"},
           {"service_core", "0"},
           {"context_switch", "'1us'"},
           {"dispatch", "'1us'"},
           {"cut", "'1us'"},
           {"release_latency", "'1us'"},
           {"platform_stall", "'1us'"}}},
         {"[identity]", {{"compatible", "['nvidia,a', 'nvidia,b']"}}},
         {"[build]", {{"machine", "'aarch64'"}, {"cpu", "'cortex-a57'"}, {"gpu_architecture", "'62'"}}},
         {"[boot]", {{"isolated_cores", "[2]"}, {"command_line", "'quiet'"}}},
         {"[[core_kind]]",
          {{"name", "'Denver 2'"}, {"implementer", "0x4e"}, {"part", "0x003"}, {"cores", "[1, 2]"}, {"cluster", "0"}}},
         {"[[clock]]",
          {{"name", "'core #'"},
           {"kind", "'cpu'"},
           {"rate", "['/sys/cpu#/rate in kHz']"},
           {"lowest", "['/sys/cpu#/min in kHz']"},
           {"highest", "['/sys/cpu#/max in kHz']"}}},
         {"[[sensor]]",
          {{"name", "'GPU'"},
           {"kind", "'power'"},
           {"value", "['/sys/hwmon*/in#_input times curr#_input where in#_label = GPU']"},
           {"limit", "['/sys/limit in mW']"}}},
         {"[memory]", {{"core_bandwidth", "'11.3GB/s'"}, {"saturation", "'14.4GB/s'"}}},
         {"[memory_costs]",
          {{"copy_start", "'1us'"},
           {"copied_in", "0.25"},
           {"copied_out", "0.25"},
           {"host_touched", "0.5"},
           {"mapped", "0.04"},
           {"host_flush", "'50us'"},
           {"device_flush", "'10us'"},
           {"written_back", "0.1"},
           {"memory_access", "12.5"},
           {"cache_access", "3"},
           {"faulted", "0.1"},
           {"prefetch_start", "'8us'"},
           {"prefetched", "0.02"},
           {"returned", "0.06"},
           {"linked_start", "'2us'"},
           {"linked", "0.02"},
           {"linked_access", "1.5"},
           {"mean_error", "4.5"},
           {"worst_error", "19"}}},
         {"[[counter]]",
          {{"event", "'r17'"},
           {"write_event", "'r18'"},
           {"line", "'64B'"},
           {"cores", "[0, 1]"},
           {"cluster", "true"},
           {"opened_on", "0"}}},
         {"[[swap_cost]]", measured}}};
  }
  case FileKind::daemon:
    return {{{"[daemon]", {{"order", "'static-priority'"}, {"priorities", "'explicit'"}}},
             {"[[client]]", {{"period", "'10ms'"}, {"wcet", "'1ms'"}, {"priority", "3"}}}},
            {{"", {{"board", "'h200'"}}},
             {"[daemon]",
              {{"directory", "'/run/d'"},
               {"group", "'video'"},
               {"metrics", "'127.0.0.1:9464'"},
               {"places", "4"},
               {"order", "'edf'"},
               {"priorities", "'rate-monotonic'"},
               {"chunks", "'shared'"},
               {"best_effort_wcet", "'5ms'"},
               {"command_timeout", "'100ms'"},
               {"stuck_after", "'200ms'"},
               {"keep_awake", "true"}}},
             {"[device]", {{"capacity", "'64MiB'"}, {"chunk", "'2MiB'"}}},
             {"[device.swap_cost]", swap_cost},
             {"[swap]", {{"policy", "'serial'"}}},
             {"[[client]]",
              {{"name", "'a'"},
               {"executable", "'/bin/a'"},
               {"memory", "'32MiB'"},
               {"period", "'10ms'"},
               {"deadline", "'9ms'"},
               {"wcet", "'1ms'"},
               {"gap", "'1ms'"},
               {"on_overrun", "'skip-next'"}}}}};
  case FileKind::profile:
    return {{{"", {{"machine", "'m'"}, {"device", "'host'"}}},
             {"[[task]]",
              {{"name", "'a'"},
               {"workload", "'w'"},
               {"wcet", "'1ms'"},
               {"wcet_before", "'1ms'"},
               {"wcet_after", "'1ms'"},
               {"observed", "'1ms'"},
               {"observed_before", "'1ms'"},
               {"observed_after", "'1ms'"},
               {"samples", "1"},
               {"margin", "1.5"},
               {"method", "'growth'"},
               {"method_before", "'tail-model'"},
               {"method_after", "'growth'"},
               {"exceedance", "0.001"},
               {"exceedance_before", "0.001"},
               {"exceedance_after", "0.001"},
               {"block", "2"},
               {"block_before", "4"},
               {"block_after", "1"},
               {"memory_policy", "'M'"},
               {"pieces", "61"},
               {"pieces_sum", "'12ms'"},
               {"piece_ends", "[0, 7]"},
               {"piece_longest", "[5, 6]"},
               {"co_run_wcet", "'41ms'"},
               {"mapping_idle", "'17ms'"},
               {"longest", "[1, 2]"},
               {"longest_before", "[3]"},
               {"longest_after", "[4]"},
               {"tuning", "['a 1', 'b 2']"},
               {"degraded", "['SCHED_FIFO: not permitted']"},
               {"bytes_in", "'8MiB'"},
               {"bytes_out", "'4MiB'"},
               {"copies", "3"},
               {"launches", "1"},
               {"dirty_launches", "1"},
               {"mapped", "'12MiB'"},
               {"touched", "'12MiB'"},
               {"written", "'4MiB'"},
               {"cache_accesses", "98304"},
               {"hit_rate", "0.5"},
               {"latency_hidden", "true"},
               {"exchanged", "'12MiB'"},
               {"device_only", "'0B'"},
               {"estimated", "['hit_rate']"}}}}};
  }
  return {};
}

/// Returns the last variant that has this table, or the last variant.
Document variant_with(FileKind kind, const std::string& table) {
  const auto all = variants(kind);
  const auto found = std::find_if(all.rbegin(), all.rend(), [&](const Document& each) { return each.contains(table); });
  return found == all.rend() ? all.back() : *found;
}

std::string problem(FileKind kind, const Document& document) {
  const auto file = test::folder() / "x.toml";
  switch (kind) {
  case FileKind::task_set: return test::problem(parse_task_set(text_of(document), file));
  case FileKind::board: return test::problem(parse_board(text_of(document), file));
  case FileKind::profile: return test::problem(parse_profile(text_of(document), file));
  case FileKind::daemon: return test::problem(config::parse_daemon_settings(text_of(document), file));
  }
  return "unknown kind";
}

class DocumentedKeys : public testing::TestWithParam<FileKind> {};

TEST_P(DocumentedKeys, AcceptValidValueAndRefuseWrongType) {
  std::set<std::pair<std::string, std::string>> tried;
  for (const Document& document : variants(GetParam())) {
    ASSERT_EQ(problem(GetParam(), document), "none");
    for (const auto& [header, keys] : document) {
      for (const auto& [key, value] : keys) {
        Document wrong = document;
        wrong[header][key] = "{}";
        EXPECT_THAT(problem(GetParam(), wrong), HasSubstr(key + " = a table: ")) << key;
        tried.emplace(header, key);
      }
    }
  }
  std::set<std::pair<std::string, std::string>> documented;
  for (const KeyDoc& doc : documented_keys(GetParam())) documented.emplace(doc.table, doc.key);
  EXPECT_EQ(tried, documented);
}

TEST_P(DocumentedKeys, ReportMissingRequiredKeys) {
  for (const KeyDoc& doc : documented_keys(GetParam())) {
    Document lacking = variant_with(GetParam(), doc.table);
    lacking[doc.table].erase(doc.key);
    const std::string message = problem(GetParam(), lacking);
    if (doc.fallback == "required") EXPECT_THAT(message, HasSubstr("missing key '" + doc.key + "'"));
    else EXPECT_THAT(message, testing::Not(HasSubstr("missing key")));
  }
}

TEST_P(DocumentedKeys, HaveATypeADefaultAndAMeaning) {
  for (const KeyDoc& doc : documented_keys(GetParam())) {
    EXPECT_FALSE(doc.type.empty()) << doc.key;
    EXPECT_FALSE(doc.fallback.empty()) << doc.key;
    EXPECT_FALSE(doc.meaning.empty()) << doc.key;
  }
}

/// A default that is documented as a literal must be accepted in a file.
TEST_P(DocumentedKeys, AcceptTheirDefaults) {
  const auto is_literal = [](const std::string& text) {
    return text.starts_with('"') || text == "true" || text == "false" ||
           text.find_first_not_of("0123456789") == std::string::npos;
  };
  for (const KeyDoc& doc : documented_keys(GetParam())) {
    if (!is_literal(doc.fallback) || doc.fallback == "\"\"" || doc.key == "workload" || doc.key == "wcet") continue;
    Document document = variant_with(GetParam(), doc.table);
    document[doc.table][doc.key] = doc.fallback;
    EXPECT_EQ(problem(GetParam(), document), "none") << doc.key << " = " << doc.fallback;
  }
}

INSTANTIATE_TEST_SUITE_P(Of, DocumentedKeys,
                         testing::Values(FileKind::task_set, FileKind::board, FileKind::profile, FileKind::daemon));

} // namespace
} // namespace rtexec
