#include "config/files.hpp"
#include "config/names.hpp"
#include "config/text.hpp"
#include "policies/arithmetic.hpp"
#include "rtexec/command/chart.hpp"
#include "rtexec/command/command.hpp"
#include "rtexec/command/progress.hpp"
#include "rtexec/command/text.hpp"
#include "rtexec/command/validators.hpp"
#include "rtexec/study/outcome_file.hpp"
#include "rtexec/study/presets.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <thread>

namespace rtexec::command {

namespace {

using policies::Distribution;
using study::Axis;
using study::Column;
using study::Row;
using study::Study;

constexpr std::size_t most_rows = 1000;
constexpr std::size_t most_items = 100'000'000;

/// Empty: as the preset or the default has it.
struct Options {
  std::string preset;
  std::string tasks, utilisation, reduced, high;
  std::string period, periods, footprint;
  std::optional<double> swappable, constants;
  std::string capacity, chunk, in_per_chunk, out_per_chunk, drop_per_chunk, in_fixed, out_fixed;
  std::string order = "edf";
  std::vector<std::string> tests;
  std::size_t sets = 200;
  std::uint64_t seed = 1;
  unsigned jobs = std::max(1U, std::thread::hardware_concurrency());
  std::string folder;
  std::string json;
};

// ---- texts ----

/// "A" or "A..B"
std::pair<std::string, std::string> ends_of(const std::string& text) {
  const std::size_t dots = text.find("..");
  return dots == text.npos ? std::pair(text, text) : std::pair(text.substr(0, dots), text.substr(dots + 2));
}

std::optional<double> number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

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
    values.push_back(*number(study::text_of(*least + static_cast<double>(i) * *step)));
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

// ---- the study ----

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

Result<> check_complete(const Options& options) {
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

Result<> take_source(const Options& options, policies::TaskSource& source) {
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

Result<> take_device(const Options& options, policies::StudyDevice& device) {
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

Result<> take_values(const Options& options, Study& study) {
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
          return fail(Errc::bad_input, std::string(each.option) + " " + each.given + ": " + study::text_of(value) +
                                           " is not " + (each.whole ? "a whole number " : "") + "from " +
                                           study::text_of(each.least) + " to " + study::text_of(each.most));
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
  return fail(Errc::bad_input, "--high " + study::text_of(high.values.back()) + ": there are only " +
                                   study::text_of(tasks.values.front()) + " tasks");
}

Result<> take_tests(const Options& options, Study& study) {
  const auto all = study::columns(study.order);
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

Result<Study> study_of(const Options& options) {
  if (const auto complete = check_complete(options); !complete) return Unexpected(complete.error());
  Study study;
  study.source_name = "own";
  study.source.periods = Distribution::log_uniform;
  study.source.constants = 0.5;
  const auto preset = std::ranges::find(study::presets(), options.preset, &study::Preset::name);
  if (preset != study::presets().end()) {
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

// ---- what comes of it ----

std::string title_of(const Options& options) {
  const auto preset = std::ranges::find(study::presets(), options.preset, &study::Preset::name);
  return preset == study::presets().end() ? "Random tasks" : std::string(preset->title);
}

const char* label_of(Axis axis) {
  switch (axis) {
  case Axis::tasks: return "tasks (n)";
  case Axis::utilisation: return "utilisation of the device by executions";
  case Axis::reduced: return "capacity, percent less";
  case Axis::high: break;
  }
  return "tasks at high resolution";
}

std::string percent(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

/// What columns suppose that does not go without saying.
void print_notes(std::ostream& out, const Study& study) {
  const auto shown = [&](std::string_view name) {
    return std::ranges::find(study.tests, name, &Column::name) != study.tests.end();
  };
  const std::string constants = study.source.networks.empty()
                                    ? study::text_of(100 * study.source.constants) + " % of swappable memory"
                                    : "what is left of a network's swappable memory at zero pixels (0.1 to 0.3 GB)";
  if (shown("theorem1")) out << "theorem1: RT-Swap's Theorem 1, a baseline that is not sound\n";
  if (shown("pipelined-h1")) out << "pipelined-h1: one copy engine; other pipelined tests: two\n";
  if (shown("pipelined-constant"))
    out << "pipelined-constant: as if all swappable memory were weights, which are not copied out\n";
  if (shown("classes"))
    out << "classes: weights, assumed to be " << constants
        << ", are swapped and not copied out; scratch, the rest of it, is shared; all else stays\n";
  if (shown("one-process"))
    out << "one-process: as classes, and what cannot be swapped (context, libraries) is there once, not for each "
           "task\n";
}

void print(std::ostream& out, const Options& options, const Study& study, std::span<const Row> rows) {
  out << title_of(options) << "\nSets proved, percent of " << study.sets << " in each row; order " << options.order
      << ", seed " << study.seed << "\n";
  std::vector<std::string> header{std::string(name_of(study.axis))};
  for (const Column& test : study.tests) header.emplace_back(test.name);
  Table table(header);
  for (const Row& row : rows) {
    std::vector<std::string> cells{study::text_of(row.value)};
    for (const double each : row.percent) cells.push_back(percent(each));
    table.add(std::move(cells));
  }
  table.print(out);
  print_notes(out, study);
}

std::string csv(const Study& study, std::span<const Row> rows) {
  std::string text = std::string(name_of(study.axis)) + ",sets";
  for (const Column& test : study.tests) text += "," + std::string(test.name);
  text += "\n";
  for (const Row& row : rows) {
    text += study::text_of(row.value) + "," + std::to_string(study.sets);
    for (const double each : row.percent) text += "," + study::text_of(each);
    text += "\n";
  }
  return text;
}

Chart chart_of(const Options& options, const Study& study, std::span<const Row> rows) {
  Chart chart{.title = title_of(options),
              .x_label = label_of(study.axis),
              .y_label = "sets proved, percent of " + std::to_string(study.sets),
              .x = study.values,
              .series = {}};
  for (std::size_t i = 0; i < study.tests.size(); ++i) {
    chart.series.push_back({.name = std::string(study.tests[i].name), .percent = {}});
    for (const Row& row : rows) chart.series.back().percent.push_back(row.percent[i]);
  }
  return chart;
}

nlohmann::json to_json(const Options& options, const Study& study, std::span<const Row> results) {
  const std::string varied(name_of(study.axis));
  nlohmann::json rows = nlohmann::json::array(), tests = nlohmann::json::array();
  for (const Column& test : study.tests) tests.push_back(test.name);
  for (const Row& result : results) {
    nlohmann::json row{{"sets", study.sets}};
    if (study.axis == Axis::tasks || study.axis == Axis::high) row[varied] = static_cast<std::uint64_t>(result.value);
    else row[varied] = result.value;
    for (std::size_t i = 0; i < study.tests.size(); ++i) row[std::string(study.tests[i].name)] = result.percent[i];
    rows.push_back(std::move(row));
  }
  return {{"preset", options.preset.empty() ? nlohmann::json(nullptr) : nlohmann::json(options.preset)},
          {"order", options.order},
          {"seed", study.seed},
          {"sets", study.sets},
          {"varied", varied},
          {"tests", std::move(tests)},
          {"rows", std::move(rows)}};
}

/// Until all is known, or an error.
Result<> work_out(const Options& options, const Study& study, study::Outcomes& outcomes,
                  std::optional<study::OutcomeFile>& file, std::ostream& out) {
  stop_on_signals();
  Progress progress(out);
  std::size_t done = outcomes.count_known();
  if (done > 0) out << options.folder << " has " << done << " of " << outcomes.size() << " sets already\n";
  Result<> written;
  bool wanted = true;
  study::work_out(study, outcomes, options.jobs, [&](std::span<const std::size_t> items) {
    if (file && written) written = file->add(study, outcomes, items);
    done += items.size();
    wanted = progress("proving", done, outcomes.size(), "sets");
    return wanted && written.has_value();
  });
  if (!written || done == outcomes.size()) return written;
  const std::string kept =
      options.folder.empty() ? "with -o FOLDER what is done would be kept" : "the same command goes on from there";
  return fail(Errc::cancelled, "the sweep was cancelled after " + std::to_string(done) + " of " +
                                   std::to_string(outcomes.size()) + " sets; " + kept);
}

Result<> save(const Options& options, const Study& study, std::span<const Row> rows, std::ostream& out) {
  if (options.folder.empty()) return {};
  const std::filesystem::path folder = options.folder;
  if (const auto written = config::replace_file(folder / "results.csv", csv(study, rows)); !written) return written;
  if (const auto written = config::replace_file(folder / "results.svg", svg(chart_of(options, study, rows))); !written)
    return written;
  out << "wrote results.csv, results.svg and outcomes.csv (each set) to " << options.folder << '\n';
  return {};
}

int sweep(const Options& options) {
  const auto study = study_of(options);
  if (!study) return report(study.error());
  std::ostream& out = text_output(options.json);
  study::Outcomes outcomes(study->values.size(), study->sets);
  std::optional<study::OutcomeFile> file;
  if (!options.folder.empty()) {
    auto opened = study::OutcomeFile::open(options.folder, *study, outcomes);
    if (!opened) return report(opened.error());
    file = std::move(*opened);
  }
  if (const auto writable = check_json(options.json); !writable) return report(writable.error());
  if (const auto done = work_out(options, *study, outcomes, file, out); !done) return report(done.error());
  const std::vector<Row> rows = study::rows_of(*study, outcomes);
  print(out, options, *study, rows);
  if (const auto saved = save(options, *study, rows, out); !saved) return report(saved.error());
  if (const auto written = write_json(options.json, to_json(options, *study, rows)); !written)
    return report(written.error());
  return 0;
}

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const study::Preset& preset : study::presets()) names.emplace_back(preset.name);
  return names;
}

std::string preset_help() {
  std::string help = "A study of the literature; other options change it. ";
  for (const study::Preset& preset : study::presets())
    help += std::string(preset.name) + ": " + std::string(preset.title) + ". ";
  help.pop_back();
  return help;
}

void add_tasks(CLI::App& command, Options& options) {
  command
      .add_option("--n", options.tasks,
                  "Tasks in a set: N, FROM..TO or FROM..TO:STEP. One of --n, --utilisation, --reduced and --high may "
                  "be a range: a row for each value")
      ->type_name("RANGE");
  command
      .add_option("--utilisation", options.utilisation,
                  "Of the device, by the executions of a set (UUniFast shares it out); not with presets")
      ->type_name("RANGE");
  command.add_option("--reduced", options.reduced, "Percent that the capacity is less")->type_name("RANGE");
  command
      .add_option(
          "--high", options.high,
          "So many tasks are at their network's highest resolution, all others at its lowest; only with presets")
      ->type_name("RANGE");
  command.add_option("--period", options.period, "FROM..TO: periods, and deadlines")->type_name("DURATIONS");
  command.add_option("--periods", options.periods, "How they are distributed (default: log-uniform)")
      ->check(CLI::IsMember({"uniform", "log-uniform"}))
      ->type_name("HOW");
  command.add_option("--footprint", options.footprint, "FROM..TO: device memory of a task, uniform; not with presets")
      ->type_name("BYTES");
  command
      .add_option("--swappable", options.swappable,
                  "Share of the footprint that may be swapped (default: 1); not with presets")
      ->check(number_within(0.0, 1.0))
      ->type_name("SHARE");
  command
      .add_option("--constants", options.constants,
                  "For tests classes and one-process: share of that which is weights, the rest is scratch (default: "
                  "0.5); not with presets")
      ->check(number_within(0.0, 1.0))
      ->type_name("SHARE");
}

void add_device(CLI::App& command, Options& options) {
  command.add_option("--capacity", options.capacity, "Device memory")->type_name("BYTES");
  command.add_option("--chunk", options.chunk, "What is swapped at once")->type_name("BYTES");
  command.add_option("--in-per-chunk", options.in_per_chunk, "What swapping costs: each chunk in")
      ->type_name("DURATION");
  command.add_option("--out-per-chunk", options.out_per_chunk, "Each chunk copied out")->type_name("DURATION");
  command.add_option("--drop-per-chunk", options.drop_per_chunk, "Each chunk of weights that leaves (default: 0s)")
      ->type_name("DURATION");
  command.add_option("--in-fixed", options.in_fixed, "Each load (default: 0s)")->type_name("DURATION");
  command.add_option("--out-fixed", options.out_fixed, "Each victim of a load (default: 0s)")->type_name("DURATION");
}

} // namespace

void add_sweep(CLI::App& program, int& exit_code) {
  auto* command = program.add_subcommand(
      "sweep", "Say how many of many random task sets each device test proves, as tables, curves and raw outcomes");
  const auto options = std::make_shared<Options>();
  command->add_option("--preset", options->preset, preset_help())
      ->check(CLI::IsMember(preset_names()))
      ->type_name("NAME");
  add_tasks(*command, *options);
  add_device(*command, *options);
  command->add_option("--order", options->order, "edf, or static-priority: rate monotonic")
      ->capture_default_str()
      ->check(CLI::IsMember({"edf", "static-priority"}))
      ->type_name("ORDER");
  command
      ->add_option("--tests", options->tests,
                   "Of: theorem1, baker, demand (one copy engine, EDF), rta (likewise, static priority), pipelined-h1 "
                   "(one copy engine), pipelined, pipelined-constant, "
                   "classes, one-process (two; default: all for the order)")
      ->delimiter(',')
      ->type_name("LIST");
  command->add_option("--sets", options->sets, "Task sets for each row")
      ->capture_default_str()
      ->check(CLI::Range(std::size_t{1}, std::size_t{1'000'000}))
      ->type_name("N");
  command->add_option("--seed", options->seed, "The same seed gives the same sets")
      ->capture_default_str()
      ->type_name("N");
  command->add_option("--jobs", options->jobs, "Threads (default: one for each core)")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  command
      ->add_option("-o,--output", options->folder,
                   "Write results.csv and results.svg there, and outcomes.csv, each set as it is done: a sweep that "
                   "was stopped goes on from it, and may get more sets or rows")
      ->type_name("FOLDER");
  add_json_option(*command, options->json);
  command->callback([options, &exit_code] { exit_code = sweep(*options); });
}

} // namespace rtexec::command
