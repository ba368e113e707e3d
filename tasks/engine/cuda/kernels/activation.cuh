// Device functions that compute the activations of graph.hpp.
#pragma once

#include "tasks/engine/cuda/kernels/rare_functions.cuh"

namespace rtexec::tasks::cuda {

/// Returns x tanh(log(1 + e^x)). Computes it as x (u - 1) / (u + 1) with u = (1 + e^x)^2. Returns x if u would
/// overflow.
DEVICE float mish(float x) {
  const float e = exponential(at_most(x, 30.0F));
  const float n = e * (e + 2.0F);
  return x * n * inverse(n + 2.0F);
}

/// Calls each(function) with the activation that `f` selects. `each` applies it to all its elements, so the selection
/// runs once. A selection for each element would multiply the code, and loading more code delays a short kernel.
template <class F> DEVICE void with_function(const ActivationArguments& f, F each) {
  const float a = f.a, b = f.b;
  switch (f.kind) {
  case ActivationArguments::none: return;
  case ActivationArguments::relu: return each([](float x) { return at_least(x, 0.0F); });
  case ActivationArguments::leaky_relu: return each([a](float x) { return x < 0.0F ? x * a : x; });
  case ActivationArguments::sigmoid: return each([](float x) { return inverse(1.0F + exponential(-x)); });
  case ActivationArguments::hard_sigmoid:
    return each([a, b](float x) { return at_most(at_least(multiply_add(a, x, b), 0.0F), 1.0F); });
  case ActivationArguments::hard_swish:
    return each([](float x) { return x * at_most(at_least(multiply_add(x, 1.0F / 6.0F, 0.5F), 0.0F), 1.0F); });
  case ActivationArguments::clip: return each([a, b](float x) { return at_most(at_least(x, a), b); });
  case ActivationArguments::exp: return each([](float x) { return exponential(x); });
  case ActivationArguments::tanh: return each([](float x) { return hyperbolic_tangent(x); });
  case ActivationArguments::sqrt: return each([](float x) { return square_root(x); });
  case ActivationArguments::swish: return each([](float x) { return x * inverse(1.0F + exponential(-x)); });
  case ActivationArguments::scale: return each([a, b](float x) { return multiply_add(a, x, b); });
  case ActivationArguments::elu: return each([a](float x) { return x < 0.0F ? a * (exponential(x) - 1.0F) : x; });
  case ActivationArguments::selu:
    return each([a, b](float x) { return b * (x < 0.0F ? a * (exponential(x) - 1.0F) : x); });
  case ActivationArguments::mish: return each([](float x) { return mish(x); });
  case ActivationArguments::gelu:
    return each([](float x) { return 0.5F * x * (1.0F + error_function(x * 0.707106781F)); });
  case ActivationArguments::gelu_tanh:
    return each([](float x) {
      return 0.5F * x * (1.0F + hyperbolic_tangent(0.797884561F * multiply_add(0.044715F * x * x, x, x)));
    });
  default: return each([&f](float x) { return rarely_activated(x, f.kind, f.a, f.b); });
  }
}

/// Returns the result of the activation for x. A NaN stays a NaN.
DEVICE float activated(float x, const ActivationArguments& f) {
  with_function(f, [&x](auto function) { x = function(x); });
  return x;
}
/// Applies the activation to all elements of an array.
template <class Floats> DEVICE void activate(Floats& x, const ActivationArguments& f) {
  with_function(f, [&x](auto function) {
    for (float& value : x) value = function(value);
  });
}

/// Returns the result of activated(). This function is called, not inlined, so that rarely needed code does not
/// displace other code in the instruction cache.
DEVICE_CALL float activated_elsewhere(float x, int kind, float a, float b) {
  return activated(x, ActivationArguments{kind, a, b});
}
/// Applies activated_elsewhere() to all elements of an array.
template <class Floats> DEVICE void activate_elsewhere(Floats& x, const ActivationArguments& f) {
  if (f.kind == ActivationArguments::none) return;
  for (float& value : x) value = activated_elsewhere(value, f.kind, f.a, f.b);
}

/// Returns the result of activated(). It is for kernels that inline it often: first tests for the activations that
/// follow most convolutions, and calls a function for all other activations.
DEVICE float activated_quickly(float x, const ActivationArguments& f) {
  if (f.kind == ActivationArguments::none) return x;
  if (f.kind == ActivationArguments::relu) return at_least(x, 0.0F);
  if (f.kind == ActivationArguments::leaky_relu) return x < 0.0F ? x * f.a : x;
  return activated_elsewhere(x, f.kind, f.a, f.b);
}

/// Returns the output of a convolution. `sum` includes the bias. Adds the residual and applies the activation, in the
/// order that `conv` defines.
DEVICE float finished(const ConvArguments& conv, float sum, float residual) {
  return conv.residual_last ? activated_quickly(sum, conv.activation) + residual
                            : activated_quickly(sum + residual, conv.activation);
}

} // namespace rtexec::tasks::cuda
