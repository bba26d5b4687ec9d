#include "reference/model/products.h"

#include <algorithm>

#include "reference/model/block_fma.h"

namespace flashproof::model {

namespace {

float fma_chains(const Machine& machine, int chains, const std::vector<float>& a, const std::vector<float>& b,
                 float start) {
  std::vector<float> sums(static_cast<std::size_t>(chains), 0.0F);
  sums[0] = start;
  for (std::size_t k = 0; k < a.size(); ++k) {
    float& sum = sums[k % sums.size()];
    sum = machine.fma(a[k], b[k], sum);
  }
  return tree_of_neighbours(machine, sums);
}

float matrix_unit(const Machine& machine, const Products& products, const Factors& a, const Factors& b, float start) {
  const BlockFma& unit = products.unit;
  const auto size = static_cast<int>(a.values.size());
  const int promote = products.promote;
  float sum = start;                       // f32, where products are promoted
  float inside = promote > 0 ? 0 : start;  // the unit's own accumulator
  for (int k = 0; k < size;) {
    const int segment_end = promote > 0 ? std::min(size, (k / promote + 1) * promote) : size;
    const int n = std::min(unit.k, segment_end - k);
    inside = block_fma(unit, {a.format, b.format}, inside, a.values.data() + k, b.values.data() + k, n);
    k += n;
    if (promote > 0 && k == segment_end) {
      sum = machine.add(sum, inside);
      inside = 0;
    }
  }
  return promote > 0 ? sum : inside;
}

std::vector<float> cut(const std::vector<float>& values) {
  std::vector<float> result(values.size());
  std::ranges::transform(values, result.begin(), cut_to_tf32);
  return result;
}

}  // namespace

float tree_of_neighbours(const Machine& machine, std::vector<float>& values) {
  while (values.size() > 1) {
    const std::size_t half = values.size() / 2;
    for (std::size_t i = 0; i < half; ++i) values[i] = machine.add(values[2 * i], values[2 * i + 1]);
    if (values.size() % 2 != 0) values[half] = values.back();
    values.resize((values.size() + 1) / 2);
  }
  return values[0];
}

float butterfly(const Machine& machine, std::vector<float>& values) {
  while (values.size() > 1) {
    const std::size_t half = values.size() / 2;
    for (std::size_t i = 0; i < half; ++i) values[i] = machine.add(values[i], values[i + half]);
    values.resize(half);
  }
  return values[0];
}

float sum_products(const Machine& machine, const Products& products, const Factors& a, const Factors& b, float start) {
  if (products.tf32_inputs) {
    const std::vector<float> a_cut = cut(a.values);
    const std::vector<float> b_cut = cut(b.values);
    if (products.unit.k > 0) return matrix_unit(machine, products, {a_cut, a.format}, {b_cut, b.format}, start);
    return fma_chains(machine, products.chains, a_cut, b_cut, start);
  }
  if (products.unit.k > 0) return matrix_unit(machine, products, a, b, start);
  return fma_chains(machine, products.chains, a.values, b.values, start);
}

}  // namespace flashproof::model
