#include "properties/driver/property_options.h"

#include "reference/system/add_option.h"

namespace flashproof {

void add_property_options(CLI::App& app, PropertyOptions& options) {
  const auto add = [&app](const char* name, auto& to) { return add_declared(&app, "properties", name, to); };
  add("--kernel", options.kernels);
  add("--law", options.laws);
  auto* families = add("--family", options.families);
  add("--seed", options.seed);
  add("--cases", options.cases);
  add("--turns", options.turns);
  add("--replay", options.replay)->excludes(families);
  const OptionDeclaration& judged = declared_option("properties", "--judged");
  const auto set_judged = [&options, &judged](const std::string& where) {
    std::string word;
    set_legal("--judged", judged.legal, where, word);
    options.judged_elsewhere = word == "elsewhere";
  };
  app.add_option_function<std::string>("--judged", set_judged, std::string(judged.help))
      ->type_name(shown_type(std::string(judged.type), judged.legal));
  add("--program", options.program);
  add("--junit", options.junit);
  add("--json", options.json);
  add("--out", options.out);
}

}  // namespace flashproof
