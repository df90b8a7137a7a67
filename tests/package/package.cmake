# What an outside user meets: the installed package, the headers alone, the size and the symbols of the library, the
# build for another processor; and the rule who may include whom. Each is a script that prints what it checked.
set(package_dir ${CMAKE_CURRENT_LIST_DIR})
set(package_env "CC=${CMAKE_C_COMPILER}" "CMAKE=${CMAKE_COMMAND}" "SOURCE=${PROJECT_SOURCE_DIR}"
  "BUILD=${PROJECT_BINARY_DIR}" "GENERATOR=${CMAKE_GENERATOR}"
    "LAUNCHER=${CMAKE_C_COMPILER_LAUNCHER}" "WERROR=${TSR_WERROR}" "LIBRARY=$<TARGET_FILE:tessera_shared>" "TESSERA=$<TARGET_FILE:tessera>")

function(tsr_package_test name script)
  add_test(NAME package.${name} COMMAND bash ${package_dir}/${script} ${ARGN})
  set_tests_properties(package.${name} PROPERTIES LABELS package SKIP_RETURN_CODE 77 TIMEOUT ${TSR_TEST_SECONDS}
    ENVIRONMENT "${package_env}")
endfunction()

tsr_package_test(rooms rooms.sh)
tsr_package_test(places places.sh)
tsr_package_test(enum_order enum_order.sh)
tsr_package_test(words words.sh)
if(TSR_VULKAN)
  tsr_package_test(vulkan_drivers vulkan_drivers.sh)
  set_property(TEST package.vulkan_drivers APPEND PROPERTY LABELS vulkan)
endif()
tsr_package_test(walks walks.sh)
if(NOT TSR_SANITIZE AND NOT CMAKE_CROSSCOMPILING)
  tsr_package_test(additions additions.sh)
endif()
tsr_package_test(headers_alone headers.sh)
tsr_package_test(readme readme.sh)
tsr_package_test(docs docs.sh)
set_property(TEST package.docs APPEND PROPERTY ENVIRONMENT "CUDA=${TSR_CUDA}" "HIP=${TSR_HIP}")
tsr_package_test(setup setup.sh)
tsr_package_test(scopes scopes.sh)
tsr_package_test(order order.sh)
tsr_package_test(generator_hash generator_hash.sh)
tsr_package_test(skips skips.sh)
set_property(TEST package.scopes package.order package.skips APPEND PROPERTY ENVIRONMENT "CTEST=${CMAKE_CTEST_COMMAND}")
if(NOT TSR_SANITIZE AND NOT CMAKE_CROSSCOMPILING)
  tsr_package_test(presets presets.sh)
endif()
if(TSR_VULKAN)
  tsr_package_test(vulkan_headers vulkan_headers.sh)
endif()
if(SQLite3_FOUND)
  tsr_package_test(interrupt interrupt.sh)
endif()
if(NOT TSR_SANITIZE AND NOT CMAKE_CROSSCOMPILING)
  foreach(part abi arguments tensor kernel dist guides sessions examples)
    tsr_package_test(python_${part} python.sh ${part})
    set_property(TEST package.python_${part} APPEND PROPERTY LABELS python)
  endforeach()
  tsr_package_test(wheel wheel.sh)
  set_property(TEST package.wheel APPEND PROPERTY LABELS python)
endif()
if(NOT TSR_SANITIZE)
  if(TSR_CUDA)
    tsr_package_test(gpu_day gpu_day.sh)
  endif()
  foreach(how cmake pkg_config pkg_config_static)
    tsr_package_test(outside_${how} outside.sh ${how})
  endforeach()
  tsr_package_test(symbols symbols.sh)
endif()
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT TSR_SANITIZE AND NOT CMAKE_CROSSCOMPILING)
  tsr_package_test(aarch64 cross.sh)
  tsr_package_test(without without.sh) # Vulkan's headers and SQLite
  # 2 MB until the CPU multiplied every integer type exactly: products and conversions of i16, i32 and i64 for three
  # instruction sets, bf16 products with denormals, and the rules that make IR text safe to run took 0.2 MB; structured
  # ops of Tile IR and the rules of Target IR 0.05 MB. 44 more ops of Graph IR (rows with their help, formulas and
  # expansions of scalar functions, gathers and scatters) took 0.06 MB; no object of them has more than 12 KB. Complex
  # numbers (6 ops, 24 that take them too, their oracle, their parts) took 0.02 MB,
  # attention (op, rule, kernel, schedule) as much, pooling and lost rows that are read anew 0.01 MB each, what runs
  # along an axis or orders its elements, and experts, 0.03 MB.
  # Random numbers, optimizers and routines on whole matrices took 0.05 MB; Fourier transforms 0.24 MB, 0.2 of them a
  # kernel whose passes are written out for two types and three instruction sets. Gradients of attention in one kernel,
  # Winograd's transforms and copies in profiles took 0.1 MB.
  # With gcc 12, and room for newer compilers: gcc 14 writes 2 % more.
  tsr_package_test(size_cpu size.sh 4400000 -DTSR_VULKAN=OFF -DTSR_CUDA=OFF -DTSR_HIP=OFF)
  tsr_package_test(size_cpu_vulkan size.sh 4700000 -DTSR_VULKAN=ON -DTSR_CUDA=OFF -DTSR_HIP=OFF)
endif()
