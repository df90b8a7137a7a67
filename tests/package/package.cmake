# What an outside user meets: the installed package, the headers alone, the size and the symbols of the library, the build for
# another processor; and the rule who may include whom. Each is a script that prints what it checked.
set(package_dir ${CMAKE_CURRENT_LIST_DIR})
set(package_env "CC=${CMAKE_C_COMPILER}" "CMAKE=${CMAKE_COMMAND}" "SOURCE=${PROJECT_SOURCE_DIR}" "BUILD=${PROJECT_BINARY_DIR}" "GENERATOR=${CMAKE_GENERATOR}"
    "LAUNCHER=${CMAKE_C_COMPILER_LAUNCHER}" "WERROR=${TSR_WERROR}" "LIBRARY=$<TARGET_FILE:tessera_shared>" "TESSERA=$<TARGET_FILE:tessera>")

function(tsr_package_test name script)
  add_test(NAME package.${name} COMMAND bash ${package_dir}/${script} ${ARGN})
  set_tests_properties(package.${name} PROPERTIES LABELS package SKIP_RETURN_CODE 77 TIMEOUT 1200 ENVIRONMENT "${package_env}")
endfunction()

tsr_package_test(include_rules includes.sh)
tsr_package_test(headers_alone headers.sh)
tsr_package_test(readme readme.sh)
if(SQLite3_FOUND)
  tsr_package_test(interrupt interrupt.sh)
endif()
if(NOT TSR_SANITIZE)
  foreach(how cmake pkg_config pkg_config_static)
    tsr_package_test(outside_${how} outside.sh ${how})
  endforeach()
  tsr_package_test(symbols symbols.sh)
endif()
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT TSR_SANITIZE AND NOT CMAKE_CROSSCOMPILING)
  tsr_package_test(aarch64 cross.sh)
  tsr_package_test(size_cpu size.sh 2000000 -DTSR_VULKAN=OFF -DTSR_CUDA=OFF -DTSR_HIP=OFF)
  tsr_package_test(size_cpu_vulkan size.sh 3000000 -DTSR_VULKAN=ON -DTSR_CUDA=OFF -DTSR_HIP=OFF)
endif()
