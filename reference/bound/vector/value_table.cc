#include "reference/bound/vector/value_table.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <new>

#include "reference/bound/vector/kernels.h"

namespace flashproof::bound {

using kernels::kPanel;

ValueTable::ValueTable(const double* values, std::int64_t keys, std::int64_t width)
    : values_(values), keys_(keys), width_(width), storage_(nullptr, std::free) {
  allocate();
  const std::vector<double> scale = find_scales();
  store_scaled(scale);
  find_extremes();
}

std::int64_t ValueTable::groups() const { return (keys_ + kGroupKeys - 1) / kGroupKeys; }

void ValueTable::allocate() {
  panels_ = (width_ + kPanel - 1) / kPanel;
  // One line more per panel: panels a power of two apart would share their cache sets.
  panel_floats_ = (groups() * kGroupKeys + 1) * kPanel;
  const std::int64_t block_floats = panels_ * groups() * kBlocks * kPanel;
  const std::int64_t floats = panels_ * panel_floats_ + 2 * block_floats + 2 * block_floats / kBlocks;
  storage_.reset(
      static_cast<float*>(std::aligned_alloc(64, static_cast<std::size_t>(std::max<std::int64_t>(floats, 16)) * 4)));
  if (!storage_) throw std::bad_alloc();
  v_ = storage_.get();
  lowest_ = v_ + panels_ * panel_floats_;
  highest_ = lowest_ + block_floats;
  group_lowest_ = highest_ + block_floats;
  group_highest_ = group_lowest_ + block_floats / kBlocks;
  std::fill(v_, v_ + floats, 0.0F);
}

std::vector<double> ValueTable::find_scales() {
  unscale_.assign(static_cast<std::size_t>(panels_ * kPanel), 0);
  special_.assign(static_cast<std::size_t>(width_), 0);
  for (std::int64_t j = 0; j < keys_; ++j) {
    bool finite = true;
    for (std::int64_t c = 0; c < width_; ++c) {
      const double x = std::fabs(values_[j * width_ + c]);
      if (std::isfinite(x)) {
        unscale_[c] = std::max(unscale_[c], x);
      } else {
        special_[c] = 1;
        finite = false;
      }
    }
    if (!finite) special_keys_.push_back(j);
  }
  std::vector<double> scale(static_cast<std::size_t>(width_), 0);
  for (std::int64_t c = 0; c < width_; ++c) {
    if (unscale_[c] == 0) continue;
    unscale_[c] = std::ldexp(1, std::ilogb(unscale_[c]));
    scale[c] = 1 / unscale_[c];
  }
  return scale;
}

void ValueTable::store_scaled(const std::vector<double>& scale) {
  inexact_.assign(static_cast<std::size_t>(width_), 0);
  for (std::int64_t j = 0; j < keys_; ++j) {
    for (std::int64_t c = 0; c < width_; ++c) {
      const double x = values_[j * width_ + c];
      const double scaled = std::isfinite(x) ? x * scale[c] : 0;
      const auto narrow = static_cast<float>(scaled);
      v_[c / kPanel * panel_floats_ + j * kPanel + c % kPanel] = narrow;
      if (narrow != scaled) inexact_[c] = 1;
    }
  }
}

void ValueTable::find_extremes() {
  for (std::int64_t panel = 0; panel < panels_; ++panel) {
    for (std::int64_t group = 0; group < keys_ / kGroupKeys; ++group) {  // a last, short one has no blocks
      for (std::int64_t b = 0; b < kBlocks; ++b) {
        const float* const v = v_ + panel * panel_floats_ + (group * kGroupKeys + b) * kPanel;
        const std::int64_t at = ((panel * groups() + group) * kBlocks + b) * kPanel;
        for (std::int64_t c = 0; c < kPanel; ++c) {
          float low = v[c], high = v[c];
          for (std::int64_t i = 1; i < kGroupKeys / kBlocks; ++i) {
            low = std::min(low, v[i * kBlocks * kPanel + c]);
            high = std::max(high, v[i * kBlocks * kPanel + c]);
          }
          lowest_[at + c] = low;
          highest_[at + c] = high;
          const std::int64_t group_at = (panel * groups() + group) * kPanel + c;
          group_lowest_[group_at] = b == 0 ? low : std::min(group_lowest_[group_at], low);
          group_highest_[group_at] = b == 0 ? high : std::max(group_highest_[group_at], high);
        }
      }
    }
  }
}

}  // namespace flashproof::bound
