#include "test/soundness/summary.hpp"

#include "config/base/files.hpp"
#include "config/base/must.hpp"
#include "rtexec/studies/sweep/sweep_parts.hpp"

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

namespace rtexec::soundness {
namespace {

using nlohmann::json;

unsigned long long number(const json& of, const char* name) { return of.at(name).get<unsigned long long>(); }
std::string name_of(const json& row) { return row.at("name").get<std::string>(); }

/// Adds the numbers of `more` to those of `rows`. Both have rows of the same names.
void add_rows(json& rows, const json& more) {
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (auto& [name, value] : rows[i].items())
      if (value.is_number()) value = value.get<std::uint64_t>() + more.at(i).at(name).get<std::uint64_t>();
}

struct PartFile {
  std::filesystem::path file;
  study::Part part;
  json summary;
};

PartFile read_part(const std::filesystem::path& file) {
  const std::string text = must(config::read_file(file, 1 << 24));
  json summary = json::parse(text, nullptr, false);
  if (summary.is_discarded() || !summary.is_object() || !summary.contains("part"))
    give_up(Errc::bad_input, file.string() + ": error: no part of a search; SOUNDNESS_SHARD=K/N makes one");
  const study::Part part = must(study::parse_part(summary["part"].get<std::string>()));
  return {.file = file, .part = part, .summary = std::move(summary)};
}

/// Reads the parts in order of their number. They must be of one search, with none missing or duplicate.
std::vector<PartFile> read_parts(std::span<const std::filesystem::path> files) {
  std::vector<PartFile> parts;
  for (const std::filesystem::path& file : files) {
    parts.push_back(read_part(file));
    const PartFile &first = parts.front(), &last = parts.back();
    for (const char* what : {"version", "seed", "wanted"})
      if (last.summary[what] != first.summary[what])
        give_up(Errc::bad_input, file.string() + ": error: a part of another search: " + what + " is " +
                                     last.summary[what].dump() + " there and " + first.summary[what].dump() + " in " +
                                     first.file.string());
    if (last.part.of != first.part.of)
      give_up(Errc::bad_input, file.string() + ": error: part " + to_string(last.part) + ", but " +
                                   first.file.string() + " is part " + to_string(first.part));
  }
  std::ranges::stable_sort(parts, {}, [](const PartFile& each) { return each.part.number; });
  const std::size_t of = parts.front().part.of;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0 && parts[i].part == parts[i - 1].part)
      give_up(Errc::bad_input, "part " + to_string(parts[i].part) + " is given twice: " + parts[i - 1].file.string() +
                                   " and " + parts[i].file.string());
    if (parts[i].part.number != i + 1)
      give_up(Errc::bad_input, "part " + to_string(study::Part{i + 1, of}) + " is missing");
  }
  if (parts.size() < of)
    give_up(Errc::bad_input, "part " + to_string(study::Part{parts.size() + 1, of}) + " is missing");
  return parts;
}

} // namespace

json summary_of(const Wanted& wanted) {
  json summary{
      {"version", RTEXEC_VERSION},
      {"seed", wanted.seed},
      {"wanted", {{"sets", wanted.sets}, {"jobs", wanted.jobs}, {"tiny", wanted.tiny}, {"tests", wanted.tests}}},
      {"broken", json::array()},
      {"tests", json::array()},
      {"tiny", json::array()},
      {"errors", json::array()}};
  if (wanted.part.of > 1) summary["part"] = to_string(wanted.part);
  return summary;
}

void print_tests(const json& summary) {
  std::printf("%-32s %10s %14s %12s %12s %8s\n", "test", "sets", "jobs", "preempted", "restored", "broken");
  unsigned long long sets = 0, jobs = 0;
  for (const json& row : summary.at("tests")) {
    std::printf("%-32s %10llu %14llu %12llu %12llu %8llu\n", name_of(row).c_str(), number(row, "sets"),
                number(row, "jobs"), number(row, "preempted"), number(row, "restored"), number(row, "broken"));
    sets += number(row, "sets");
    jobs += number(row, "jobs");
  }
  std::printf("%-32s %10llu %14llu\n", "all", sets, jobs);
}

void print_tiny(const json& summary) {
  std::printf("\n%-32s %10s %14s %8s %14s\n", "every release pattern", "sets", "states", "broken", "bounds reached");
  for (const json& row : summary.at("tiny"))
    std::printf("%-32s %10llu %14llu %8llu %14llu\n", name_of(row).c_str(), number(row, "sets"), number(row, "states"),
                number(row, "broken"), number(row, "bounds_reached"));
}

void print_errors(const json& summary) {
  std::printf("\n%-44s %10s %12s\n", "deliberate error", "sets", "refuted");
  for (const json& row : summary.at("errors"))
    std::printf("%-44s %10llu %12s\n", name_of(row).c_str(), number(row, "sets"),
                row.at("refuted").get<bool>() ? "yes" : "NO");
}

void conclude(json& summary) {
  std::ranges::sort(summary.at("broken").get_ref<json::array_t&>());
  std::uint64_t sets = 0, jobs = 0;
  for (const json& row : summary.at("tests")) {
    sets += number(row, "sets");
    jobs += number(row, "jobs");
  }
  summary["sets"] = sets;
  summary["jobs"] = jobs;
  summary["held"] = summary.at("broken").empty();
  summary["seen"] =
      std::ranges::all_of(summary.at("errors"), [](const json& row) { return row.at("refuted") == true; });
}

Result<json> put_together(std::span<const std::filesystem::path> files) {
  return caught([&] {
    std::vector<PartFile> parts = read_parts(files);
    json whole = parts.front().summary;
    whole.erase("part");
    json::array_t broken, errors;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const json& part = parts[i].summary;
      for (const char* rows : {"tests", "tiny"})
        if (i > 0) add_rows(whole[rows], part.at(rows));
      broken.insert(broken.end(), part.at("broken").begin(), part.at("broken").end());
      errors.insert(errors.end(), part.at("errors").begin(), part.at("errors").end());
    }
    std::ranges::sort(errors, {}, [](const json& row) { return number(row, "number"); });
    whole["broken"] = broken;
    whole["errors"] = errors;
    conclude(whole);
    return whole;
  });
}

} // namespace rtexec::soundness
