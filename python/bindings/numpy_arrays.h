// Numbers of C++ as NumPy arrays.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <utility>
#include <vector>

#include "reference/bound/bound.h"
#include "reference/oracle/truth.h"

namespace flashproof::python {

/// Takes the values along; row-major.
template <class T>
nanobind::object array(std::vector<T> values, std::vector<std::size_t> shape) {
  values.reserve(1);
  auto* kept = new std::vector<T>(std::move(values));
  const nanobind::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nanobind::cast(nanobind::ndarray<nanobind::numpy, T>(kept->data(), shape.size(), shape.data(), owner));
}

/// One number of every element.
template <class List, class Member>
auto column(const List& list, Member member) {
  std::vector<decltype(member(list[0]))> values;
  values.reserve(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) values.push_back(member(list[i]));
  return values;
}

inline nanobind::dict balls(const Balls& list, const std::vector<std::size_t>& shape) {
  nanobind::dict dict;
  dict["value"] = array(column(list, [](const Ball& b) { return b.hi; }), shape);
  dict["low"] = array(column(list, [](const Ball& b) { return b.lo; }), shape);
  dict["radius"] = array(column(list, [](const Ball& b) { return b.radius; }), shape);
  dict["classes"] = array(column(list, [](const Ball& b) { return b.classes; }), shape);
  return dict;
}

inline nanobind::dict terms(const std::vector<ElementBound>& list, const std::vector<std::size_t>& shape) {
  nanobind::dict dict;
  dict["weights"] = array(column(list, [](const ElementBound& b) { return b.weights; }), shape);
  dict["numerator"] = array(column(list, [](const ElementBound& b) { return b.numerator; }), shape);
  dict["denominator"] = array(column(list, [](const ElementBound& b) { return b.denominator; }), shape);
  dict["output"] = array(column(list, [](const ElementBound& b) { return b.output; }), shape);
  dict["probable"] = array(column(list, [](const ElementBound& b) { return b.probable; }), shape);
  return dict;
}

}  // namespace flashproof::python
