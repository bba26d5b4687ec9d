#include "reference/bound/row/sums.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <new>

#include "reference/bound/vector/kernels.h"

namespace flashproof::bound {

namespace {

constexpr std::int64_t kBlock = 32;  // query rows that share one pass over the keys
constexpr float kLeast = 0x1p-100F;  // of a scaled size: below it f32 may have lost too much to underflow

std::int64_t round_up(std::int64_t n, std::int64_t step) { return (n + step - 1) / step * step; }

/// Not initialised.
std::unique_ptr<double, void (*)(void*)> aligned(std::int64_t doubles) {
  auto* const data = static_cast<double*>(
      std::aligned_alloc(64, static_cast<std::size_t>(round_up(std::max<std::int64_t>(doubles, 8), 8)) * 8));
  if (data == nullptr) throw std::bad_alloc();
  return {data, std::free};
}

/// The power of two 2^e <= max |x| < 2^(e + 1); 0 for zeros, NaN if one is not finite.
double scale_of(const double* x, std::int64_t n) {
  double largest = 0;
  for (std::int64_t c = 0; c < n; ++c) {
    if (!std::isfinite(x[c])) return std::numeric_limits<double>::quiet_NaN();
    largest = std::max(largest, std::fabs(x[c]));
  }
  return largest == 0 ? 0 : std::ldexp(1, std::ilogb(largest));
}

void one_dot(const double* q, const double* k, std::int64_t n, double& dot, double& size) {
  dot = size = 0;
  for (std::int64_t c = 0; c < n; ++c) {
    const double product = q[c] * k[c];
    dot += product;
    size += std::fabs(product);
  }
  size *= 1 + static_cast<double>(n + 2) * 0x1p-53;
}

}  // namespace

KeyTable::KeyTable(const Matrix& k) : k_(k), panels_(nullptr, std::free), unscale_(static_cast<std::size_t>(k.rows)) {
  const std::int64_t panels = round_up(k.rows, 2 * kernels::kPanel) / kernels::kPanel;
  panels_ = aligned(panels * kernels::kPanel * k.cols * 3 / 2);
  std::fill(panels_.get(), panels_.get() + panels * kernels::kPanel * k.cols * 3 / 2, 0.0);
  double* const dense = panels_.get();
  auto* const sizes = reinterpret_cast<float*>(dense + panels * kernels::kPanel * k.cols);
  sizes_ = sizes;
  for (std::int64_t j = 0; j < k.rows; ++j) {
    const double* const row = k.data + j * k.cols;
    const double unscale = unscale_[j] = scale_of(row, k.cols);
    if (!(unscale > 0)) continue;  // the panels keep zeros
    const std::int64_t at = j / kernels::kPanel * kernels::kPanel * k.cols + j % kernels::kPanel;
    for (std::int64_t c = 0; c < k.cols; ++c) {
      dense[at + c * kernels::kPanel] = row[c];
      sizes[at + c * kernels::kPanel] = static_cast<float>(std::fabs(row[c]) / unscale);
    }
  }
}

// f32: factors of at most 2, rounded once each (they may have 26 bits), cols <= 2^16 of them in a chain of FMAs. All of
// this is below (cols + 8) 2^-23 of the sum; underflow loses 2^-147 per term, nothing beside kLeast.
void dots(const Matrix& q, const KeyTable& k, double* dot, double* size) {
  const std::int64_t n = k.k_.rows, d = k.k_.cols;
  if (!kernels::supported()) {
    for (std::int64_t r = 0; r < q.rows; ++r) {
      for (std::int64_t j = 0; j < n; ++j) {
        one_dot(q.data + r * d, k.k_.data + j * d, d, dot[r * n + j], size[r * n + j]);
      }
    }
    return;
  }
  const std::int64_t pitch = round_up(n, 2 * kernels::kPanel) + kernels::kPanel;
  const std::int64_t block = std::min(kBlock, round_up(q.rows, 8));
  const auto storage = aligned(block * (d + d / 2 + 1 + pitch + pitch / 2));
  double* const q_rows = storage.get();
  double* const raw_dots = q_rows + block * d;
  auto* const raw_sizes = reinterpret_cast<float*>(raw_dots + block * pitch);
  float* const q_sizes = raw_sizes + block * pitch;
  const double inflation = 1 + static_cast<double>(d + 8) * 0x1p-23;
  for (std::int64_t first = 0; first < q.rows; first += block) {
    const std::int64_t count = std::min(block, q.rows - first);
    double unscale[kBlock] = {};
    std::fill(q_rows, q_rows + block * d, 0.0);
    std::fill(q_sizes, q_sizes + block * d, 0.0F);
    for (std::int64_t r = 0; r < count; ++r) {
      const double* const row = q.data + (first + r) * d;
      unscale[r] = scale_of(row, d);
      if (!(unscale[r] > 0)) continue;
      for (std::int64_t c = 0; c < d; ++c) {
        q_rows[r * d + c] = row[c];
        q_sizes[r * d + c] = static_cast<float>(std::fabs(row[c]) / unscale[r]);
      }
    }
    kernels::products(q_rows, q_sizes, round_up(count, 8), k.panels_.get(), k.sizes_, n, d, raw_dots, raw_sizes, pitch);
    for (std::int64_t r = 0; r < count; ++r) {
      double* const to_dot = dot + (first + r) * n;
      double* const to_size = size + (first + r) * n;
      const float* const scaled = raw_sizes + r * pitch;
      const double factor = unscale[r] * inflation;
      std::copy(raw_dots + r * pitch, raw_dots + r * pitch + n, to_dot);
      int doubtful = unscale[r] > 0 ? 0 : 1;
      for (std::int64_t j = 0; j < n; ++j) {
        to_size[j] = static_cast<double>(scaled[j]) * (factor * k.unscale_[j]);
        doubtful |= scaled[j] < kLeast ? 1 : 0;  // a key of zeros, or not finite, has a 0 here
      }
      for (std::int64_t j = 0; doubtful != 0 && j < n; ++j) {
        const double scale = unscale[r] * k.unscale_[j];
        if (scale == 0) {
          to_dot[j] = to_size[j] = 0;         // one of them is all zeros, and the other finite
        } else if (!(scaled[j] >= kLeast)) {  // or one is not finite: its panels hold zeros
          one_dot(q.data + (first + r) * d, k.k_.data + j * d, d, to_dot[j], to_size[j]);
        }
      }
    }
  }
}

void dots(const Matrix& q, const Matrix& k, double* dot, double* size) {
  if (q.rows > 2 && kernels::supported()) {
    dots(q, KeyTable(k), dot, size);
    return;
  }
  for (std::int64_t r = 0; r < q.rows; ++r) {
    for (std::int64_t j = 0; j < k.rows; ++j) {
      one_dot(q.data + r * q.cols, k.data + j * k.cols, q.cols, dot[r * k.rows + j], size[r * k.rows + j]);
    }
  }
}

}  // namespace flashproof::bound
