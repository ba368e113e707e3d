#include "config/keys.hpp"
#include "config/base/text.hpp"
#include "hal/board/board_findings.hpp"
#include "rtexec/cli/options/named_board.hpp"
#include "rtexec/cli/command/command.hpp"
#include "rtexec/cli/reports/report_text.hpp"

#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

namespace rtexec::command {

namespace {

const std::map<std::string, FileKind> kinds = {{"task-set", FileKind::task_set},
                                               {"board", FileKind::board},
                                               {"profile", FileKind::profile},
                                               {"daemon", FileKind::daemon}};

struct ConfigOptions {
  std::string topic = "task-set"; // kind of file, table or key
  std::string board;              // if set, prints the kernel command line of this board instead
  std::string json;
};

std::string_view without_brackets(std::string_view table) {
  while (table.starts_with('[')) table.remove_prefix(1);
  while (table.ends_with(']')) table.remove_suffix(1);
  return table;
}

/// True if `topic` names this key. "task" and "[[task]]" name all keys of the table and of its subtables, such as
/// "[[task.inputs]]". "period" and "task.period" name one key.
bool is_meant(const KeyDoc& doc, std::string_view topic) {
  const std::string_view table = without_brackets(doc.table), name = without_brackets(topic);
  return doc.key == name || table == name || (table.starts_with(name) && table.substr(name.size()).starts_with('.')) ||
         std::string(table) + "." + doc.key == name;
}

/// Returns the keys that `topic` names. `topic` is a kind of file, a table or a key. Throws Failed (bad_input) if no
/// key has this topic.
std::vector<KeyDoc> find_keys(const std::string& topic) {
  if (const auto kind = kinds.find(topic); kind != kinds.end()) {
    const auto all = documented_keys(kind->second);
    return {all.begin(), all.end()};
  }
  std::vector<KeyDoc> found;
  std::vector<std::string_view> known;
  for (const FileKind kind : {FileKind::task_set, FileKind::board, FileKind::daemon}) {
    for (const KeyDoc& doc : documented_keys(kind)) {
      if (is_meant(doc, topic)) found.push_back(doc);
      known.push_back(doc.key);
      known.push_back(without_brackets(doc.table));
    }
    if (!found.empty()) return found;
  }
  const auto near = config::nearest(topic, known);
  give_up(Errc::bad_input, "no file, table or key is called '" + config::printable(topic) + "'" +
                               (near ? "; did you mean '" + std::string(*near) + "'?" : ": `rtexec config` lists all"));
}

void print_keys(std::ostream& out, const std::vector<KeyDoc>& keys) {
  std::optional<std::string> table;
  for (const KeyDoc& doc : keys) {
    if (doc.table != table) {
      table = doc.table;
      out << (table->empty() ? "(top level)" : table->starts_with("[") ? *table : "[" + *table + "]") << '\n';
    }
    out << "  " << doc.key << "\n      " << doc.type << (doc.unit.empty() ? "" : " (" + doc.unit + ")") << "; "
        << (doc.fallback == "required" ? "required" : "default: " + doc.fallback) << "\n      " << doc.meaning << '\n';
  }
}

void config(const ConfigOptions& options) {
  OutputFile json_file = must(OutputFile::open(options.json));
  const std::vector<KeyDoc> docs = find_keys(options.topic);
  print_keys(text_output(options.json), docs);
  nlohmann::json keys = nlohmann::json::array();
  for (const KeyDoc& doc : docs)
    keys.push_back({{"table", doc.table},
                    {"key", doc.key},
                    {"type", doc.type},
                    {"unit", doc.unit},
                    {"default", doc.fallback},
                    {"meaning", doc.meaning}});
  must(write_json(json_file, keys));
}

void print_command_line(const ConfigOptions& options) {
  OutputFile json_file = must(OutputFile::open(options.json));
  const std::string line = hal::kernel_command_line(named_board(options.board));
  text_output(options.json) << line << '\n';
  must(write_json(json_file, {{"command_line", line}}));
}

} // namespace

void add_config(const Command& program) {
  const Command command = program.add("config", "Document the keys of the TOML files: type, unit, default and meaning");
  const auto options = std::make_shared<ConfigOptions>();
  const Option topic = command
                           .option("topic", options->topic, "TOPIC",
                                   "Keys to document: a kind of file (task-set, board, profile, daemon), a table such "
                                   "as task, or a key such as period")
                           .default_shown();
  command
      .option("--command-line", options->board, "BOARD",
              "Print the parameters of the kernel command line that this board's file requires, instead of keys")
      .not_empty()
      .excludes(topic);
  command.json(options->json);
  command.on_run([options] { options->board.empty() ? config(*options) : print_command_line(*options); });
}

} // namespace rtexec::command
