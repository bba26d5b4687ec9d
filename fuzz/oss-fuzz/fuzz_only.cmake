# FLASHPROOF_FUZZ_ONLY: the fuzz targets for another project's compiler, C++ library and engine (build.sh). The compiled C++
# libraries of a distribution are for its own C++ library and cannot be linked there, so everything in C++ is a header or is
# compiled here; the C libraries are static, since the programs run where nothing is installed. Instrumentation and
# sanitizers come with CXXFLAGS.
set(FLASHPROOF_FUZZ ON)
set(FLASHPROOF_FAULTS OFF)
set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
separate_arguments(FLASHPROOF_FUZZING_ENGINE NATIVE_COMMAND "${FLASHPROOF_FUZZING_ENGINE}")  # some engines are several words

find_path(FMT_INCLUDE fmt/format.h REQUIRED)
add_library(fmt::fmt INTERFACE IMPORTED)
target_include_directories(fmt::fmt INTERFACE ${FMT_INCLUDE})
target_compile_definitions(fmt::fmt INTERFACE FMT_HEADER_ONLY)

# Highway: its headers, of Debian or of its source, and the two functions of its library that the oracle calls.
find_path(HWY_INCLUDE hwy/highway.h REQUIRED)
add_library(flashproof_hwy STATIC fuzz/oss-fuzz/highway.cc)
target_link_libraries(flashproof_hwy PRIVATE flashproof_float)
target_include_directories(flashproof_hwy SYSTEM PUBLIC ${HWY_INCLUDE})
add_library(PkgConfig::HWY INTERFACE IMPORTED)
target_link_libraries(PkgConfig::HWY INTERFACE flashproof_hwy)

function(flashproof_targets_below folder result)
  get_property(found DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  get_property(subfolders DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(subfolder IN LISTS subfolders)
    flashproof_targets_below(${subfolder} below)
    list(APPEND found ${below})
  endforeach()
  set(${result} ${found} PARENT_SCOPE)
endfunction()

# After everything is declared: fuzz_targets.txt names every fuzz_NAME there is.
function(flashproof_fuzz_only_targets)
  flashproof_targets_below(${PROJECT_SOURCE_DIR}/fuzz all)
  set(names)
  foreach(target IN LISTS all)
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "EXECUTABLE" AND target MATCHES "^fuzz_[a-z0-9_]+$")
      list(APPEND names ${target})
    endif()
  endforeach()
  if(NOT names)
    message(FATAL_ERROR "FLASHPROOF_FUZZ_ONLY: no fuzz target below fuzz/")
  endif()
  list(JOIN names "\n" text)
  file(WRITE ${PROJECT_BINARY_DIR}/fuzz_targets.txt "${text}\n")

  # The engine's instrumentation comes with CXXFLAGS alone: another engine has another. It is for the kernels and the
  # readers of input: where the oracle went says nothing about them, and the executor switches stacks (kernels/simt).
  flashproof_targets_below(${PROJECT_SOURCE_DIR}/reference plain)
  foreach(target IN LISTS plain ITEMS flashproof_simt flashproof_tsan_hooks)
    get_target_property(type ${target} TYPE)
    if(type MATCHES "_LIBRARY$" AND NOT type STREQUAL "INTERFACE_LIBRARY" AND CMAKE_CXX_FLAGS MATCHES "fuzzer-no-link")
      target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize=fuzzer-no-link>)
    endif()
  endforeach()
  foreach(target IN LISTS names ITEMS flashproof_kernels)
    get_target_property(options ${target} COMPILE_OPTIONS)
    if(options)
      list(REMOVE_ITEM options -fsanitize=fuzzer-no-link)
      set_property(TARGET ${target} PROPERTY COMPILE_OPTIONS ${options})
    endif()
  endforeach()
endfunction()
