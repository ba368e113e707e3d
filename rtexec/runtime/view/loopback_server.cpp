#include "rtexec/runtime/view/loopback_server.hpp"

// Fences are not needed, because one thread runs all handlers. ThreadSanitizer does not support fences.
#define BOOST_ASIO_DISABLE_FENCED_BLOCK
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>

#include <chrono>
#include <cstddef>
#include <exception>
#include <optional>
#include <utility>

namespace rtexec::view {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using boost::system::error_code;

constexpr auto timeout = std::chrono::seconds(5);
constexpr std::size_t max_sessions = 32;

/// Returns true if the host in a request is a loopback name, like "localhost:8080". A browser sends the host name that
/// is in the page's address.
bool names_loopback(std::string_view host) {
  const std::string_view name = host.substr(0, host.find_last_of(':'));
  return name == "127.0.0.1" || name == "localhost";
}

/// A session: the connection with one client.
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(tcp::socket socket, const LoopbackServer::Respond& respond, std::size_t& sessions)
      : stream_(std::move(socket)), respond_(respond), sessions_(sessions) {
    ++sessions_;
  }
  ~Session() { --sessions_; }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  void read() {
    parser_.emplace();
    parser_->header_limit(8192);
    stream_.expires_after(timeout);
    http::async_read(stream_, buffer_, *parser_, [self = shared_from_this()](error_code error, std::size_t) {
      if (!error) self->answer();
    });
  }

 private:
  void answer() {
    const auto& request = parser_->get();
    const auto header = [](beast::string_view text) { return std::string_view(text.data(), text.size()); };
    const std::string_view target = header(request.target());
    const bool reads = request.method() == http::verb::get;
    Answer answer = !names_loopback(header(request[http::field::host]))
                        ? Answer{.status = 403, .body = "Only 127.0.0.1 and localhost may connect.\n"}
                    : !reads ? Answer{.status = 405, .body = "Only GET is supported.\n"}
                             : respond_(target.substr(0, target.find('?')));
    response_.emplace(static_cast<http::status>(answer.status), request.version());
    response_->set(http::field::content_type, beast::string_view(answer.type.data(), answer.type.size()));
    response_->set(http::field::cache_control, "no-store");
    response_->keep_alive(request.keep_alive());
    response_->body() = std::move(answer.body);
    response_->prepare_payload();
    stream_.expires_after(timeout);
    http::async_write(stream_, *response_, [self = shared_from_this()](error_code error, std::size_t) {
      if (!error && self->response_->keep_alive()) self->read();
    });
  }

  beast::tcp_stream stream_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::empty_body>> parser_;
  std::optional<http::response<http::string_body>> response_;
  const LoopbackServer::Respond& respond_;
  std::size_t& sessions_;
};

} // namespace

class LoopbackServer::Impl {
 public:
  explicit Impl(Respond respond) : respond_(std::move(respond)) {}

  error_code open(std::uint16_t port) {
    const tcp::endpoint here(asio::ip::address_v4::loopback(), port);
    error_code error;
    static_cast<void>(acceptor_.open(here.protocol(), error));
    // Allows binding although connections of an earlier server may still use the port
    if (!error) static_cast<void>(acceptor_.set_option(tcp::acceptor::reuse_address(true), error));
    if (!error) static_cast<void>(acceptor_.bind(here, error));
    if (!error) static_cast<void>(acceptor_.listen(asio::socket_base::max_listen_connections, error));
    return error;
  }

  [[nodiscard]] std::uint16_t port() const { return acceptor_.local_endpoint().port(); }

  void run(Duration interval, std::function<void()> also) {
    accept();
    repeat(interval, also);
    while (!io_.stopped()) try {
        io_.run();
      } catch (const std::exception&) {} // an exception while serving one client ends only its session
  }

  void stop() { io_.stop(); }

 private:
  /// Accepts connections. If that fails, as when all file descriptors are in use, tries again after a pause.
  void accept() {
    acceptor_.async_accept([this](error_code error, tcp::socket socket) {
      if (error) {
        pause_.expires_after(std::chrono::milliseconds(100));
        return pause_.async_wait([this](error_code) { accept(); });
      }
      accept();
      if (sessions_ < max_sessions) std::make_shared<Session>(std::move(socket), respond_, sessions_)->read();
    });
  }

  void repeat(Duration interval, const std::function<void()>& also) {
    timer_.expires_after(interval);
    timer_.async_wait([this, interval, &also](error_code) {
      repeat(interval, also);
      also();
    });
  }

  const Respond respond_;
  std::size_t sessions_ = 0; // destroyed after io_, which owns the sessions
  asio::io_context io_{1};
  tcp::acceptor acceptor_{io_};
  asio::steady_timer pause_{io_}, timer_{io_};
};

LoopbackServer::LoopbackServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LoopbackServer::~LoopbackServer() = default;

Result<std::unique_ptr<LoopbackServer>> LoopbackServer::open(std::uint16_t port, Respond respond) try {
  auto impl = std::make_unique<Impl>(std::move(respond));
  if (const error_code error = impl->open(port))
    return fail(Errc::refused, "port " + std::to_string(port) + " of 127.0.0.1 cannot be opened: " + error.message() +
                                   "\n  choose another port, or leave the option out for a free port");
  return std::unique_ptr<LoopbackServer>(new LoopbackServer(std::move(impl)));
} catch (const boost::system::system_error& error) {
  return fail(Errc::refused, std::string("127.0.0.1 cannot be opened: ") + error.what());
}

std::string LoopbackServer::url() const { return "http://127.0.0.1:" + std::to_string(impl_->port()) + "/"; }
void LoopbackServer::run(Duration interval, std::function<void()> also) { impl_->run(interval, std::move(also)); }
void LoopbackServer::stop() { impl_->stop(); }

} // namespace rtexec::view
