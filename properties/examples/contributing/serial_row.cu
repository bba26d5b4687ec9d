// A thread per row: its maximum, its sum, its quotients. The header of a kernel's file is its contract (kernels/README.md).
#include "kernels/softmax/parts/whole_row.h"

namespace flashproof::FP_EXECUTOR {

template <Format F>
__global__ void serial_row(SoftmaxArgs a) {
  const int row = static_cast<int>(blockIdx.x);
  const int length = a.row_length ? a.row_length[row] : a.cols;
  const auto x = [&](std::int64_t j) { return load<F>(a.x, row * a.x_row + j * a.x_col); };
  float m = kMinusInf;
  float sum = 0.0F;
  for (std::int64_t j = 0; j < length; ++j) m = max_nan(m, x(j));
  const bool empty = m == kMinusInf;
  for (std::int64_t j = 0; j < length; ++j) sum = __fadd_rn(sum, math_exp(__fsub_rn(x(j), m)));
  for (std::int64_t j = 0; j < a.cols; ++j) {
    const float y = j < length && !empty ? __fdiv_rn(math_exp(__fsub_rn(x(j), m)), sum) : 0.0F;
    store<F>(a.o, static_cast<std::int64_t>(row) * a.cols + j, y);
  }
  store<Format::f32>(a.lse, row, empty ? kMinusInf : __fadd_rn(m, math_log(sum)));
}

void launch_serial_row(const SoftmaxArgs& args, Stream stream) {
  const dim3 grid(static_cast<unsigned>(args.rows));
  dispatch_format(args.format, [&]<Format F>() { launch(serial_row<F>, grid, dim3(1), 0, stream, args); });
}

std::span<const KernelDeclaration> softmax_serial_row() {
  constexpr Arithmetic kArithmetic = {.reduction = Reduction::two_pass,
                                      .exp_error = kDetExpError,
                                      .log_error = kDetLogError,
                                      .lanes = 1,
                                      .warps = 1,
                                      .ending = Ending::divide};
  static const KernelDeclaration declarations[] = {
      declaration("softmax.serial_row.hardened", kArithmetic, launch_serial_row)};
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
