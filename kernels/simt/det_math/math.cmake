# Deterministic device math, storage formats, PTX lint.

flashproof_test(det_math_test SOURCES det_math/det_math_test.cc)
flashproof_test(storage_test SOURCES test/fp8_test.cc test/storage_test.cc)

# Loops over all 2^32 floats: optimised in every build type. Not under sanitizers, which would make them take minutes and have
# nothing to find there (the two tests above run the same functions under them). By day det_math_golden below holds the bits.
if(NOT FLASHPROOF_SANITIZE)
  flashproof_test(storage_exhaustive_test
    NIGHTLY Storage.StoreIsMonotoneOverAllFloats
    SOURCES test/storage_exhaustive_test.cc)
  flashproof_test(det_math_exhaustive_test SOURCES det_math/det_math_exhaustive_test.cc LIBS PkgConfig::MPFR PkgConfig::GMP
    LABEL nightly TIMEOUT 3600)
  foreach(target storage_exhaustive_test det_math_exhaustive_test)
    target_compile_options(${target} PRIVATE -O3)
    set_target_properties(${target} PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)
  endforeach()
endif()

# The same bits from every compiler at hand under every flag that could matter, contraction included.
find_program(SIMT_CLANG NAMES clang++-19 clang++)
set(golden_compilers ${CMAKE_CXX_COMPILER})
if(SIMT_CLANG)
  list(APPEND golden_compilers ${SIMT_CLANG})
endif()
list(REMOVE_DUPLICATES golden_compilers)
set(golden_flags "-O0" "-O3" "-O3 -ffp-contract=off")
if(FLASHPROOF_MARCH MATCHES "-v[34]$")
  list(APPEND golden_flags "-O3 -march=x86-64-v3" "-O3 -march=x86-64-v3 -ffp-contract=fast")
endif()
foreach(compiler ${golden_compilers})
  get_filename_component(compiler_name ${compiler} NAME)
  foreach(flags ${golden_flags})
    separate_arguments(flag_list UNIX_COMMAND "${flags}")
    string(REPLACE " " "" name "det_math_golden/${compiler_name}${flags}")
    add_test(NAME ${name}
      COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/tools/golden.sh ${PROJECT_SOURCE_DIR} ${compiler} ${flag_list})
    set_tests_properties(${name} PROPERTIES LABELS quick TIMEOUT 300)
  endforeach()
endforeach()

add_test(NAME ptx_lint/rules
  COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/tools/ptx_lint_test.sh ${CMAKE_CURRENT_SOURCE_DIR}/tools/ptx_lint.sh)
set_tests_properties(ptx_lint/rules PROPERTIES LABELS quick TIMEOUT 300)

# ptx_lint_test(name accept|accept_atomics|reject FILE.cu [FLAG...]): compiles with nvcc at test time; no test where there is no nvcc.
set(SIMT_LINT_CU ${CMAKE_CURRENT_SOURCE_DIR}/tools/lint_cu.sh CACHE INTERNAL "")
function(ptx_lint_test name verdict source)
  if(FLASHPROOF_NVCC)
    get_filename_component(source ${source} ABSOLUTE)
    add_test(NAME ptx_lint/${name}
      COMMAND sh ${SIMT_LINT_CU} ${FLASHPROOF_NVCC} ${PROJECT_SOURCE_DIR} ${verdict} ${source} ${ARGN})
    set_tests_properties(ptx_lint/${name} PROPERTIES LABELS quick TIMEOUT 300)
  endif()
endfunction()
ptx_lint_test(det_math_and_storage accept tools/det_ptx.cu)
ptx_lint_test(clean accept tools/lint_cases/clean.cu)
ptx_lint_test(contracted reject tools/lint_cases/contracted.cu)
ptx_lint_test(fast_exp reject tools/lint_cases/fast_exp.cu)
ptx_lint_test(flushed reject tools/lint_cases/clean.cu -ftz=true)
