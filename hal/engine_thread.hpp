// The engine of every back end: one thread behind a bounded single-producer single-consumer queue.
#pragma once

#include "hal/engine.hpp"

#include <array>
#include <atomic>
#include <memory>
#include <string>

namespace rtexec::hal {

class EngineThread final : public Engine {
 public:
  static constexpr Bytes compute_stack{8 << 20}; // for numerical libraries, which run on this stack

  [[nodiscard]] static Result<std::unique_ptr<EngineThread>> start(const std::string& name,
                                                                   Bytes stack = ThreadSettings{}.stack);
  ~EngineThread() override;
  EngineThread(const EngineThread&) = delete;
  EngineThread& operator=(const EngineThread&) = delete;

  [[nodiscard]] Status submit(const Work& work) noexcept override;
  [[nodiscard]] Result<> configure(const ThreadSettings& settings) override;
  [[nodiscard]] int kernel_id() const override { return thread_.kernel_id(); }

 private:
  EngineThread() = default;
  void loop() noexcept;

  std::array<Work, capacity> queue_{};
  alignas(64) std::atomic<std::size_t> submitted_{0}; // written by the submitting thread
  alignas(64) std::atomic<std::size_t> taken_{0};     // written by the engine's thread
  std::atomic<bool> ending_{false};
  Signal changed_;
  Thread thread_; // the last member: the thread ends before the members that it uses
};

} // namespace rtexec::hal
