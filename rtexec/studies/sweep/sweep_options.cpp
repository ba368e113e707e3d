#include "rtexec/studies/sweep/sweep_options.hpp"

#include "config/base/must.hpp"
#include "config/base/text.hpp"
#include "policies/exact_arithmetic.hpp"
#include "rtexec/studies/sweep/presets.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace rtexec::study {

namespace {

using policies::Distribution;

constexpr std::size_t max_rows = 1000;
constexpr std::size_t max_items = 100'000'000;
constexpr std::size_t max_layers = 1000;

/// Splits a range "A..B" into its ends. For "A" both ends are A.
std::pair<std::string, std::string> ends_of(const std::string& text) {
  const std::size_t dots = text.find("..");
  return dots == text.npos ? std::pair(text, text) : std::pair(text.substr(0, dots), text.substr(dots + 2));
}

std::optional<double> number(std::string_view text) { return config::number<double>(text); }

/// Parses a list of values: "7", "7..13" or "0..70:10" (with step 10).
std::vector<double> values_of(const std::string& option, const std::string& text) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  const auto [from, to] = ends_of(text.substr(0, colon));
  const auto least = number(from), most = number(to),
             step = colon == text.size() ? std::optional(1.0) : number(text.substr(colon + 1));
  if (!least || !most || !step || !(*step > 0) || !(*least <= *most))
    give_up(Errc::bad_input, option + " " + text + ": use a number, FROM..TO or FROM..TO:STEP, ascending");
  if ((*most - *least) / *step >= max_rows)
    give_up(Errc::bad_input, option + " " + text + ": more than " + std::to_string(max_rows) + " rows");
  std::vector<double> values;
  // Each value is rounded to its decimal text, so that it does not depend on the beginning of the range.
  for (std::size_t i = 0; *least + static_cast<double>(i) * *step <= *most + *step * 1e-9; ++i)
    values.push_back(*number(text_of(*least + static_cast<double>(i) * *step)));
  return values;
}

template <class T> using Parser = Result<T> (*)(std::string_view);

/// Parses `text` into `value`. An empty text leaves `value` unchanged.
template <class T> void take(const char* option, const std::string& text, Parser<T> parse, T& value) {
  if (!text.empty()) value = value_of(option, text, parse);
}

template <class T> void take(const char* option, const std::string& text, Parser<T> parse, policies::Range<T>& range) {
  const auto [from, to] = ends_of(text);
  take(option, from, parse, range.least);
  take(option, to, parse, range.most);
  if (range.least > range.most) give_up(Errc::bad_input, std::string(option) + " " + text + ": descends");
}

Result<std::size_t> parse_layers(std::string_view text) {
  const auto count = config::number<std::size_t>(text);
  if (count && *count >= 1 && *count <= max_layers) return *count;
  return fail(Errc::bad_input, "use a whole number from 1 to " + std::to_string(max_layers));
}

struct Given {
  const char* option;
  const std::string& text;
};

std::string listed(std::span<const Given> options, bool given) {
  std::string names;
  for (const Given& each : options)
    if (each.text.empty() != given) names += std::string(names.empty() ? "" : ", ") + each.option;
  return names;
}

void check_complete(const SweepOptions& options) {
  if (!options.preset.empty()) {
    const std::string swappable = options.swappable ? "given" : "", constants = options.constants ? "given" : "";
    const Given own[] = {{"--utilisation", options.utilisation},
                         {"--footprint", options.footprint},
                         {"--swappable", swappable},
                         {"--constants", constants},
                         {"--layers", options.layers}};
    const std::string names = listed(own, true);
    if (names.empty()) return;
    give_up(Errc::bad_input, names + ": only without --preset; preset " + options.preset + " has its own tasks");
  }
  const Given needed[] = {{"--n", options.tasks},
                          {"--utilisation", options.utilisation},
                          {"--period", options.period},
                          {"--footprint", options.footprint},
                          {"--capacity", options.capacity},
                          {"--chunk", options.chunk},
                          {"--in-per-chunk", options.in_per_chunk},
                          {"--out-per-chunk", options.out_per_chunk}};
  const std::string missing = listed(needed, false);
  if (!missing.empty()) give_up(Errc::bad_input, "a study without --preset also needs " + missing);
}

void take_source(const SweepOptions& options, policies::TaskSource& source) {
  take<Duration>("--period", options.period, parse_duration, source.period);
  if (source.period.least <= Duration(0) || source.period.most.count() > policies::longest_time)
    give_up(Errc::bad_input, "--period " + options.period + ": must be above 0 and at most " +
                                 readable(Duration(policies::longest_time)));
  if (!options.periods.empty())
    source.periods = options.periods == "uniform" ? Distribution::uniform : Distribution::log_uniform;
  take<Bytes>("--footprint", options.footprint, parse_bytes, source.footprint);
  source.swappable = options.swappable.value_or(source.swappable);
  source.constants = options.constants.value_or(source.constants);
  take<std::size_t>("--layers", options.layers, parse_layers, source.layers);
  if (!options.high.empty() && source.networks.empty())
    give_up(Errc::bad_input, "--high: needs a preset of RT-Swap, whose networks have resolutions");
}

void take_device(const SweepOptions& options, policies::StudyDevice& device) {
  if (!options.chunk.empty() && (options.in_per_chunk.empty() || options.out_per_chunk.empty()))
    give_up(Errc::bad_input, "--chunk " + options.chunk +
                                 ": give --in-per-chunk and --out-per-chunk as well, those of preset " +
                                 options.preset + " are for chunks of " + readable(device.chunk));
  if (!options.capacity.empty()) device.capacity = value_of("--capacity", options.capacity, parse_bytes);
  take<Bytes>("--chunk", options.chunk, parse_bytes, device.chunk);
  if (device.chunk == Bytes{0}) give_up(Errc::bad_input, "--chunk " + options.chunk + ": must be above 0");
  struct Cost {
    const char* option;
    const std::string& text;
    Duration& value;
  };
  const Cost costs[] = {{"--in-per-chunk", options.in_per_chunk, device.cost.in_per_chunk},
                        {"--out-per-chunk", options.out_per_chunk, device.cost.out_per_chunk},
                        {"--drop-per-chunk", options.drop_per_chunk, device.cost.drop_per_chunk},
                        {"--in-fixed", options.in_fixed, device.cost.in_fixed},
                        {"--out-fixed", options.out_fixed, device.cost.out_fixed},
                        {"--cut-overhead", options.cut_overhead, device.cut_overhead}};
  for (const auto& [option, text, value] : costs) {
    take<Duration>(option, text, parse_duration, value);
    if (value.count() > policies::longest_time)
      give_up(Errc::bad_input,
              std::string(option) + " " + text + ": at most " + readable(Duration(policies::longest_time)));
  }
}

/// One of the options with a quantity that can be varied: --n, --utilisation, --reduced and --high.
struct Variable {
  const char* option;
  const std::string& given;
  Axis axis;
  double least, most; // the limits of the values
  bool whole;
  std::vector<double> values;
};

void take_values(const SweepOptions& options, Study& study) {
  const double highest = static_cast<double>(policies::max_tasks),
               start = static_cast<double>(std::max<std::size_t>(study.source.start, 1));
  std::array<Variable, 4> variables{
      {{"--n", options.tasks, Axis::tasks, start, highest, true, {static_cast<double>(study.point.tasks)}},
       {"--utilisation", options.utilisation, Axis::utilisation, 0.000001, 1, false, {study.point.utilisation}},
       {"--reduced", options.reduced, Axis::reduced, 0, 99.9, false, {study.device.reduced}},
       {"--high", options.high, Axis::high, 0, highest, true, {}}}};
  const Variable* varied = nullptr;
  for (Variable& each : variables) {
    if (each.axis == study.axis && !study.values.empty()) each.values = study.values; // the preset's values
    if (!each.given.empty()) {
      each.values = values_of(each.option, each.given);
      for (const double value : each.values)
        if (value < each.least || value > each.most || (each.whole && value != std::floor(value)))
          give_up(Errc::bad_input, std::string(each.option) + " " + each.given + ": " + text_of(value) + " is not " +
                                       (each.whole ? "a whole number " : "") + "from " + text_of(each.least) + " to " +
                                       text_of(each.most));
    }
    if (each.values.size() < 2) continue;
    if (varied != nullptr)
      give_up(Errc::bad_input,
              std::string(varied->option) + " and " + each.option + " both vary; give one of them a single value");
    varied = &each;
  }
  if (varied == nullptr) varied = &*std::ranges::find(variables, study.axis, &Variable::axis);
  study.axis = varied->axis;
  study.values = varied->values;
  const auto& [tasks, utilisation, reduced, high] = variables;
  study.point.tasks = static_cast<std::size_t>(tasks.values.back());
  study.point.utilisation = utilisation.values.front();
  study.device.reduced = reduced.values.front();
  if (high.values.empty()) return;
  study.point.high = static_cast<std::size_t>(high.values.front());
  if (high.values.back() > tasks.values.front())
    give_up(Errc::bad_input,
            "--high " + text_of(high.values.back()) + ": the maximum is " + text_of(tasks.values.front()) + " tasks");
}

void take_tests(const SweepOptions& options, Study& study) {
  const auto all = columns(study.order, study.source.layers.most > 1);
  std::vector<std::string_view> names;
  for (const Column& each : all) names.push_back(each.name);
  for (const std::string& name : options.tests) {
    if (std::ranges::find(names, name) != names.end()) continue;
    const auto near = config::nearest(name, names);
    give_up(Errc::bad_input,
            "--tests " + config::shortened(name) + ": no test for order " + options.order + "; " +
                (near ? "did you mean '" + std::string(*near) + "'?" : "use " + config::alternatives(names)));
  }
  for (const Column& each : all)
    if (options.tests.empty() || std::ranges::find(options.tests, each.name) != options.tests.end())
      study.tests.push_back(each);
}

void check_size(const Study& study) {
  if (study.values.size() * study.sets > max_items)
    give_up(Errc::bad_input, "more than " + std::to_string(max_items) + " sets in all; lower --sets");
  Bytes largest = study.source.footprint.most;
  for (const policies::NetworkSizes& sizes : study.source.networks)
    for (const policies::DeviceNeed& need : sizes) largest = std::max(largest, need.footprint);
  const auto chunks = static_cast<double>(largest.count) / static_cast<double>(study.device.chunk.count) + 3;
  const auto capacity = static_cast<double>(study.device.capacity.value_or(Bytes{0}).count) /
                        static_cast<double>(study.device.chunk.count);
  if (chunks * static_cast<double>(study.point.tasks) < 0x1p31 && capacity < 0x1p31) return;
  give_up(Errc::bad_input,
          "more memory than 2^31 chunks of " + readable(study.device.chunk) + "; set a larger --chunk");
}

} // namespace

Result<Study> study_of(const SweepOptions& options) {
  return caught([&] {
    check_complete(options);
    Study study;
    study.source_name = "own";
    study.source.periods = Distribution::log_uniform;
    study.source.constants = 0.5;
    const auto preset = std::ranges::find(presets(), options.preset, &Preset::name);
    if (preset != presets().end()) {
      study = preset->study;
      study.source_name = preset->name;
    }
    study.order = options.order == "edf" ? Order::edf : Order::static_priority;
    study.seed = options.seed;
    study.sets = options.sets;
    take_source(options, study.source);
    take_device(options, study.device);
    take_values(options, study);
    take_tests(options, study);
    check_size(study);
    return study;
  });
}

} // namespace rtexec::study
