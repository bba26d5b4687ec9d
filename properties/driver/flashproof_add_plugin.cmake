# flashproof_add_plugin(NAME SOURCES my.c ... [CHECK OPTION ...])
#
# A library behind the C ABI of kernels/plugin.h, NAME.so in the build folder; any of C, C++ and CUDA. With CHECK and a
# flashproof-plugin in the installed tree a test NAME/check, which asks every law of its kernels with these options (--quick,
# --family GLOB ...); where they need a GPU and there is none, and nothing else is wrong, it is skipped. A run that decides too little
# fails: it has the exit code of one that needs a GPU, but is no reason for a green build.
function(flashproof_add_plugin name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;CHECK")
  set(me "flashproof_add_plugin(${name})")
  if(NOT name MATCHES "^[A-Za-z0-9_.-]+$")
    message(FATAL_ERROR "${me}: the name must be of [A-Za-z0-9_.-]")
  endif()
  if(DEFINED arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "${me}: unknown argument ${arg_UNPARSED_ARGUMENTS}; legal: SOURCES, CHECK")
  endif()
  if(NOT arg_SOURCES)
    message(FATAL_ERROR "${me}: SOURCES is missing")
  endif()
  add_library(${name} MODULE ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE flashproof::plugin)
  # Nothing but the entry is seen from outside.
  set_target_properties(${name} PROPERTIES PREFIX "" C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden
    CUDA_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  list(FIND ARGN CHECK at)  # without options cmake_parse_arguments leaves no trace of it in arg_CHECK
  if(NOT at EQUAL -1 AND EXISTS "${FLASHPROOF_PLUGIN_PROGRAM}")
    add_test(NAME ${name}/check COMMAND ${FLASHPROOF_PLUGIN_PROGRAM} check $<TARGET_FILE:${name}> ${arg_CHECK}
      --out ${CMAKE_CURRENT_BINARY_DIR}/${name}.flashproof --junit ${CMAKE_CURRENT_BINARY_DIR}/${name}.flashproof/junit.xml)
    set_tests_properties(${name}/check PROPERTIES LABELS flashproof
      SKIP_REGULAR_EXPRESSION "^skipped: tensors lie on a GPU;\nskipped: tensors lie on a GPU")
  endif()
endfunction()
