# flashproof_add_kernel_test(NAME SOURCES my.cu ... DECLARATIONS my_kernels ... [LABELS ...] [CASES n] [SEED n])
#
# Builds the kernels for the CPU executor and adds one ctest test per law, NAME/LAW, with the labels flashproof, LAW and
# LABELS. Every name in DECLARATIONS is a function of SOURCES, in namespace flashproof::FP_EXECUTOR:
#     std::span<const KernelDeclaration> my_kernels();
# A .cu file is compiled as C++; other sources as they are. CASES per kernel and input family (1..1000000, default 6) begin
# with seed SEED (default 1). A test leaves its findings in flashproof/NAME of the build folder: LAW.xml (JUnit), and its
# witnesses in LAW/. A law that says nothing about any of the kernels is a skipped test.
# Target NAME is the program; its options: properties/driver/property_main.h.

# The names of the laws. ctest asks before anything is built, so they are read from the list that the build reads.
function(flashproof_law_names out)
  set(list ${FLASHPROOF_INCLUDE_DIR}/properties/laws/laws.cmake)
  file(STRINGS ${list} laws REGEX "^flashproof_law\\(")
  list(TRANSFORM laws REPLACE "^flashproof_law\\(.*/([a-z0-9_]+)\\)$" "\\1")
  if(NOT laws)
    message(FATAL_ERROR "${list} names no law")
  endif()
  set(${out} ${laws} PARENT_SCOPE)
endfunction()

function(flashproof_add_kernel_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "CASES;SEED" "SOURCES;DECLARATIONS;LABELS")
  set(me "flashproof_add_kernel_test(${name})")
  if(NOT name MATCHES "^[A-Za-z0-9_.-]+$")
    message(FATAL_ERROR "${me}: the name must be of [A-Za-z0-9_.-]")
  endif()
  if(DEFINED arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "${me}: unknown argument ${arg_UNPARSED_ARGUMENTS}; legal: SOURCES, DECLARATIONS, LABELS, CASES, SEED")
  endif()
  if(DEFINED arg_KEYWORDS_MISSING_VALUES)
    message(FATAL_ERROR "${me}: ${arg_KEYWORDS_MISSING_VALUES} without a value")
  endif()
  foreach(needed IN ITEMS SOURCES DECLARATIONS)
    if(NOT arg_${needed})
      message(FATAL_ERROR "${me}: ${needed} is missing")
    endif()
  endforeach()
  if(NOT DEFINED arg_CASES)
    set(arg_CASES 6)
  endif()
  if(NOT DEFINED arg_SEED)
    set(arg_SEED 1)
  endif()
  if(NOT arg_CASES MATCHES "^[1-9][0-9]?[0-9]?[0-9]?[0-9]?[0-9]?$" AND NOT arg_CASES STREQUAL 1000000)
    message(FATAL_ERROR "${me}: CASES ${arg_CASES}, legal 1..1000000")
  endif()
  string(LENGTH "${arg_SEED}" digits)
  if(NOT arg_SEED MATCHES "^(0|[1-9][0-9]*)$" OR digits GREATER 20
     OR (digits EQUAL 20 AND arg_SEED STRGREATER 18446744073709551615))
    message(FATAL_ERROR "${me}: SEED ${arg_SEED}, legal 0..18446744073709551615")
  endif()
  string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
  if("${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${type}}" MATCHES "-ffast-math|-Ofast|-funsafe-math|-ffinite-math")
    message(FATAL_ERROR "${me}: fast-math flags change the numbers that are judged: remove ${CMAKE_MATCH_0} from CMAKE_CXX_FLAGS")
  endif()

  set(functions "")
  set(calls "")
  foreach(declarations IN LISTS arg_DECLARATIONS)
    if(NOT declarations MATCHES "^[A-Za-z_][A-Za-z0-9_]*$")
      message(FATAL_ERROR "${me}: DECLARATIONS ${declarations} is no name of a function")
    endif()
    string(APPEND functions "std::span<const KernelDeclaration> ${declarations}();\n")
    string(APPEND calls "      flashproof::cpu::${declarations}(),\n")
  endforeach()

  set(generated ${CMAKE_CURRENT_BINARY_DIR}/${name}.flashproof)
  set(sources "")
  foreach(source IN LISTS arg_SOURCES)
    get_filename_component(path ${source} ABSOLUTE)
    if(NOT EXISTS ${path})
      message(FATAL_ERROR "${me}: there is no source ${path}")
    endif()
    if(path MATCHES "\\.cu$")
      file(RELATIVE_PATH relative ${CMAKE_CURRENT_SOURCE_DIR} ${path})
      string(MAKE_C_IDENTIFIER ${relative} unit)
      file(GENERATE OUTPUT ${generated}/${unit}.cc CONTENT "#include \"${path}\"\n")
      list(APPEND sources ${generated}/${unit}.cc)
    else()
      list(APPEND sources ${path})
    endif()
  endforeach()

  file(GENERATE OUTPUT ${generated}/main.cc CONTENT
"#include <vector>

#include \"properties/driver/property_main.h\"

namespace flashproof::cpu {
${functions}}  // namespace flashproof::cpu

int main(int argc, char** argv) {
  const std::span<const flashproof::KernelDeclaration> declared[] = {
${calls}  };
  std::vector<flashproof::KernelDeclaration> kernels;
  for (const auto& list : declared) kernels.insert(kernels.end(), list.begin(), list.end());
  return flashproof::property_main(argc, argv, kernels);
}
")
  add_executable(${name} ${generated}/main.cc ${sources})
  target_link_libraries(${name} PRIVATE flashproof::property_driver)
  # Findings name src/my.cu:12, wherever the tree lies.
  target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fmacro-prefix-map=${CMAKE_SOURCE_DIR}/=>)
  set_target_properties(${name} PROPERTIES CXX_EXTENSIONS OFF)

  flashproof_law_names(laws)
  set(findings ${CMAKE_BINARY_DIR}/flashproof/${name})
  file(MAKE_DIRECTORY ${findings})
  foreach(law IN LISTS laws)
    add_test(NAME ${name}/${law} COMMAND ${name} --law ${law} --judged elsewhere --seed ${arg_SEED} --cases ${arg_CASES}
      --junit ${findings}/${law}.xml --out ${findings}/${law})
    set(labels flashproof ${law} ${arg_LABELS})
    set_tests_properties(${name}/${law} PROPERTIES LABELS "${labels}" SKIP_REGULAR_EXPRESSION "\nskipped: ")
  endforeach()
endfunction()
