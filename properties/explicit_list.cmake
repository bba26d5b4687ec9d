# flashproof_explicit_list(FUNCTION TYPE HEADER NAMESPACE FILE::NAME...): writes FUNCTION_list.cc into the build folder, which defines
# `std::span<const TYPE> FUNCTION()` of namespace flashproof, the values of NAMESPACE::FILE::NAME() in order, each with its NAME as
# `name`. No static initialiser registers itself, nothing depends on the order of linking.
function(flashproof_explicit_list function type header namespace)
  set(declarations "")
  set(calls "")
  foreach(path IN LISTS ARGN)
    string(REPLACE :: ";" parts ${path})
    list(POP_FRONT parts file name)
    string(APPEND declarations "namespace ${namespace}::${file} {\n${type} ${name}();\n}\n")
    string(APPEND calls "      named(${namespace}::${path}(), \"${name}\"),\n")
  endforeach()
  file(CONFIGURE OUTPUT ${function}_list.cc @ONLY CONTENT [[
// Written by CMake from the list of this folder in the source tree.
#include "@header@"

@declarations@
namespace flashproof {

static @type@ named(@type@ value, std::string_view name) {
  value.name = name;
  return value;
}

std::span<const @type@> @function@() {
  static const @type@ list[] = {
@calls@  };
  return list;
}

}  // namespace flashproof
]])
endfunction()
