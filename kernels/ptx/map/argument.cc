#include "kernels/ptx/map/argument.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "reference/system/error.h"
#include "reference/system/near_matches.h"
#include "reference/system/text.h"

namespace flashproof::ptx {
namespace {

using Json = nlohmann::json;

constexpr const char* kLegal =
    "legal: a tensor, scratch memory, a number, an expression, { TENSOR = elements behind its first }, { TYPE = "
    "expression }, { hex = bytes }, { tensor_map = TENSOR, box = [...] } or an array of them, a structure";

/// Of { TYPE = ... }.
Type scalar_type(const std::string& name) {
  const std::optional<Type> type = type_of(name);
  const bool whole = type && (type->kind == 's' || type->kind == 'u') && type->bits >= 8 && type->bits <= 64;
  const bool real = type && type->kind == 'f' && type->bits >= 32;
  if (!whole && !real)
    throw UsageError(
        fmt::format("type {}: legal: s8 .. s64, u8 .. u64, f32, f64, hex, or what can be pointed to", quote(name)));
  return *type;
}

std::vector<std::byte> bytes_of(const Json& given) {
  const std::string text = given.is_string() ? given.get<std::string>() : "";
  if (text.empty() || text.size() % 2 != 0 || text.size() > 2 * static_cast<std::size_t>(kMaxParameterBytes)) {
    throw UsageError("hex: legal: two digits of each byte, in one text");
  }
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    std::uint8_t value = 0;
    const auto [end, error] = std::from_chars(text.data() + i, text.data() + i + 2, value, 16);
    if (error != std::errc{} || end != text.data() + i + 2) throw UsageError("hex: legal: digits 0..9 and a..f");
    bytes.push_back(static_cast<std::byte>(value));
  }
  return bytes;
}

std::vector<Expression> list_of(const Json& table, const char* key, int problem) {
  const auto given = table.find(key);
  if (given == table.end()) return {};
  if (!given->is_array() || given->empty() || given->size() > kMostAxes)
    throw UsageError(fmt::format("{}: legal: an array of 1 to {} numbers or expressions", key, kMostAxes));
  std::vector<Expression> list;
  for (const Json& one : *given) list.push_back(expression_of(one, problem));
  return list;
}

Piece tensor_map(const Json& given, const Map& map) {
  static constexpr std::string_view kKeys[] = {"tensor_map", "box", "shape", "strides", "swizzle"};
  for (const auto& [key, value] : given.items()) {
    if (std::ranges::find(kKeys, key) == std::end(kKeys))
      throw UsageError(
          fmt::format("unknown key {}{}; legal: {}", quote(key), did_you_mean(key, kKeys), fmt::join(kKeys, ", ")));
  }
  const std::string name = given.at("tensor_map").is_string() ? given.at("tensor_map").get<std::string>() : "";
  const auto tensors = tensor_names(map.problem);
  const auto found = std::ranges::find(tensors, name, &TensorName::name);
  if (found == tensors.end()) throw UsageError("tensor_map: legal: the name of a tensor, in quotes");
  Piece piece;
  piece.kind = Piece::Kind::tensor_map;
  piece.index = static_cast<std::size_t>(found - tensors.begin());
  piece.map = {list_of(given, "box", map.problem), list_of(given, "shape", map.problem),
               list_of(given, "strides", map.problem), Swizzle::none};
  if (piece.map.box.empty() || piece.map.shape.size() != piece.map.strides.size() ||
      (!piece.map.shape.empty() && piece.map.shape.size() != piece.map.box.size())) {
    throw UsageError(
        "tensor_map: box: legal: the elements of each axis, the outermost first; shape and strides: as many, or "
        "neither");
  }
  const auto swizzle = given.find("swizzle");
  if (swizzle == given.end()) return piece;
  for (const Swizzle legal : {Swizzle::none, Swizzle::bytes_32, Swizzle::bytes_64, Swizzle::bytes_128}) {
    piece.map.swizzle = legal;
    if (*swizzle == (legal == Swizzle::none ? 0 : 16 << static_cast<int>(legal))) return piece;
  }
  throw UsageError("swizzle: legal: 0, 32, 64 or 128, in bytes");
}

/// A name alone, known or not: no number and no expression.
bool is_word(std::string_view text) {
  const auto in_word = [](char c) { return is_letter(c) || is_digit(c); };
  return !text.empty() && !is_digit(text[0]) && std::ranges::all_of(text, in_word);
}

/// A pointer, if the text is the name of what can be pointed to: to the first element.
std::optional<Piece> pointer(const std::string& text, const Map& map) {
  Piece piece;
  piece.expression = Expression(std::int64_t{0});
  const auto tensors = tensor_names(map.problem);
  if (const auto found = std::ranges::find(tensors, text, &TensorName::name); found != tensors.end()) {
    piece.kind = Piece::Kind::tensor;
    piece.index = static_cast<std::size_t>(found - tensors.begin());
    return piece;
  }
  if (const auto found = std::ranges::find(map.scratch, text, &Scratch::name); found != map.scratch.end()) {
    piece.kind = Piece::Kind::scratch;
    piece.index = static_cast<std::size_t>(found - map.scratch.begin());
    return piece;
  }
  return std::nullopt;
}

/// Throws UsageError for a name alone that is none.
void refuse_unknown(const std::string& text, const Map& map) {
  const auto values = value_names(map.problem);
  if (!is_word(text) || std::ranges::find(values, text, &ValueName::name) != values.end()) return;
  std::vector<std::string_view> legal = all_names(map.problem);
  for (const Scratch& scratch : map.scratch) legal.emplace_back(scratch.name);
  throw UsageError(
      fmt::format("unknown name {}{}; legal: {}", quote(text), did_you_mean(text, legal), fmt::join(legal, ", ")));
}

std::int64_t bytes_of(const Piece& piece) {
  if (piece.kind == Piece::Kind::bytes) return static_cast<std::int64_t>(piece.bytes.size());
  if (piece.kind == Piece::Kind::tensor_map) return sizeof(TensorMap);
  return piece.kind == Piece::Kind::value ? piece.type.bytes() : 8;
}

/// One of { TYPE = ... }, { NAME = ... } and { hex = ... }, a name of a pointer, or, where `own` says of what type, a number.
Piece piece_of(const Json& given, const std::optional<Type>& own, const Map& map) {
  Piece piece;
  if (given.is_object() && given.contains("tensor_map")) return tensor_map(given, map);
  if (given.is_object() && given.size() == 1) {
    const std::string& key = given.begin().key();
    if (key == "hex") {
      piece.bytes = bytes_of(*given.begin());
      return piece;
    }
    if (const auto found = pointer(key, map)) {
      piece = *found;
    } else {
      piece.kind = Piece::Kind::value;
      piece.type = scalar_type(key);
    }
    piece.expression = expression_of(*given.begin(), map.problem);
    return piece;
  }
  if (given.is_string()) {
    if (const auto found = pointer(given.get<std::string>(), map)) return *found;
    refuse_unknown(given.get<std::string>(), map);
  }
  if (!given.is_string() && !given.is_number()) throw UsageError(kLegal);
  if (!own) throw UsageError("a number of no type: legal: { TYPE = expression }, as { s32 = 3 }");
  piece.kind = Piece::Kind::value;
  piece.type = *own;
  piece.expression = expression_of(given, map.problem);
  return piece;
}

/// The type of a number for the parameter: of an integer it says no sign; of bits no more than how many.
std::optional<Type> own_type(const Variable& parameter) {
  if (parameter.count != 1 || parameter.type.kind == 'b' || parameter.type.kind == 'p') return std::nullopt;
  return parameter.type.kind == 'f' ? parameter.type : Type{'b', parameter.type.bits};
}

}  // namespace

Expression expression_of(const Json& given, int problem) {
  if (given.is_string()) return {given.get<std::string>(), problem};
  if (given.is_number_unsigned() && given.get<std::uint64_t>() > INT64_MAX)
    throw UsageError("a number: legal: at most 63 bits");
  if (given.is_number_integer()) return Expression(given.get<std::int64_t>());
  if (given.is_number_float()) return Expression(given.get<double>());
  throw UsageError("legal: a number, or an expression in quotes");
}

std::vector<Piece> pieces_of(const Json& given, const Variable& parameter, const Map& map) {
  std::vector<Piece> pieces;
  std::int64_t end = 0, widest = 1;
  if (given.is_array()) {
    for (const Json& member : given) {
      Piece piece = piece_of(member, std::nullopt, map);
      const std::int64_t bytes = bytes_of(piece), align = piece.kind == Piece::Kind::bytes ? 1
                                                          : piece.kind == Piece::Kind::tensor_map
                                                              ? std::int64_t{kMapAlign}
                                                              : bytes;
      widest = std::max(widest, align);
      piece.offset = (end + align - 1) / align * align;
      end = piece.offset + bytes;
      pieces.push_back(std::move(piece));
    }
    end = (end + widest - 1) / widest * widest;
  } else {
    pieces.push_back(piece_of(given, own_type(parameter), map));
    end = bytes_of(pieces[0]);
  }
  if (end != parameter.bytes()) {
    throw UsageError(fmt::format("{} bytes, legal: {}, as the parameter has", end, parameter.bytes()));
  }
  for (Piece& piece : pieces) piece.offset += parameter.offset;
  return pieces;
}

}  // namespace flashproof::ptx
