#include "fuzz/input/codec.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "properties/generators/family.h"
#include "properties/generators/keys.h"
#include "reference/system/error.h"

namespace flashproof {
namespace {

constexpr std::size_t kMutationBytes = 8;
constexpr std::int32_t kDOutBit = 1 << 15;  // in the two bytes of a gradient's column: kChangesDOut

/// A key and what its byte may say: value 1 + i is values[i], 0 leaves the key out.
struct Knob {
  std::string_view key;
  std::vector<std::string> values;
};

constexpr std::int64_t kExtents[] = {0,   1,   2,   3,   4,   5,   6,   7,    8,    9,    10,  11,  12,
                                     13,  14,  15,  16,  17,  18,  20,  23,   24,   31,   32,  33,  40,
                                     47,  48,  49,  63,  64,  65,  66,  96,   97,   127,  128, 129, 192,
                                     255, 256, 257, 384, 511, 512, 513, 1000, 1023, 1024, 1025};

struct Cap {
  std::string_view key;
  std::int64_t most;
};
constexpr Cap kCaps[] = {{"rows", 16}, {"cols", 1025}, {"chunk", 257}, {"n", 33},   {"dv", 65}, {"b", 3},
                         {"hq", 8},    {"hk", 4},      {"sq", 33},     {"sk", 257}, {"d", 128}, {"causal", 1}};
constexpr std::string_view kScales[] = {"1", "0.125", "0.25", "0.5", "2", "0.0625", "0.3", "-1", "0", "100"};
constexpr int kPermutations = 24;  // of four chunks

std::vector<std::string> values_of(const KeyInfo& key) {
  std::vector<std::string> values;
  switch (key.kind) {
    case KeyInfo::Kind::integer:
      for (const std::int64_t extent : kExtents) {
        const auto* cap = std::ranges::find(kCaps, key.name, &Cap::key);
        if (extent >= key.lo && extent <= std::min(key.hi, cap == std::end(kCaps) ? key.hi : cap->most)) {
          values.push_back(std::to_string(extent));
        }
      }
      return values;
    case KeyInfo::Kind::number:
      values.assign(std::begin(kScales), std::end(kScales));
      return values;
    case KeyInfo::Kind::choice:
    case KeyInfo::Kind::choice_or_index:
      values.assign(key.choices.begin(), key.choices.end());
      for (int i = 0; key.kind == KeyInfo::Kind::choice_or_index && i < kPermutations; ++i) {
        values.push_back(std::to_string(i));
      }
  }
  return values;
}

/// In the order of keys_of(), then that of gradients alone.
const std::vector<Knob>& knobs(ProblemKind problem) {
  static const std::array<std::vector<Knob>, std::size(kProblemKinds)> all = [] {
    std::array<std::vector<Knob>, std::size(kProblemKinds)> made;
    for (const ProblemKind kind : kProblemKinds) {
      for (const KeyInfo& key : keys_of(kind))
        made[static_cast<std::size_t>(kind)].push_back({key.name, values_of(key)});
    }
    made[static_cast<std::size_t>(ProblemKind::backward)].push_back({"mode", {"stage", "gradient"}});
    return made;
  }();
  return all[static_cast<std::size_t>(problem)];
}

const std::vector<std::string_view>& families_of(ProblemKind problem) {
  static const std::array<std::vector<std::string_view>, std::size(kProblemKinds)> all = [] {
    std::array<std::vector<std::string_view>, std::size(kProblemKinds)> made;
    for (const ProblemKind kind : kProblemKinds) {
      for (const Family& family : families()) {
        if (family.serves(kind)) made[static_cast<std::size_t>(kind)].push_back(family.name);
      }
    }
    return made;
  }();
  return all[static_cast<std::size_t>(problem)];
}

/// Reads what is there, then zeros.
class Reader {
 public:
  explicit Reader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  std::size_t left() const { return bytes_.size(); }
  std::uint8_t byte() {
    if (bytes_.empty()) return 0;
    const std::uint8_t value = bytes_.front();
    bytes_ = bytes_.subspan(1);
    return value;
  }
  std::uint64_t number(int size) {
    std::uint64_t value = 0;
    for (int i = 0; i < size; ++i) value |= std::uint64_t{byte()} << (8 * i);
    return value;
  }
  std::vector<std::uint8_t> schedule() {
    std::vector<std::uint8_t> bytes(byte() % (kMostScheduleBytes + 1));
    for (std::uint8_t& b : bytes) b = byte();
    return bytes;
  }
  std::span<const std::uint8_t> rest() const { return bytes_; }

 private:
  std::span<const std::uint8_t> bytes_;
};

void put(std::vector<std::uint8_t>& out, std::uint64_t value, int size) {
  for (int i = 0; i < size; ++i) out.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
}

void put_schedule(std::vector<std::uint8_t>& out, const std::vector<std::uint8_t>& schedule) {
  out.push_back(static_cast<std::uint8_t>(schedule.size()));
  out.insert(out.end(), schedule.begin(), schedule.end());
}

}  // namespace

simt::Schedule FuzzInput::order() const {
  if (schedule.empty()) return {};
  return {.policy = simt::Policy::bytes, .bytes = schedule, .lazy_copies = (schedule.front() & 1) != 0};
}

FuzzInput decode_input(ProblemKind problem, std::span<const std::uint8_t> bytes) {
  Reader in(bytes);
  FuzzInput input;
  const std::uint8_t first = in.byte();
  if (first == kDataTag) {
    input.kernel = std::min<std::uint8_t>(in.byte(), kDataTag - 1);
    input.law = in.byte();
    input.schedule = in.schedule();
    const auto rest = std::as_bytes(in.rest());
    input.witness.assign(rest.begin(), rest.end());
    if (input.is_data()) return input;
  } else {
    input.kernel = first;
    input.law = in.byte();
  }
  CaseSpec& spec = input.origin.spec;
  spec.problem = problem;
  const auto& names = families_of(problem);
  spec.family = names[in.byte() % names.size()];
  spec.seed = in.number(8);
  for (const Knob& knob : knobs(problem)) {
    const std::uint8_t value = in.byte();
    if (value > 0) spec.keys[std::string(knob.key)] = knob.values[(value - 1U) % knob.values.size()];
  }
  if (first != kDataTag) input.schedule = in.schedule();
  while (in.left() >= kMutationBytes && input.origin.mutations.size() < kMostMutations) {
    Mutation& m = input.origin.mutations.emplace_back();
    m.seed = static_cast<std::uint32_t>(in.number(4));
    m.row = static_cast<std::int32_t>(in.number(2));
    m.column = static_cast<std::int32_t>(in.number(2));
    if (problem == ProblemKind::backward && (m.column & kDOutBit) != 0) m.column += kChangesDOut - kDOutBit;
  }
  return input;
}

std::optional<std::vector<std::uint8_t>> encode_input(const FuzzInput& input) {
  if (input.schedule.size() > kMostScheduleBytes || input.kernel >= kDataTag) return std::nullopt;
  std::vector<std::uint8_t> out;
  if (input.is_data()) {
    out = {kDataTag, input.kernel, input.law};
    put_schedule(out, input.schedule);
    for (const std::byte b : input.witness) out.push_back(static_cast<std::uint8_t>(b));
    return out.size() <= kLongestInput ? std::optional(out) : std::nullopt;
  }
  const CaseSpec& spec = input.origin.spec;
  const auto& names = families_of(spec.problem);
  const auto family = std::ranges::find(names, std::string_view(spec.family));
  if (family == names.end()) return std::nullopt;
  out = {input.kernel, input.law, static_cast<std::uint8_t>(family - names.begin())};
  put(out, spec.seed, 8);
  std::size_t known = 0;
  for (const Knob& knob : knobs(spec.problem)) {
    const auto key = spec.keys.find(std::string(knob.key));
    if (key == spec.keys.end()) {
      out.push_back(0);
      continue;
    }
    const auto value = std::ranges::find(knob.values, key->second);
    if (value == knob.values.end()) return std::nullopt;
    out.push_back(static_cast<std::uint8_t>(1 + (value - knob.values.begin())));
    ++known;
  }
  if (known != spec.keys.size() || input.origin.mutations.size() > kMostMutations) return std::nullopt;
  put_schedule(out, input.schedule);
  for (const Mutation& m : input.origin.mutations) {
    constexpr std::int32_t kMost = 0xffff;
    const bool of_d_out = spec.problem == ProblemKind::backward && m.column >= kDOutBit;
    const std::int32_t column = of_d_out ? m.column - kChangesDOut + kDOutBit : m.column;
    if (m.row < 0 || m.row > kMost || column < 0 || column > kMost) return std::nullopt;
    put(out, m.seed, 4);
    put(out, static_cast<std::uint64_t>(m.row), 2);
    put(out, static_cast<std::uint64_t>(column), 2);
  }
  return out;
}

std::optional<std::vector<std::uint8_t>> data_input(const std::vector<std::byte>& witness) {
  FuzzInput input;
  input.witness = witness;
  return witness.empty() ? std::nullopt : encode_input(input);
}

Case case_of(ProblemKind problem, const FuzzInput& input) {
  if (!input.is_data()) return {input.origin.spec, input.origin.make()};
  Case c = parse_witness(input.witness, "input").content;
  if (kind_of(c.problem) != problem) throw UsageError("input: a witness of " + std::string(name(kind_of(c.problem))));
  return c;
}

std::optional<FuzzInput> changed(ProblemKind problem, const FuzzInput& input, const Mutation& mutation) {
  FuzzInput result = input;
  if (input.is_data()) {
    if (problem == ProblemKind::backward) return std::nullopt;
    Case c = case_of(problem, input);
    mutate(c.problem, mutation);
    result.witness = format_witness({std::move(c), {}});
  } else {
    result.origin.mutations.push_back(mutation);
  }
  return encode_input(result) ? std::optional(std::move(result)) : std::nullopt;
}

std::uint8_t kernel_byte(std::span<const std::uint8_t> bytes) {
  const std::size_t at = !bytes.empty() && bytes[0] == kDataTag ? 1 : 0;
  return bytes.size() > at ? std::min<std::uint8_t>(bytes[at], kDataTag - 1) : 0;
}

std::uint64_t tables_fingerprint() {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  const auto add = [&](std::string_view word) {
    for (const char c : word) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    hash = (hash ^ 0xff) * 0x100000001b3;
  };
  add("d_out");  // bit 15 of a gradient's column
  for (const ProblemKind problem : kProblemKinds) {
    for (const std::string_view family : families_of(problem)) add(family);
    for (const Knob& knob : knobs(problem)) {
      add(knob.key);
      for (const std::string& value : knob.values) add(value);
    }
  }
  return hash;
}

std::string describe(const FuzzInput& input) {
  std::string text =
      input.is_data() ? fmt::format("data of {} bytes", input.witness.size()) : to_string(input.origin.spec);
  if (!input.origin.mutations.empty()) text += fmt::format(" + {} mutations", input.origin.mutations.size());
  if (!input.schedule.empty()) text += " schedule " + to_string(input.order());
  return text;
}

std::optional<std::size_t> chosen_law(std::uint8_t law, std::size_t count) {
  if (law < kNoLaw || count == 0) return std::nullopt;
  return (law - static_cast<std::size_t>(kNoLaw)) % count;
}

std::uint8_t law_byte(std::size_t index) { return static_cast<std::uint8_t>(kNoLaw + index); }

}  // namespace flashproof
