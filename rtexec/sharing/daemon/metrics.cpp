#include "rtexec/sharing/daemon/metrics.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <netinet/in.h>
#include <optional>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace rtexec::daemon {
namespace {

using protocol::StatusPart;

constexpr std::size_t longest_request = 4096;
constexpr std::size_t max_connections = 32;
constexpr int max_accepted = 64; // connections in one round
constexpr Duration timeout = std::chrono::seconds(2);
constexpr Duration between_attempts = std::chrono::milliseconds(100); // after a failed accept()

// ---- text ----

std::string label(std::string_view value) {
  std::string escaped;
  for (const char each : value) {
    if (each == '\\' || each == '"') escaped += '\\';
    escaped += each;
  }
  return '"' + escaped + '"';
}

std::string number(double value) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

double seconds(std::int64_t ns) { return static_cast<double>(ns) * 1e-9; }

class Writer {
 public:
  void head(std::string_view name, std::string_view type, std::string_view help) {
    text_.append("# HELP ").append(name).append(" ").append(help).append("\n");
    text_.append("# TYPE ").append(name).append(" ").append(type).append("\n");
  }
  void sample(std::string_view name, std::string_view labels, double value) {
    text_.append(name).append(labels).append(" ").append(number(value)).append("\n");
  }
  void one(std::string_view name, std::string_view type, std::string_view help, double value) {
    head(name, type, help);
    sample(name, "", value);
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

/// A metric of each client. `value` returns nullopt if the metric does not apply to the client.
struct Metric {
  const char* name;
  const char* type;
  const char* help;
  std::optional<double> (*value)(const StatusPart&, double chunk);
};

std::optional<double> time(const StatusPart& client, std::int64_t ns) {
  return client.declared != 0 ? std::optional(seconds(ns)) : std::nullopt;
}

#define RTEXEC_VALUE(expression) \
  [](const StatusPart& c, [[maybe_unused]] double chunk) -> std::optional<double> { return expression; }
constexpr Metric client_metrics[] = {
    {"rtexecd_client_memory_bytes", "gauge", "Device memory of the client.", RTEXEC_VALUE(c.slots* chunk)},
    {"rtexecd_client_resident_bytes", "gauge", "Part of this memory that is on the device.",
     RTEXEC_VALUE(c.resident* chunk)},
    {"rtexecd_client_limit_bytes", "gauge", "Limit of the client's device memory.", RTEXEC_VALUE(c.limit_slots* chunk)},
    {"rtexecd_client_period_seconds", "gauge", "Declared.", RTEXEC_VALUE(time(c, c.period_ns))},
    {"rtexecd_client_deadline_seconds", "gauge", "Declared.", RTEXEC_VALUE(time(c, c.deadline_ns))},
    {"rtexecd_client_wcet_seconds", "gauge", "Declared.", RTEXEC_VALUE(time(c, c.wcet_ns))},
    {"rtexecd_client_response_bound_seconds", "gauge", "Promised.", RTEXEC_VALUE(time(c, c.response_bound_ns))},
    {"rtexecd_client_longest_response_seconds", "gauge", "From the release of a job to its end.",
     RTEXEC_VALUE(seconds(c.longest_response_ns))},
    {"rtexecd_client_longest_execution_seconds", "gauge", "Time for which a job had the device.",
     RTEXEC_VALUE(seconds(c.longest_execution_ns))},
    {"rtexecd_client_jobs_total", "counter", "Jobs that have ended.", RTEXEC_VALUE(static_cast<double>(c.jobs))},
    {"rtexecd_client_deadlines_missed_total", "counter", "Jobs that ended after their deadline.",
     RTEXEC_VALUE(static_cast<double>(c.missed))},
    {"rtexecd_client_wcet_exceeded_total", "counter", "Jobs that held the device for longer than their WCET.",
     RTEXEC_VALUE(static_cast<double>(c.overruns))},
    {"rtexecd_client_jobs_failed_total", "counter", "Jobs whose memory could not be swapped in.",
     RTEXEC_VALUE(static_cast<double>(c.failed))},
    {"rtexecd_client_device_seconds_total", "counter", "Time for which its jobs held the device.",
     RTEXEC_VALUE(seconds(c.executed_ns))},
    {"rtexecd_client_swapped_in_bytes_total", "counter", "Bytes swapped in.",
     RTEXEC_VALUE(static_cast<double>(c.loaded) * chunk)},
    {"rtexecd_client_swapped_out_bytes_total", "counter", "Bytes swapped out.",
     RTEXEC_VALUE(static_cast<double>(c.saved) * chunk)},
    {"rtexecd_client_violations_total", "counter", "Invalid messages of the client.",
     RTEXEC_VALUE(static_cast<double>(c.violations))},
};
#undef RTEXEC_VALUE

// ---- HTTP ----

std::string response(std::string_view status, std::string_view body) {
  return "HTTP/1.0 " + std::string(status) +
         "\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: " +
         std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n" + std::string(body);
}

/// Returns the value of a header, or nullopt if the request has no header of this name.
std::optional<std::string_view> header(std::string_view request, std::string_view name) {
  while (!request.empty()) {
    const std::string_view line = request.substr(0, request.find('\n'));
    request.remove_prefix(std::min(line.size() + 1, request.size()));
    if (line.size() <= name.size() || line[name.size()] != ':') continue;
    if (::strncasecmp(line.data(), name.data(), name.size()) != 0) continue;
    const std::string_view value = line.substr(name.size() + 1);
    const std::size_t first = value.find_first_not_of(" \t"), last = value.find_last_not_of(" \t\r");
    return first == std::string_view::npos ? "" : value.substr(first, last + 1 - first);
  }
  return std::nullopt;
}

/// True if `host` is a numeric address, localhost or this machine's name, with or without a port. A foreign web page
/// could resolve its own name to this machine (DNS rebinding). The requests of such a page have the page's name as
/// `host`.
bool names_this_machine(std::string_view host) {
  const std::size_t colon = host.find_last_of(':');
  const std::string name(host.substr(0, host.ends_with(']') ? host.npos : colon));
  in6_addr address{};
  if (::inet_pton(AF_INET, name.c_str(), &address) == 1) return true;
  if (name.size() > 2 && name.front() == '[' && name.back() == ']')
    return ::inet_pton(AF_INET6, name.substr(1, name.size() - 2).c_str(), &address) == 1;
  std::array<char, 256> own{};
  const bool known = ::gethostname(own.data(), own.size() - 1) == 0;
  return ::strcasecmp(name.c_str(), "localhost") == 0 || (known && ::strcasecmp(name.c_str(), own.data()) == 0);
}

/// Returns the answer to a request, or nullopt if the request is incomplete.
std::optional<std::string> answer_to(std::string_view request, const std::function<std::string()>& text) {
  if (request.find("\r\n\r\n") == std::string_view::npos && request.find("\n\n") == std::string_view::npos)
    return request.size() < longest_request ? std::nullopt
                                            : std::optional(response("431 Request Header Fields Too Large", ""));
  const std::string_view line = request.substr(0, request.find_first_of("\r\n"));
  const std::size_t first = line.find(' '), second = line.find(' ', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos ||
      !line.substr(second + 1).starts_with("HTTP/1."))
    return response("400 Bad Request", "");
  if (const auto host = header(request, "Host"); host && !names_this_machine(*host))
    return response("403 Forbidden", "The Host header must be this machine's address, localhost or its host name.\n");
  if (line.substr(0, first) != "GET") return response("405 Method Not Allowed", "");
  const std::string_view target = line.substr(first + 1, second - first - 1);
  if (target.substr(0, target.find('?')) != "/metrics") return response("404 Not Found", "See /metrics\n");
  return response("200 OK", text());
}

bool passing(int error) { return error == EAGAIN || error == EINTR; }

} // namespace

std::string metrics_text(const ServerStatus& status) {
  const auto& daemon = status.daemon;
  const double chunk = static_cast<double>(daemon.chunk_bytes);
  const bool shared = daemon.mode == protocol::Mode::shared_chunks;
  Writer out;
  out.head("rtexecd_info", "gauge", "Version and device of the daemon; always 1.");
  out.sample("rtexecd_info",
             "{release=" + label(protocol::view(daemon.release)) + ",order=" + label(protocol::view(daemon.order)) +
                 ",swap_policy=" + label(protocol::view(daemon.policy)) +
                 ",chunks=" + label(shared ? "shared" : "separate") + "}",
             1);
  out.one("rtexecd_running_seconds", "gauge", "Time since its start.", seconds(daemon.now_ns - daemon.started_ns));
  out.one("rtexecd_capacity_bytes", "gauge", "Device memory of all clients together.", daemon.frames * chunk);
  out.one("rtexecd_free_bytes", "gauge", "Free part of this memory.", daemon.free_frames * chunk);
  out.one("rtexecd_chunk_bytes", "gauge", "Unit of device memory.", chunk);
  out.one("rtexecd_places", "gauge", "Maximum number of clients.", daemon.places);
  out.one("rtexecd_clients", "gauge", "Clients that are connected.", static_cast<double>(status.clients.size()));
  out.one("rtexecd_clients_came_total", "counter", "Clients that were accepted.", static_cast<double>(daemon.came));
  out.one("rtexecd_refused_total", "counter", "Clients and declarations that were refused.",
          static_cast<double>(daemon.refused));
  out.one("rtexecd_clients_expelled_total", "counter", "Clients that the daemon has ended.",
          static_cast<double>(daemon.expelled));
  std::vector<std::string> labels;
  for (const StatusPart& client : status.clients)
    labels.push_back("{client=" + label(protocol::view(client.name)) + ",place=\"" + std::to_string(client.place) +
                     "\",process=\"" + std::to_string(client.process) + "\"}");
  for (const Metric& metric : client_metrics) {
    out.head(metric.name, metric.type, metric.help);
    for (std::size_t i = 0; i < labels.size(); ++i)
      if (const auto value = metric.value(status.clients[i], chunk)) out.sample(metric.name, labels[i], *value);
  }
  return out.take();
}

Result<Metrics> Metrics::open(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  const std::string_view port_text = std::string_view(address).substr(colon == std::string::npos ? 0 : colon + 1);
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(port_text.data(), port_text.data() + port_text.size(), port);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  if (colon == std::string::npos || error != std::errc() || end != port_text.data() + port_text.size() ||
      ::inet_pton(AF_INET, address.substr(0, colon).c_str(), &at.sin_addr) != 1)
    return fail(Errc::bad_input, "[daemon] metrics = \"" + address +
                                     "\": expected an IPv4 address and a port, such as \"127.0.0.1:9464\".");
  at.sin_port = htons(port);
  config::Descriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  if (listener.get() < 0 || ::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      ::bind(listener.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0 ||
      ::listen(listener.get(), SOMAXCONN) != 0)
    return fail(Errc::refused, "[daemon] metrics = \"" + address + "\": " + std::strerror(errno) + ".");
  return Metrics(std::move(listener));
}

unsigned Metrics::port() const {
  sockaddr_in at{};
  socklen_t size = sizeof at;
  return ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&at), &size) == 0 ? ntohs(at.sin_port) : 0;
}

void Metrics::watch(std::vector<pollfd>& watched, Instant now) const {
  watched.push_back({.fd = now < listens_from_ ? -1 : listener_.get(), .events = POLLIN, .revents = 0});
  for (const Connection& each : connections_) {
    const short what = each.answer.empty() ? POLLIN : POLLOUT;
    watched.push_back({.fd = each.socket.get(), .events = what, .revents = 0});
  }
}

void Metrics::serve(std::span<const pollfd> watched, Instant now, const std::function<std::string()>& text) {
  for (std::size_t i = 0; i < connections_.size(); ++i) {
    Connection& each = connections_[i];
    if (now >= each.until || (watched[i + 1].revents != 0 && !go_on(each, text))) each.socket.reset();
  }
  std::erase_if(connections_, [](const Connection& each) { return each.socket.get() < 0; });
  if (watched[0].revents != 0) accept(now, text);
}

bool Metrics::go_on(Connection& connection, const std::function<std::string()>& text) {
  if (connection.answer.empty()) {
    std::array<char, longest_request> bytes;
    const std::size_t room = longest_request - connection.request.size();
    const auto came = ::recv(connection.socket.get(), bytes.data(), room, 0);
    if (came <= 0) return came < 0 && passing(errno);
    connection.request.append(bytes.data(), static_cast<std::size_t>(came));
    connection.answer = answer_to(connection.request, text).value_or("");
    if (connection.answer.empty()) return true;
  }
  const std::string_view rest = std::string_view(connection.answer).substr(connection.sent);
  const auto sent = ::send(connection.socket.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
  if (sent < 0) return passing(errno);
  connection.sent += static_cast<std::size_t>(sent);
  return connection.sent < connection.answer.size();
}

/// Accepts connections. Answers a request at once if it has already arrived. If the limit is reached, closes the oldest
/// connection, so that silent connections cannot keep clients out.
void Metrics::accept(Instant now, const std::function<std::string()>& text) {
  for (int accepted = 0; accepted < max_accepted; ++accepted) {
    config::Descriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket.get() < 0 && !passing(errno)) listens_from_ = now + between_attempts;
    if (socket.get() < 0) return;
    Connection connection{.socket = std::move(socket), .until = now + timeout};
    if (!go_on(connection, text)) continue;
    if (connections_.size() == max_connections) connections_.erase(connections_.begin());
    connections_.push_back(std::move(connection));
  }
}

} // namespace rtexec::daemon
