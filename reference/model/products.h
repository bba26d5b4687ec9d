// Sums of products as Products declares them.
#pragma once

#include <cstddef>
#include <vector>

#include "reference/model/machine.h"
#include "reference/problem/formats.h"

namespace flashproof::model {

/// One factor of each product: numbers of a format.
struct Factors {
  const std::vector<float>& values;
  Format format;
};

/// start ⊕ Σ a_k b_k over k = 0 .. size − 1, in order.
float sum_products(const Machine& machine, const Products& products, const Factors& a, const Factors& b, float start);

/// A binary tree over the numbers, neighbours first; an odd one moves up. Uses `values` up.
float tree_of_neighbours(const Machine& machine, std::vector<float>& values);
/// A butterfly: lane t with lane t + size/2, then size/4, ...; size is a power of two. Uses `values` up.
float butterfly(const Machine& machine, std::vector<float>& values);

}  // namespace flashproof::model
