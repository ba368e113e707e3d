#include "rtexec/studies/bringup/bringup_report.hpp"

#include "config/base/files.hpp"
#include "config/base/must.hpp"
#include "config/base/text.hpp"
#include "hal/thread.hpp"
#include "rtexec/studies/bringup/answers.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>

namespace rtexec::bringup {

using nlohmann::json;

namespace {

constexpr std::size_t max_report_bytes = std::size_t{4} << 20;
constexpr std::array outcomes{Outcome::passed, Outcome::failed, Outcome::skipped};

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", ::gmtime_r(&now, &parts));
  return text.data();
}

Answer failure_of(const Error& error) {
  const auto line = error.what.find('\n');
  return failed("failed to run: " + error.what.substr(0, line),
                line == error.what.npos ? "Correct that, and run the item again." : error.what.substr(line + 1));
}

Answer answer_to(const Item& item, const Subject& subject) {
  if (item.of_device && subject.device_stands_in)
    return skipped("the software device replaces the device of board '" + subject.board.name + "'");
  try {
    return item.ask(subject);
  } catch (const Failed& failure) { return failure_of(failure.error); } catch (const std::exception& error) {
    return failure_of({Errc::refused, error.what()});
  }
}

json json_of(const Figure& figure) {
  return {
      {"name", figure.name}, {"value", figure.value}, {"unit", figure.unit}, {"more_is_better", figure.more_is_better}};
}

json json_of(const Entry& entry) {
  json figures = json::array();
  for (const Figure& figure : entry.answer.figures) figures.push_back(json_of(figure));
  return {{"name", entry.name},           {"title", entry.title},          {"outcome", name(entry.answer.outcome)},
          {"state", entry.answer.state},  {"advice", entry.answer.advice}, {"figures", std::move(figures)},
          {"took_ns", entry.took.count()}};
}

/// Reads a figure from JSON. Throws json::exception if a field is missing or does not have the type of the member of
/// Figure.
Figure figure_of(const json& value) {
  return {.name = value.at("name"),
          .value = value.at("value").is_null() ? std::nan("") : value.at("value").get<double>(),
          .unit = value.at("unit"),
          .more_is_better = value.at("more_is_better")};
}

Entry entry_of(const json& value) {
  Entry entry{.name = value.at("name"), .title = value.at("title"), .answer = {}, .took = {}};
  const std::string outcome = value.at("outcome");
  const auto known = std::ranges::find(outcomes, outcome, [](Outcome each) { return std::string(name(each)); });
  if (known == outcomes.end()) throw Failed{{Errc::bad_input, "unknown outcome " + config::quoted(outcome)}};
  entry.answer = {.outcome = *known, .state = value.at("state"), .advice = value.at("advice"), .figures = {}};
  for (const json& figure : value.at("figures")) entry.answer.figures.push_back(figure_of(figure));
  entry.took = Duration(value.at("took_ns").get<Duration::rep>());
  return entry;
}

Report report_of(const json& value) {
  Report report{.board = value.at("board"),
                .machine = value.at("machine"),
                .version = value.at("version"),
                .time = value.at("time"),
                .emulated = value.at("emulated"),
                .complete = true,
                .entries = {}};
  for (const json& entry : value.at("items")) report.entries.push_back(entry_of(entry));
  return report;
}

} // namespace

std::size_t Report::count(Outcome outcome) const {
  return static_cast<std::size_t>(
      std::ranges::count(entries, outcome, [](const Entry& entry) { return entry.answer.outcome; }));
}

Report bring_up(const Subject& subject, std::span<const Item> asked, const Observer& observer) {
  Report report{.board = subject.board.name,
                .machine = hal::machine_name(),
                .version = RTEXEC_VERSION,
                .time = utc_now(),
                .emulated = subject.emulated,
                .complete = false,
                .entries = {}};
  for (const Item& item : asked) {
    observer.begins(item);
    const Instant begin = hal::now();
    Entry entry{.name = item.name, .title = item.title, .answer = answer_to(item, subject), .took = {}};
    entry.took = hal::now() - begin;
    if (!subject.going_on()) return report;
    observer.answered(entry);
    report.entries.push_back(std::move(entry));
  }
  report.complete = true;
  return report;
}

const char* name(Outcome outcome) {
  switch (outcome) {
  case Outcome::passed: return "passed";
  case Outcome::failed: return "failed";
  case Outcome::skipped: return "skipped";
  }
  return "?";
}

std::string text_of(const Figure& figure) {
  constexpr double plain = 1000; // larger numbers are written without decimals
  const std::string number = std::abs(figure.value) >= plain && std::abs(figure.value) < 1e15
                                 ? std::to_string(std::llround(figure.value))
                                 : config::significant(figure.value, 4);
  return number + (figure.unit.empty() ? "" : " " + figure.unit);
}

json to_json(const Report& report) {
  json items = json::array();
  for (const Entry& entry : report.entries) items.push_back(json_of(entry));
  return {{"board", report.board},
          {"machine", report.machine},
          {"version", report.version},
          {"time", report.time},
          {"emulated", report.emulated},
          {"passed", report.count(Outcome::passed)},
          {"failed", report.count(Outcome::failed)},
          {"skipped", report.count(Outcome::skipped)},
          {"items", std::move(items)}};
}

Result<Report> read_report(const std::filesystem::path& file) {
  const auto text = config::read_file(file, max_report_bytes);
  if (!text) return Unexpected(text.error());
  const auto refuse = [&](const std::string& why) {
    return fail(Errc::bad_input, file.string() + ": error: not a report of rtexec bringup --json: " + why);
  };
  try {
    return report_of(json::parse(*text));
  } catch (const json::exception& error) {
    return refuse(config::printable(error.what(), 200));
  } catch (const Failed& failure) { return refuse(failure.error.what); }
}

} // namespace rtexec::bringup
