#include "config/content.hpp"

#include "config/document.hpp"
#include "config/base/text.hpp"

#include <algorithm>
#include <fstream>
#include <utility>

namespace rtexec::config {
namespace {

struct Description {
  /// `belongs`: the command or the setting that takes such a file; FILE in it stands for the file's name
  std::string_view name, belongs;
};

Description described(Content content) {
  switch (content) {
  case Content::task_set:
    return {"a task set", "`rtexec check FILE`, or `rtexec profile FILE`, which writes a profile"};
  case Content::board: return {"a board", "board = \"FILE\" in a task set"};
  case Content::profile: return {"a profile", "`rtexec check SET.toml --wcet FILE`"};
  case Content::daemon: return {"a file for the daemon", "`rtexecd FILE`"};
  case Content::onnx: return {"an ONNX model", "`rtexec infer FILE`, or model = \"FILE\" in a task set"};
  case Content::picture: return {"a picture", "`rtexec infer MODEL.onnx FILE`, or input = \"FILE\" in a task set"};
  case Content::tensor: return {"a NumPy tensor", "`rtexec infer MODEL.onnx FILE`, or input = \"FILE\" in a task set"};
  case Content::json: return {"JSON", "the TOML file from which it was made"};
  case Content::execution_times: return {"a list of execution times", "`rtexec analyze FILE`"};
  }
  std::unreachable();
}

/// True if the text is JSON. A TOML table also begins with '[', but no brace follows it.
bool is_json(std::string_view text) {
  const auto skip_spaces = [&] { text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size())); };
  skip_spaces();
  if (text.starts_with('{')) return true;
  if (!text.starts_with('[')) return false;
  text.remove_prefix(1);
  skip_spaces();
  return text.starts_with('{');
}

/// Recognises a TOML file by keys that only one kind of file has.
std::optional<Content> content_of_toml(std::string_view text) {
  const auto top = parse_document(text, {});
  if (!top) return {};
  const auto has = [&](std::string_view key) { return find(*top, key) != nullptr; };
  if (has("machine") && has("device") && has("task")) return Content::profile;
  if (has("daemon")) return Content::daemon;
  if (has("chunk") && has("memory_policies")) return Content::board;
  const Entry* tasks = find(*top, "task");
  const auto* list = tasks == nullptr ? nullptr : std::get_if<Array>(&tasks->value.content);
  const auto is_periodic = [](const Value& task) {
    const auto* keys = std::get_if<Table>(&task.content);
    return keys != nullptr && find(*keys, "period") != nullptr;
  };
  return list != nullptr && std::ranges::any_of(*list, is_periodic) ? std::optional(Content::task_set) : std::nullopt;
}

std::string replaced(std::string_view text, std::string_view word, const std::string& by) {
  std::string result(text);
  for (std::size_t at = 0; (at = result.find(word, at)) != std::string::npos; at += by.size())
    result.replace(at, word.size(), by);
  return result;
}

} // namespace

std::optional<Content> content_of(std::string_view bytes) {
  if (bytes.starts_with("\x89PNG") || bytes.starts_with("\xff\xd8\xff")) return Content::picture;
  if (bytes.starts_with("\x93NUMPY")) return Content::tensor;
  if (bytes.starts_with('\x08')) return Content::onnx; // the field ir_version of ONNX; no text begins with this byte
  if (bytes.contains('\0') || bytes.size() > max_file_bytes) return {};
  return is_json(bytes) ? std::optional(Content::json) : content_of_toml(bytes);
}

std::optional<Error> mistaken(const std::filesystem::path& file, std::string_view bytes, Content wanted) {
  const auto found = content_of(bytes);
  if (!found || *found == wanted) return {};
  const auto [name, belongs] = described(*found);
  const std::string in_toml = replaced(belongs, "\"FILE\"", toml_string(file.string()));
  return Error{Errc::bad_input, file.string() + ": error: this is " + std::string(name) + ", not " +
                                    std::string(described(wanted).name) + ": try " +
                                    replaced(in_toml, "FILE", shell_word(file.string()))};
}

std::string beginning_of(const std::filesystem::path& file) {
  constexpr std::size_t count = 64;
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) return {};
  std::string bytes(count, '\0');
  std::ifstream in(file, std::ios::binary);
  in.read(bytes.data(), count);
  bytes.resize(static_cast<std::size_t>(in.gcount()));
  return bytes;
}

} // namespace rtexec::config
