#include "config/keys.hpp"
#include "rtexec/command/command.hpp"
#include "rtexec/command/text.hpp"

#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <nlohmann/json.hpp>
#include <ranges>

namespace rtexec::command {

namespace {

const std::map<std::string, FileKind> kinds = {
    {"task-set", FileKind::task_set}, {"board", FileKind::board}, {"profile", FileKind::profile}};

struct Options {
  std::string kind = "task-set";
  std::string json;
};

void print_keys(std::ostream& out, FileKind kind) {
  std::optional<std::string> table;
  for (const KeyDoc& doc : documented_keys(kind)) {
    if (doc.table != table) {
      table = doc.table;
      out << (table->empty() ? "(top level)" : table->starts_with("[") ? *table : "[" + *table + "]") << '\n';
    }
    out << "  " << doc.key << "\n      " << doc.type << (doc.unit.empty() ? "" : " (" + doc.unit + ")") << "; "
        << (doc.fallback == "required" ? "required" : "default: " + doc.fallback) << "\n      " << doc.meaning << '\n';
  }
}

void config(const Options& options) {
  OutputFile json_file = must(OutputFile::open(options.json));
  const FileKind kind = kinds.at(options.kind);
  print_keys(text_output(options.json), kind);
  nlohmann::json keys = nlohmann::json::array();
  for (const KeyDoc& doc : documented_keys(kind))
    keys.push_back({{"table", doc.table},
                    {"key", doc.key},
                    {"type", doc.type},
                    {"unit", doc.unit},
                    {"default", doc.fallback},
                    {"meaning", doc.meaning}});
  must(write_json(json_file, keys));
}

} // namespace

void add_config(const Command& program) {
  const Command command =
      program.add("config", "Document every key of the TOML files: type, unit, default and meaning");
  const auto options = std::make_shared<Options>();
  const auto names = std::views::keys(kinds);
  command.option("kind", options->kind, "KIND", "Which file").default_shown().one_of({names.begin(), names.end()});
  command.json(options->json);
  command.on_run([options] { config(*options); });
}

} // namespace rtexec::command
