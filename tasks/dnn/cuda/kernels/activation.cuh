// The activations of graph.hpp.
#pragma once

#include "tasks/dnn/cuda/kernels/rare_functions.cuh"

namespace rtexec::tasks::cuda {

/// x (u - 1) / (u + 1) with u = (1 + e^x)^2; where that would overflow it is x.
DEVICE float mish(float x) {
  const float e = exponential(at_most(x, 30.0F));
  const float n = e * (e + 2.0F);
  return x * n * inverse(n + 2.0F);
}

/// A NaN stays a NaN.
DEVICE float activated(float x, const ActivationArguments& f) {
  switch (f.kind) {
  case ActivationArguments::relu: return at_least(x, 0.0F);
  case ActivationArguments::leaky_relu: return x < 0.0F ? x * f.a : x;
  case ActivationArguments::sigmoid: return inverse(1.0F + exponential(-x));
  case ActivationArguments::hard_sigmoid: return at_most(at_least(multiply_add(f.a, x, f.b), 0.0F), 1.0F);
  case ActivationArguments::hard_swish: return x * at_most(at_least(multiply_add(x, 1.0F / 6.0F, 0.5F), 0.0F), 1.0F);
  case ActivationArguments::clip: return at_most(at_least(x, f.a), f.b);
  case ActivationArguments::exp: return exponential(x);
  case ActivationArguments::tanh: return hyperbolic_tangent(x);
  case ActivationArguments::sqrt: return square_root(x);
  case ActivationArguments::swish: return x * inverse(1.0F + exponential(-x));
  case ActivationArguments::scale: return multiply_add(f.a, x, f.b);
  case ActivationArguments::elu: return x < 0.0F ? f.a * (exponential(x) - 1.0F) : x;
  case ActivationArguments::selu: return f.b * (x < 0.0F ? f.a * (exponential(x) - 1.0F) : x);
  case ActivationArguments::mish: return mish(x);
  case ActivationArguments::gelu: return 0.5F * x * (1.0F + error_function(x * 0.707106781F));
  case ActivationArguments::gelu_tanh:
    return 0.5F * x * (1.0F + hyperbolic_tangent(0.797884561F * multiply_add(0.044715F * x * x, x, x)));
  case ActivationArguments::none: return x;
  default: return rarely_activated(x, f.kind, f.a, f.b);
  }
}

/// Called, not inlined: what is rarely needed does not fill the instruction cache of what is.
DEVICE_CALL float activated_elsewhere(float x, int kind, float a, float b) {
  return activated(x, ActivationArguments{kind, a, b});
}

/// The same, for kernels that inline it often: what follows most convolutions is tried first.
DEVICE float activated_quickly(float x, const ActivationArguments& f) {
  if (f.kind == ActivationArguments::none) return x;
  if (f.kind == ActivationArguments::relu) return at_least(x, 0.0F);
  if (f.kind == ActivationArguments::leaky_relu) return x < 0.0F ? x * f.a : x;
  return activated_elsewhere(x, f.kind, f.a, f.b);
}

/// What becomes of a sum that has its bias.
DEVICE float finished(const ConvArguments& conv, float sum, float residual) {
  return conv.residual_last ? activated_quickly(sum, conv.activation) + residual
                            : activated_quickly(sum + residual, conv.activation);
}

} // namespace rtexec::tasks::cuda
