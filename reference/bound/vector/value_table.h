// The values v of one head in the order in which vector code reads them, to be made once for all of its rows.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace flashproof::bound {

inline constexpr std::int64_t kGroupKeys =
    64;                                     // keys that share eight blocks: block b has the keys b, b + 8, ..., b + 56
inline constexpr std::int64_t kBlocks = 8;  // of a group

class ValueTable {
 public:
  /// `values`, (keys, width) row-major, may hold NaN and inf, and must live as long as this.
  ValueTable(const double* values, std::int64_t keys, std::int64_t width);

  const double* values() const { return values_; }
  std::int64_t keys() const { return keys_; }
  std::int64_t width() const { return width_; }

 private:
  friend class ColumnPass;

  std::int64_t groups() const;
  void allocate();
  std::vector<double> find_scales();  // by column, 0 of zeros; fills unscale_ and special_
  void store_scaled(const std::vector<double>& scale);
  void find_extremes();

  const double* values_;
  std::int64_t keys_, width_;
  std::int64_t panels_ = 0;        // of 16 columns
  std::int64_t panel_floats_ = 0;  // from one to the next in v_
  std::unique_ptr<float, void (*)(void*)> storage_;
  float* v_ = nullptr;       // [panels][keys][16], each column divided by its power of two; NaN and inf are 0
  float* lowest_ = nullptr;  // [panels][groups][8][16] of the block
  float* highest_ = nullptr;
  float* group_lowest_ = nullptr;  // [panels][groups][16]
  float* group_highest_ = nullptr;
  std::vector<double> unscale_;             // by column: that power of two, 0 for a column of zeros
  std::vector<std::uint8_t> special_;       // by column: some value is NaN or inf
  std::vector<std::uint8_t> inexact_;       // by column: some value is no f32 beside its power of two
  std::vector<std::int64_t> special_keys_;  // ascending
};

}  // namespace flashproof::bound
