// The nested scopes of a body: what a name stands for, the innermost one first.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace flashproof::ptx {

struct Scope {
  using Names = std::map<std::string, std::string, std::less<>>;  // as written -> unique
  std::map<std::string, int, std::less<>> registers;
  Names labels, parameters;
};

class Scopes : public std::vector<Scope> {
 public:
  /// -1: none.
  int find_register(std::string_view name) const {
    for (auto scope = rbegin(); scope != rend(); ++scope) {
      if (const auto found = scope->registers.find(name); found != scope->registers.end()) return found->second;
    }
    return -1;
  }
  const std::string* find_label(std::string_view name) const { return find(&Scope::labels, name); }
  const std::string* find_parameter(std::string_view name) const { return find(&Scope::parameters, name); }

 private:
  const std::string* find(Scope::Names Scope::* names, std::string_view name) const {
    for (auto scope = rbegin(); scope != rend(); ++scope) {
      const Scope::Names& here = (*scope).*names;
      if (const auto found = here.find(name); found != here.end()) return &found->second;
    }
    return nullptr;
  }
};

}  // namespace flashproof::ptx
