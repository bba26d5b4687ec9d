# cmake --install: headers under include/flashproof as they lie here, the static libraries that test a kernel on the CPU
# executor, the program that judges plugins, and the package flashproof. Targets flashproof_property_driver and flashproof-plugin
# build all of it.
include(CMakePackageConfigHelpers)

set(FLASHPROOF_INSTALLABLE ON)
if(FLASHPROOF_HAVE_CUDA OR FLASHPROOF_SANITIZE OR FLASHPROOF_PYTHON OR FLASHPROOF_FUZZ_ONLY)
  set(FLASHPROOF_INSTALLABLE OFF)
  install(CODE "message(FATAL_ERROR \"installed is the CPU executor without sanitizers: use preset cpu or portable\")")
  return()
endif()

set(libraries float block_fma simt source_tree system problem kernel_run declaration oracle_parts oracle_dd oracle_exact oracle_fp64 oracle
  oracle_backward bound bound_backward arithmetic_json gradient_bound change error laws generators shrink junit property_driver)
foreach(library IN LISTS libraries)
  set_target_properties(flashproof_${library} PROPERTIES EXPORT_NAME ${library})
endforeach()
list(TRANSFORM libraries PREPEND flashproof_)
install(TARGETS ${libraries} EXPORT flashproof ARCHIVE DESTINATION lib)

file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
  ${PROJECT_SOURCE_DIR}/reference/*.h ${PROJECT_SOURCE_DIR}/kernels/*.h ${PROJECT_SOURCE_DIR}/properties/*.h)
list(FILTER headers EXCLUDE REGEX "/test/")  # instruments of tests
list(FILTER headers EXCLUDE REGEX "^kernels/plugin/")  # the side of the C ABI that loads; kernels/plugin.h is installed
list(FILTER headers EXCLUDE REGEX "^kernels/special_functions/")  # the executor's own; simt/native_math.h is installed
foreach(header IN LISTS headers)
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES ${PROJECT_SOURCE_DIR}/${header} DESTINATION include/flashproof/${folder})
endforeach()

install(FILES ${PROJECT_SOURCE_DIR}/properties/laws/laws.cmake DESTINATION include/flashproof/properties/laws)

set(package lib/cmake/flashproof)
install(EXPORT flashproof NAMESPACE flashproof:: FILE flashproofTargets.cmake DESTINATION ${package})
set(FLASHPROOF_INCLUDE include/flashproof)
configure_package_config_file(flashproofConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/flashproofConfig.cmake
  INSTALL_DESTINATION ${package} PATH_VARS FLASHPROOF_INCLUDE)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/flashproofConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/flashproofConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/flashproofConfigVersion.cmake
  flashproof_add_kernel_test.cmake flashproof_add_plugin.cmake DESTINATION ${package})

# The judge of plugins, where it was built: a plugin needs nothing but its header.
install(PROGRAMS $<TARGET_FILE:flashproof-plugin> DESTINATION bin OPTIONAL)
