#include "python/bindings/ptx.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels/ptx/cuda/source.h"
#include "kernels/ptx/parse/parser.h"
#include "kernels/ptx/run/program.h"
#include "kernels/ptx/run/tensor_map.h"
#include "python/bindings/values.h"
#include "reference/system/error.h"

namespace flashproof::python {
namespace {

/// Its variables are those of every program of it: an entry reads what another one wrote.
struct Loaded {
  ptx::Module module;
  std::shared_ptr<ptx::ModuleVariables> variables;
};

template <class Kept>
class Numbered {
 public:
  std::int64_t keep(Kept kept) {
    list_.try_emplace(++last_, std::move(kept));
    return last_;
  }
  Kept& at(const Json& request, const char* what) {
    const auto found = list_.find(value<std::int64_t>(request, what));
    if (found == list_.end()) throw UsageError(fmt::format("{}: there is none of this number", what));
    return found->second;
  }
  void drop(const Json& request, const char* what) { list_.erase(value<std::int64_t>(request, what)); }

 private:
  std::map<std::int64_t, Kept> list_;
  std::int64_t last_ = 0;
};

// Never destroyed: Python may drop what it has when this library's other statics are gone.
Numbered<Loaded>& modules() {
  static auto& list = *new Numbered<Loaded>;
  return list;
}
Numbered<ptx::Program>& programs() {
  static auto& list = *new Numbered<ptx::Program>;
  return list;
}

std::string hex_of(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte one : bytes) text += fmt::format("{:02x}", std::to_integer<int>(one));
  return text;
}

ptx::Dim dim(const Json& request, const char* what) {
  const auto sizes = value<std::vector<std::uint32_t>>(request, what);
  if (sizes.size() != 3) throw UsageError(fmt::format("{}: legal three sizes", what));
  return {sizes[0], sizes[1], sizes[2]};
}

void* pointer(std::uint64_t address) { return reinterpret_cast<void*>(address); }

}  // namespace

void ptx_module(const Json& request, const Python& python) {
  ptx::Module module = request.contains("file")
                           ? ptx::read_module(value<std::string>(request, "file"))
                           : ptx::parse(value<std::string>(request, "name"), value<std::string>(request, "text"));
  module.file = std::filesystem::path(module.file).filename().string();  // findings are short
  Json entries = Json::array();
  for (const ptx::Entry& entry : module.entries) {
    if (!entry.is_function) entries.push_back(entry.name);
  }
  auto variables = std::make_shared<ptx::ModuleVariables>(module);
  const std::string target = module.target;
  python.answer({{"module", modules().keep({std::move(module), std::move(variables)})},
                 {"entries", std::move(entries)},
                 {"target", target}});
}

void ptx_program(const Json& request, const Python& python) {
  const Loaded& loaded = modules().at(request, "module");
  ptx::Program program(loaded.module, value<std::string>(request, "entry"), {}, loaded.variables);
  const ptx::Entry& entry = program.entry();
  Json parameters = Json::array();
  for (const ptx::Variable& one : entry.parameters) {
    parameters.push_back({{"name", one.name},
                          {"kind", std::string(1, one.type.kind)},
                          {"bits", one.type.bits},
                          {"bytes", one.bytes()},
                          {"offset", one.offset},
                          {"is_structure", one.count != 1}});
  }
  Json answer{{"entry", entry.name},
              {"parameters", std::move(parameters)},
              {"parameter_bytes", entry.parameter_bytes},
              {"required_threads", entry.required_threads},
              {"from_cache", program.from_cache()}};
  answer["program"] = programs().keep(std::move(program));
  python.answer(answer);
}

void ptx_launch(const Json& request, const Python& python) {
  ptx::Program& program = programs().at(request, "program");
  const auto bytes = static_cast<std::size_t>(program.entry().parameter_bytes);
  const std::span parameters(static_cast<const std::byte*>(pointer(value<std::uint64_t>(request, "parameters"))),
                             bytes);
  std::vector<ptx::Array> arrays;
  for (const Json& one : request.at("arrays")) {
    arrays.push_back({pointer(one.at(0).get<std::uint64_t>()), one.at(1).get<std::uint64_t>(), one.at(2).get<bool>(),
                      one.at(3).get<std::string>()});
  }
  const ptx::LaunchResult result =
      program.launch({.grid = dim(request, "grid"),
                      .block = dim(request, "block"),
                      .dynamic_shared_bytes = value<std::uint32_t>(request, "shared"),
                      .parameters = parameters,
                      .arrays = arrays,
                      .max_instructions = value<std::int64_t>(request, "max_instructions"),
                      .last_first = value<bool>(request, "last_first"),
                      .is_interrupted = [&python] { return !python.ask(R"({"ask":"signals"})"); }});
  Json findings = Json::array();
  for (const ptx::Finding& finding : result.findings) findings.push_back({finding.text, finding.line});
  python.answer({{"completed", result.completed},
                 {"instructions", result.instructions},
                 {"findings", std::move(findings)},
                 {"printed", result.printed}});
}

void ptx_tensor_map(const Json& request, const Python& python) {
  ptx::TiledTensor tensor;
  const auto sizes = value<std::vector<std::uint64_t>>(request, "sizes");
  const auto strides = value<std::vector<std::uint64_t>>(request, "strides");
  const auto box = value<std::vector<std::uint32_t>>(request, "box");
  const auto steps = value<std::vector<std::uint32_t>>(request, "steps");
  if (sizes.empty() || sizes.size() > ptx::kMostAxes || box.size() != sizes.size() || steps.size() != sizes.size() ||
      strides.size() + 1 != sizes.size()) {
    throw UsageError(fmt::format("tensor map: legal 1 to {} axes, and as many of box and steps", ptx::kMostAxes));
  }
  tensor.type = static_cast<ptx::TensorType>(value<std::uint32_t>(request, "type"));
  tensor.rank = static_cast<std::uint32_t>(sizes.size());
  tensor.address = pointer(value<std::uint64_t>(request, "address"));
  std::ranges::copy(sizes, tensor.sizes.begin());
  std::ranges::copy(strides, tensor.strides.begin());
  std::ranges::copy(box, tensor.box.begin());
  std::ranges::copy(steps, tensor.steps.begin());
  tensor.swizzle = static_cast<ptx::Swizzle>(value<std::uint32_t>(request, "swizzle"));
  python.answer(hex_of(ptx::encode_tiled(tensor).bytes));
}

void ptx_drop(const Json& request, const Python& python) {
  if (request.contains("module")) modules().drop(request, "module");
  if (request.contains("program")) programs().drop(request, "program");
  python.answer(nullptr);
}

}  // namespace flashproof::python
