// A map: which problem the entries of a PTX file compute and how they are launched for it, as a person wrote it (README.md, "A verdict").
// Its fields beside id, scratch and launch are those of a description of plugin.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "kernels/ptx/map/expression.h"
#include "kernels/ptx/parse/module.h"
#include "kernels/ptx/run/tensor_map.h"

namespace flashproof::ptx {

/// A tensor map, each from the outermost axis to the innermost, as the tensor has them.
struct MapArgument {
  std::vector<Expression> box;
  std::vector<Expression> shape, strides;  // elements; empty: the tensor's own
  Swizzle swizzle = Swizzle::none;
};

/// A part of an entry's parameters: a pointer, a tensor map, a number, or bytes as they are.
struct Piece {
  enum class Kind : std::uint8_t { tensor, scratch, tensor_map, value, bytes };
  Kind kind = Kind::bytes;
  std::int64_t offset = 0;  // in the parameters of the entry
  std::size_t index = 0;    // of tensor and tensor_map: in tensor_names(); of scratch: in Map::scratch
  Type type;                // of value; kind 'b': an integer, signed or not
  Expression expression;    // of value: itself; of tensor and scratch: elements, or bytes, behind the first
  std::vector<std::byte> bytes;
  MapArgument map;
  std::string place;  // "launch 1: arguments 3", for messages
};

struct MappedLaunch {
  std::string entry;
  std::array<Expression, 3> grid, block;
  Expression shared;  // bytes
  std::vector<Piece> pieces;
  std::string place;  // "launch 1"
};

struct Scratch {
  std::string name;
  Expression bytes;
};

struct Map {
  std::string file;  // as messages name it
  std::string id;
  int problem = 0;  // of plugin.h
  std::string description;
  std::vector<Scratch> scratch;
  std::vector<MappedLaunch> launches;
};

/// Throws UsageError "FILE: launch 1: grid: ... legal: ...". Whether the description is one, describe() says.
Map read_map(const std::string& file, const nlohmann::json& fields, const Module& module);

}  // namespace flashproof::ptx
