#include "rtexec/study/sweep_options.hpp"

#include "config/text.hpp"
#include "policies/arithmetic.hpp"
#include "rtexec/study/presets.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace rtexec::study {

namespace {

using policies::Distribution;

constexpr std::size_t most_rows = 1000;
constexpr std::size_t most_items = 100'000'000;

/// "A" or "A..B"
std::pair<std::string, std::string> ends_of(const std::string& text) {
  const std::size_t dots = text.find("..");
  return dots == text.npos ? std::pair(text, text) : std::pair(text.substr(0, dots), text.substr(dots + 2));
}

std::optional<double> number(std::string_view text) { return config::number<double>(text); }

/// "7", "7..13", "0..70:10"
Result<std::vector<double>> values_of(const std::string& option, const std::string& text) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  const auto [from, to] = ends_of(text.substr(0, colon));
  const auto least = number(from), most = number(to),
             step = colon == text.size() ? std::optional(1.0) : number(text.substr(colon + 1));
  if (!least || !most || !step || !(*step > 0) || !(*least <= *most))
    return fail(Errc::bad_input, option + " " + text + ": use a number, FROM..TO or FROM..TO:STEP, ascending");
  if ((*most - *least) / *step >= most_rows)
    return fail(Errc::bad_input, option + " " + text + ": more than " + std::to_string(most_rows) + " rows");
  std::vector<double> values;
  // As their texts have them, so that they do not depend on where the range began.
  for (std::size_t i = 0; *least + static_cast<double>(i) * *step <= *most + *step * 1e-9; ++i)
    values.push_back(*number(text_of(*least + static_cast<double>(i) * *step)));
  return values;
}

template <class T> using Parser = Result<T> (*)(std::string_view);

/// Leaves `value` as it is where nothing is given.
template <class T> Result<> take(const char* option, const std::string& text, Parser<T> parse, T& value) {
  if (text.empty()) return {};
  const auto parsed = parse(text);
  if (!parsed) return fail(parsed.error().code, std::string(option) + " " + text + ": " + parsed.error().what);
  value = *parsed;
  return {};
}

template <class T>
Result<> take(const char* option, const std::string& text, Parser<T> parse, policies::Range<T>& range) {
  const auto [from, to] = ends_of(text);
  if (const auto taken = take(option, from, parse, range.least); !taken) return taken;
  if (const auto taken = take(option, to, parse, range.most); !taken) return taken;
  return range.least <= range.most ? Result<>()
                                   : fail(Errc::bad_input, std::string(option) + " " + text + ": descends");
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

Result<> check_complete(const SweepOptions& options) {
  if (!options.preset.empty()) {
    const std::string swappable = options.swappable ? "given" : "", constants = options.constants ? "given" : "";
    const Given own[] = {{"--utilisation", options.utilisation},
                         {"--footprint", options.footprint},
                         {"--swappable", swappable},
                         {"--constants", constants}};
    const std::string names = listed(own, true);
    return names.empty() ? Result<>()
                         : fail(Errc::bad_input, names + ": for tasks of one's own; those of preset " + options.preset +
                                                     " are networks");
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
  if (!missing.empty()) return fail(Errc::bad_input, "a study without --preset also needs " + missing);
  return options.high.empty() ? Result<>()
                              : fail(Errc::bad_input, "--high: only networks have resolutions; use a preset");
}

Result<> take_source(const SweepOptions& options, policies::TaskSource& source) {
  if (const auto taken = take<Duration>("--period", options.period, parse_duration, source.period); !taken)
    return taken;
  if (source.period.least <= Duration(0) || source.period.most.count() > policies::longest_time)
    return fail(Errc::bad_input, "--period " + options.period + ": must be above 0 and at most " +
                                     readable(Duration(policies::longest_time)));
  if (!options.periods.empty())
    source.periods = options.periods == "uniform" ? Distribution::uniform : Distribution::log_uniform;
  if (const auto taken = take<Bytes>("--footprint", options.footprint, parse_bytes, source.footprint); !taken)
    return taken;
  source.swappable = options.swappable.value_or(source.swappable);
  source.constants = options.constants.value_or(source.constants);
  return {};
}

Result<> take_device(const SweepOptions& options, policies::StudyDevice& device) {
  if (!options.chunk.empty() && (options.in_per_chunk.empty() || options.out_per_chunk.empty()))
    return fail(Errc::bad_input, "--chunk " + options.chunk +
                                     ": give --in-per-chunk and --out-per-chunk as well, those of preset " +
                                     options.preset + " are for chunks of " + readable(device.chunk));
  if (const auto taken = take<Bytes>("--capacity", options.capacity, parse_bytes, device.capacity); !taken)
    return taken;
  if (const auto taken = take<Bytes>("--chunk", options.chunk, parse_bytes, device.chunk); !taken) return taken;
  if (device.chunk == Bytes{0}) return fail(Errc::bad_input, "--chunk " + options.chunk + ": a chunk has a size");
  struct Cost {
    const char* option;
    const std::string& text;
    Duration& value;
  };
  const Cost costs[] = {{"--in-per-chunk", options.in_per_chunk, device.cost.in_per_chunk},
                        {"--out-per-chunk", options.out_per_chunk, device.cost.out_per_chunk},
                        {"--drop-per-chunk", options.drop_per_chunk, device.cost.drop_per_chunk},
                        {"--in-fixed", options.in_fixed, device.cost.in_fixed},
                        {"--out-fixed", options.out_fixed, device.cost.out_fixed}};
  for (const auto& [option, text, value] : costs) {
    if (const auto taken = take<Duration>(option, text, parse_duration, value); !taken) return taken;
    if (value.count() > policies::longest_time)
      return fail(Errc::bad_input,
                  std::string(option) + " " + text + ": at most " + readable(Duration(policies::longest_time)));
  }
  return {};
}

/// One of --n, --utilisation, --reduced and --high.
struct Variable {
  const char* option;
  const std::string& given;
  Axis axis;
  double least, most; // that make sense
  bool whole;
  std::vector<double> values;
};

Result<> take_values(const SweepOptions& options, Study& study) {
  const double highest = static_cast<double>(policies::most_tasks),
               start = static_cast<double>(std::max<std::size_t>(study.source.start, 1));
  std::array<Variable, 4> variables{
      {{"--n", options.tasks, Axis::tasks, start, highest, true, {static_cast<double>(study.point.tasks)}},
       {"--utilisation", options.utilisation, Axis::utilisation, 0.000001, 1, false, {study.point.utilisation}},
       {"--reduced", options.reduced, Axis::reduced, 0, 99.9, false, {study.reduced}},
       {"--high", options.high, Axis::high, 0, highest, true, {}}}};
  const Variable* varied = nullptr;
  for (Variable& each : variables) {
    if (each.axis == study.axis && !study.values.empty()) each.values = study.values; // the preset's
    if (!each.given.empty()) {
      const auto values = values_of(each.option, each.given);
      if (!values) return Unexpected(values.error());
      each.values = *values;
      for (const double value : each.values)
        if (value < each.least || value > each.most || (each.whole && value != std::floor(value)))
          return fail(Errc::bad_input, std::string(each.option) + " " + each.given + ": " + text_of(value) +
                                           " is not " + (each.whole ? "a whole number " : "") + "from " +
                                           text_of(each.least) + " to " + text_of(each.most));
    }
    if (each.values.size() < 2) continue;
    if (varied != nullptr)
      return fail(Errc::bad_input,
                  std::string(varied->option) + " and " + each.option + " both vary; give one of them a single value");
    varied = &each;
  }
  if (varied == nullptr) varied = &*std::ranges::find(variables, study.axis, &Variable::axis);
  study.axis = varied->axis;
  study.values = varied->values;
  const auto& [tasks, utilisation, reduced, high] = variables;
  study.point.tasks = static_cast<std::size_t>(tasks.values.back());
  study.point.utilisation = utilisation.values.front();
  study.reduced = reduced.values.front();
  if (high.values.empty()) return {};
  study.point.high = static_cast<std::size_t>(high.values.front());
  if (high.values.back() <= tasks.values.front()) return {};
  return fail(Errc::bad_input,
              "--high " + text_of(high.values.back()) + ": there are only " + text_of(tasks.values.front()) + " tasks");
}

Result<> take_tests(const SweepOptions& options, Study& study) {
  const auto all = columns(study.order);
  std::vector<std::string_view> names;
  for (const Column& each : all) names.push_back(each.name);
  for (const std::string& name : options.tests) {
    if (std::ranges::find(names, name) != names.end()) continue;
    const auto near = config::nearest(name, names);
    return fail(Errc::bad_input,
                "--tests " + config::shortened(name) + ": no test for order " + options.order + "; " +
                    (near ? "did you mean '" + std::string(*near) + "'?" : "use " + config::alternatives(names)));
  }
  for (const Column& each : all)
    if (options.tests.empty() || std::ranges::find(options.tests, each.name) != options.tests.end())
      study.tests.push_back(each);
  return {};
}

Result<> check_size(const Study& study) {
  if (study.values.size() * study.sets > most_items)
    return fail(Errc::bad_input, "more than " + std::to_string(most_items) + " sets in all; lower --sets");
  Bytes largest = study.source.footprint.most;
  for (const policies::NetworkSizes& sizes : study.source.networks)
    for (const policies::DeviceNeed& need : sizes) largest = std::max(largest, need.footprint);
  const auto chunks = static_cast<double>(largest.count) / static_cast<double>(study.device.chunk.count) + 3;
  const auto capacity =
      static_cast<double>(study.device.capacity.count) / static_cast<double>(study.device.chunk.count);
  if (chunks * static_cast<double>(study.point.tasks) < 0x1p31 && capacity < 0x1p31) return {};
  return fail(Errc::bad_input,
              "more memory than 2^31 chunks of " + readable(study.device.chunk) + "; set a larger --chunk");
}

} // namespace

Result<Study> study_of(const SweepOptions& options) {
  if (const auto complete = check_complete(options); !complete) return Unexpected(complete.error());
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
  if (const auto taken = take_source(options, study.source); !taken) return Unexpected(taken.error());
  if (const auto taken = take_device(options, study.device); !taken) return Unexpected(taken.error());
  if (const auto taken = take_values(options, study); !taken) return Unexpected(taken.error());
  if (const auto taken = take_tests(options, study); !taken) return Unexpected(taken.error());
  if (const auto checked = check_size(study); !checked) return Unexpected(checked.error());
  return study;
}

} // namespace rtexec::study
