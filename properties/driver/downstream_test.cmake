# The example against an installed tree, right and broken. cmake -D... -P; the variables are in CMakeLists.txt.
function(run) # COMMAND...: fails the test unless it exits 0
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT RESULT_VARIABLE code)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "exit ${code}: ${ARGN}")
  endif()
endfunction()

function(expect text pattern)
  if(NOT text MATCHES "${pattern}")
    message(FATAL_ERROR "no ${pattern} in:\n${text}")
  endif()
endfunction()

if(NOT INSTALLABLE)
  message("SKIPPED: a build with CUDA or sanitizers is not installed")
  return()
endif()

# A copy, so that nothing of the source tree is near.
file(REMOVE_RECURSE ${WORK})
file(COPY ${SOURCE}/properties/examples/downstream/ DESTINATION ${WORK}/example)
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/example/flashproof)
set(ENV{CXX} ${CXX})
set(ENV{CMAKE_CXX_COMPILER_LAUNCHER} ${LAUNCHER})

# Right: as the example workflow builds and tests it, with the installed tree where its steps have put it.
set(examples ${SOURCE}/properties/examples)
run(${PYTHON} -B ${examples}/workflow_test.py run ${examples}/github-actions.yml ${WORK}/example)
set(right ${WORK}/example/build)
file(READ ${right}/flashproof/row_softmax_properties/within_bound.xml junit)
expect("${junit}" "<testcase classname=\"softmax.row.example\" name=\"within_bound\"/>")
execute_process(COMMAND ${CMAKE_CTEST_COMMAND} --test-dir ${right} --print-labels OUTPUT_VARIABLE output)
expect("${output}" "  flashproof\n.*  softmax\n.*  within_bound\n")

# Neither the compiler nor the linker was shown the tree that flashproof was built from.
file(READ ${right}/build.ninja commands)
string(REPLACE "${WORK}" "" elsewhere "${commands}")
string(FIND "${elsewhere}" "${SOURCE}" at)
if(NOT at EQUAL -1)
  string(SUBSTRING "${elsewhere}" ${at} 200 elsewhere)
  message(FATAL_ERROR "the example's build names the source tree: ${elsewhere}")
endif()
expect("${commands}" " -ffp-contract=off ")

run(${CMAKE_COMMAND} -S ${WORK}/example -B ${WORK}/broken -G Ninja
  -DCMAKE_PREFIX_PATH=${WORK}/example/flashproof -DEXAMPLE_BROKEN=ON)
run(${CMAKE_COMMAND} --build ${WORK}/broken)
execute_process(COMMAND ${CMAKE_CTEST_COMMAND} --test-dir ${WORK}/broken --output-on-failure -R class_matches_semantics
  --output-junit ${WORK}/broken/ctest.xml RESULT_VARIABLE code OUTPUT_VARIABLE output)
if(code EQUAL 0)
  message(FATAL_ERROR "the broken kernel passed:\n${output}")
endif()
set(replay "replay: [^ ]*/row_softmax_properties [^\n<&]*--law class_matches_semantics")
expect("${output}" "${replay}")
file(READ ${WORK}/broken/ctest.xml junit)
expect("${junit}" "${replay}")
file(READ ${WORK}/broken/flashproof/row_softmax_properties/class_matches_semantics.xml junit)
expect("${junit}" "<failure [^<]*message=\"[^\"]*${replay}")
string(REGEX MATCH "witness: ([^&]*)&" found "${junit}")
if(NOT EXISTS "${CMAKE_MATCH_1}")
  message(FATAL_ERROR "no witness ${CMAKE_MATCH_1}")
endif()

# The replay line is a command, and finds it again.
string(REGEX MATCH "replay: ([^&<\"]*)" found "${junit}")
separate_arguments(command UNIX_COMMAND "${CMAKE_MATCH_1}")
execute_process(COMMAND ${command} RESULT_VARIABLE code OUTPUT_VARIABLE output)
if(NOT code EQUAL 1)
  message(FATAL_ERROR "${command}: exit ${code}, not 1")
endif()
expect("${output}" "class_mismatch")
