#include "traces/reading/babeltrace.hpp"

#include "config/base/descriptor.hpp"
#include "config/base/text.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rtexec::traces {
namespace {

constexpr const char* class_name = "fs";
constexpr unsigned max_seconds = 60; // maximum time in seconds for opening a trace in a child process
constexpr char answered = '.';       // begins each answer of the child, so that an empty answer differs from no answer

} // namespace

std::string answer_of_child(const std::function<std::string()>& ask) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return std::string("pipe2: ") + std::strerror(errno);
  const config::Descriptor from(ends[0]);
  config::Descriptor to(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) return std::string("fork: ") + std::strerror(errno);
  if (child == 0) {
    ::alarm(max_seconds);
    if (const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC); nowhere >= 0) ::dup2(nowhere, STDERR_FILENO);
    const std::string answer = answered + ask();
    ::_exit(::write(to.get(), answer.data(), answer.size()) == static_cast<ssize_t>(answer.size()) ? 0 : 1);
  }
  to.reset();
  std::string answer;
  std::array<char, 4096> part{};
  for (ssize_t count = 0; (count = ::read(from.get(), part.data(), part.size())) > 0 || (count < 0 && errno == EINTR);)
    if (count > 0) answer.append(part.data(), static_cast<std::size_t>(count));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  if (answer.starts_with(answered)) return answer.substr(1);
  return "libbabeltrace2 cannot read it: " +
         (WIFSIGNALED(status) ? ::strsignal(WTERMSIG(status)) : "exit code " + std::to_string(WEXITSTATUS(status)));
}

std::string take_last_error() {
  const bt_error* error = bt_current_thread_take_error();
  if (!error) return "";
  constexpr std::size_t most = 500; // maximum number of characters; the message may quote the trace
  std::string text = config::printable(bt_error_cause_get_message(bt_error_borrow_cause_by_index(error, 0)), most);
  bt_error_release(error);
  return text;
}

Result<CtfSource> CtfSource::find() {
  const bt_plugin* plugin = nullptr;
  const auto status = bt_plugin_find("ctf", BT_TRUE, BT_FALSE, BT_TRUE, BT_FALSE, BT_FALSE, &plugin);
  if (status == BT_PLUGIN_FIND_STATUS_OK && bt_plugin_borrow_source_component_class_by_name_const(plugin, class_name))
    return CtfSource(Plugin(plugin));
  return fail(Errc::refused,
              "the plug-in \"ctf\" of libbabeltrace2 is not installed: install the Debian package libbabeltrace2-0");
}

const bt_component_source* CtfSource::add_to(bt_graph* graph, const std::filesystem::path& folder) const {
  const Value parameters(bt_value_map_create());
  bt_value* inputs = nullptr;
  if (!parameters ||
      bt_value_map_insert_empty_array_entry(parameters.get(), "inputs", &inputs) !=
          BT_VALUE_MAP_INSERT_ENTRY_STATUS_OK ||
      bt_value_array_append_string_element(inputs, folder.c_str()) != BT_VALUE_ARRAY_APPEND_ELEMENT_STATUS_OK)
    return nullptr;
  const bt_component_source* source = nullptr;
  bt_graph_add_source_component(graph, bt_plugin_borrow_source_component_class_by_name_const(plugin_.get(), class_name),
                                folder.c_str(), parameters.get(), BT_LOGGING_LEVEL_NONE, &source);
  return source;
}

std::string CtfSource::refusal(const std::filesystem::path& folder) const {
  return answer_of_child([&]() -> std::string {
    const Graph graph(bt_graph_create(0));
    if (graph && add_to(graph.get(), folder)) return "";
    const std::string reason = take_last_error();
    return reason.empty() ? "no reason given" : reason;
  });
}

} // namespace rtexec::traces
