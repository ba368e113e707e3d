#include "tasks/engine/cuda/cublas.hpp"

#include "tasks/engine/cuda/shared_library.hpp"

#include <cstdlib>
#include <array>
#include <string>

namespace rtexec::tasks::cuda {
namespace {

using Status = CublasFunctions::Status;

constexpr Status success = 0;
constexpr Status not_supported = 15;
constexpr Status invalid_value = 7;

Result<CublasFunctions> load() {
  static constexpr std::array names{"libcublas.so.13", "libcublas.so.12", "libcublas.so.11", "libcublas.so.10"};
  const auto library = Library::open(
      names,
      "Install cuBLAS 10 to 13 (of the CUDA toolkit) for the GPU's driver, or profile the task set again without it.");
  if (!library) return fail(library.error().code, "cuBLAS: " + library.error().what);
  CublasFunctions f{};
  Result<> found;
  const auto find = [&](auto*& function, const char* name) {
    if (found) found = library->find(function, name);
  };
  find(f.create, "cublasCreate_v2");
  find(f.destroy, "cublasDestroy_v2");
  find(f.version, "cublasGetVersion_v2");
  find(f.set_stream, "cublasSetStream_v2");
  find(f.set_math, "cublasSetMathMode");
  find(f.multiply, "cublasGemmEx");
  if (!found) return Unexpected(found.error());
  if (!library->find(f.set_workspace, "cublasSetWorkspace_v2")) f.set_workspace = nullptr;
  return f;
}

} // namespace

Result<std::unique_ptr<Cublas>> Cublas::open(hal::cuda::Stream stream) {
  static const Result<CublasFunctions> functions = load();
  if (!functions) return Unexpected(functions.error());
  return open(*functions, stream);
}

Result<std::unique_ptr<Cublas>> Cublas::open(const CublasFunctions& functions, hal::cuda::Stream stream) {
  std::unique_ptr<Cublas> cublas(new Cublas(functions));
  // Keeps the workspace small that cuBLAS allocates for itself, which would be 32 MiB on large GPUs. That workspace is
  // not needed, because each product has its own. If the user has set the variable, the user's setting is not
  // overwritten.
  constexpr int keep = 0;
  if (::setenv("CUBLAS_WORKSPACE_CONFIG", ":16:8", keep) != 0)
    return fail(Errc::out_of_memory, "setting CUBLAS_WORKSPACE_CONFIG failed");
  if (auto made = cublas->checked(functions.create(&cublas->handle_), "starting it"); !made)
    return Unexpected(made.error());
  if (auto known = cublas->checked(functions.version(cublas->handle_, &cublas->version_), "asking for its version");
      !known)
    return Unexpected(known.error());
  if (auto set = cublas->checked(functions.set_stream(cublas->handle_, stream), "giving it a stream"); !set)
    return Unexpected(set.error());
  return cublas;
}

Cublas::~Cublas() {
  if (handle_) (void)call_.destroy(handle_);
}

Result<> Cublas::checked(Status status, const char* what) const {
  if (status == success) return {};
  return fail(status == not_supported || status == invalid_value ? Errc::unsupported : Errc::device_fault,
              std::string("cuBLAS: ") + what + " failed with status " + std::to_string(status));
}

Result<> Cublas::multiply(const ConvArguments& product, Precision precision, void* workspace, std::size_t bytes) const {
  using F = CublasFunctions;
  if (call_.set_workspace)
    if (auto set = checked(call_.set_workspace(handle_, workspace, bytes), "giving it a workspace"); !set) return set;
  const bool half = precision == Precision::fp16, old = version_ < 11000;
  if (auto set =
          checked(call_.set_math(handle_, half && old ? F::tensor_math : F::default_math), "choosing its arithmetic");
      !set)
    return set;
  const int type = half ? F::data_half : F::data_float;
  const int compute = old                            ? F::data_float
                      : half                         ? F::compute_float
                      : precision == Precision::tf32 ? F::compute_tf32
                                                     : F::compute_pedantic;
  const int pixels = product.batch * product.out_height * product.out_width;
  constexpr float one = 1, zero = 0;
  // cuBLAS stores matrices column-major. So this call computes y' = weights * x'. Here ' denotes the transpose of a
  // matrix that is row-major in memory.
  return checked(call_.multiply(handle_, F::transposed, F::plain, product.out_channels, pixels, product.channels, &one,
                                product.weights, type, product.channels, product.x, type, product.x_stride, &zero,
                                product.y, type, product.y_stride, compute, F::default_algorithm),
                 "a matrix product");
}

} // namespace rtexec::tasks::cuda
