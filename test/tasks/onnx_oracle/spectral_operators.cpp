#include "test/tasks/onnx_oracle/oracle.hpp"

#include <complex>
#include <numbers>

namespace rtexec::test {
namespace {

using Complex = std::complex<double>;

/// Computes one frequency by the definition of the Fourier transform.
Complex frequency(const std::vector<Complex>& signal, Index bin, Index length, bool inverse) {
  Complex sum = 0;
  for (Index t = 0; t < std::min(length, std::ssize(signal)); ++t)
    sum += signal[static_cast<std::size_t>(t)] *
           std::polar(
               1.0, (inverse ? 2 : -2) * std::numbers::pi * static_cast<double>(t * bin) / static_cast<double>(length));
  return inverse ? sum / static_cast<double>(length) : sum;
}

Complex number(const Array& x, Ints at) {
  at.back() = 0;
  const Index i = offset(x.shape, at);
  return {x[i], x.shape.back() == 2 ? x[i + 1] : 0};
}

double part(Complex value, Index which) { return which == 0 ? value.real() : value.imag(); }

Array discrete_transform(const Operator& n) {
  const Array& x = n.in(0);
  const Index given = n.opset < 20 ? n.get<Index>("axis", 1) : n.has(2) ? integers(n.in(2))[0] : -2;
  const auto axis = static_cast<std::size_t>(given < 0 ? given + x.rank() : given);
  const Index length = n.has(1) ? integers(n.in(1))[0] : x.shape[axis];
  Ints shape = x.shape;
  shape[axis] = n.get<Index>("onesided", 0) != 0 ? length / 2 + 1 : length;
  shape.back() = 2;
  Array y(shape);
  for_each_index(shape, [&](const Ints& at) {
    std::vector<Complex> signal;
    Ints from = at;
    for (from[axis] = 0; from[axis] < x.shape[axis]; ++from[axis]) signal.push_back(number(x, from));
    y[offset(shape, at)] = part(frequency(signal, at[axis], length, n.get<Index>("inverse", 0) != 0), at.back());
  });
  return y;
}

Array short_time_transform(const Operator& n) {
  Array x = n.in(0);
  if (x.rank() == 2) x.shape.push_back(1);
  const Index step = integers(n.in(1))[0], length = n.has(3) ? integers(n.in(3))[0] : n.in(2).size();
  const Index bins = n.get<Index>("onesided", 1) != 0 ? length / 2 + 1 : length;
  Array y({x.extent(0), (x.extent(1) - length) / step + 1, bins, 2});
  for_each_index(y.shape, [&](const Ints& at) {
    std::vector<Complex> signal;
    for (Index t = 0; t < length; ++t)
      signal.push_back(number(x, {at[0], at[1] * step + t, 0}) * (n.has(2) ? n.in(2)[t] : 1.0));
    y[offset(y.shape, at)] = part(frequency(signal, at[2], length, false), at[3]);
  });
  return y;
}

} // namespace

Functions spectral_operators() { return {{"DFT", discrete_transform}, {"STFT", short_time_transform}}; }

} // namespace rtexec::test
