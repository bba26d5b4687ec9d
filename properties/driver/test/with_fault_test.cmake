# flashproof-properties --with-fault: the law that must reject a seeded fault does, exit 1, with a line that replays it; and what
# is refused. cmake -DPROGRAM=... -DWORK=... -P test/with_fault_test.cmake
file(REMOVE_RECURSE ${WORK})

# expect(CODE TEXT ARGUMENT...): the exit code, and a text in what the program says.
function(expect code text)
  execute_process(COMMAND ${PROGRAM} ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE said ERROR_VARIABLE complained)
  string(FIND "${said}${complained}" "${text}" found)
  if(NOT result EQUAL code OR found EQUAL -1)
    message(FATAL_ERROR "${ARGN}: exit ${result}, wanted ${code} and '${text}':\n${said}${complained}")
  endif()
endfunction()

set(forward softmax.broken.tail_dropped)
set(backward attention_backward.broken.lse_taken_for_dense)
expect(1 "FAIL ${forward} outputs_fully_written" --with-fault ${forward} --law outputs_fully_written --cases 2)
expect(1 "FAIL ${backward} layout_invariance" --with-fault ${backward} --law layout_invariance --cases 1
  --family normal --out ${WORK})
set(witness ${WORK}/${backward}.layout_invariance.safetensors)
expect(1 "replay: here --kernel ${backward} --law layout_invariance --replay ${witness}"
  --program here --with-fault ${backward} --law layout_invariance --cases 1 --family normal --out ${WORK})
expect(1 "--replay ${witness}" --kernel ${backward} --law layout_invariance --replay ${witness})
# A law that cannot see it lets it pass: then it finds nothing.
expect(0 "ok   ${backward} rerun_is_bitwise" --with-fault ${backward} --law rerun_is_bitwise --cases 1
  --family normal --judged elsewhere)
# Both kinds in one run: one summary, in which each kernel is asked the laws of its kind.
set(honest --kernel attention_backward.two_kernels.hardened --kernel attention.deferred.hardened --law *no_race --law *within_bound
  --family normal --cases 2)
expect(0 "ok   attention_backward.two_kernels.hardened within_bound" ${honest} --json ${WORK}/both.json --junit ${WORK}/both.xml)
file(READ ${WORK}/both.json json)
file(READ ${WORK}/both.xml junit)
foreach(each IN ITEMS "attention_backward.two_kernels.hardened no_race" "attention.deferred.hardened no_race")
  separate_arguments(each UNIX_COMMAND "${each}")
  list(GET each 0 kernel)
  list(GET each 1 law)
  string(FIND "${json}" "\"kernel\": \"${kernel}\",\n      \"law\": \"${law}\"" in_json)
  string(FIND "${junit}" "classname=\"${kernel}\" name=\"${law}\"" in_junit)
  if(in_json EQUAL -1 OR in_junit EQUAL -1)
    message(FATAL_ERROR "${kernel} ${law} is missing:\n${json}\n${junit}")
  endif()
endforeach()
expect(1 "FAIL ${backward} layout_invariance" --kernel ${backward} --kernel ${forward} --law *layout_invariance
  --family normal --cases 1)
expect(4 "within_bound was not asked, and says fail" --with-fault attention_backward.broken.delta_not_subtracted
  --law rerun_is_bitwise --family normal --cases 2)
# A law alone that decides no case, and no family with a gradient.
set(two_kernels attention_backward.two_kernels.hardened)
expect(4 "UNDECIDED ${two_kernels} within_bound" --kernel ${two_kernels} --law within_bound --family equal --cases 1)
expect(2 "no chosen family has a case with a gradient" --kernel ${two_kernels} --family softcap)
expect(0 "skipped: " --kernel ${backward} --law merge_commutes)
expect(2 "unknown law" --law gradient_nothing)
# A name that a law had.
expect(1 "FAIL ${backward} layout_invariance" --kernel ${backward} --law gradient_layout_invariance --family normal --cases 1)
# The replay line of a forward finding names the fault by --kernel.
expect(1 "FAIL ${forward} outputs_fully_written" --kernel ${forward} --law outputs_fully_written --cases 2)
# By number: one, and all that share it. One that nobody has is told, with no name that looks like it.
expect(1 "FAIL ${backward} layout_invariance" --with-fault F74 --law layout_invariance --cases 1 --family normal)
foreach(one IN ITEMS sink_counted_twice sink_lost_with_empty_split)
  expect(4 "attention.broken.${one} rerun_is_bitwise" --with-fault F49 --law rerun_is_bitwise --cases 1 --family zero_length)
endforeach()
expect(2 "unknown fault \"F99\"" --with-fault F99)
expect(2 "fault" --with-fault softmax.safe.hardened)
expect(2 "--with-fault: 1 required" --with-fault)
expect(2 "--kernel excludes --with-fault" --with-fault ${forward} --kernel ${forward})
