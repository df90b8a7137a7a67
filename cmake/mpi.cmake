# The module that reaches MPI, compiled against the MPI at hand and loaded by the library at run time: the library
# itself needs none, and knows backends/coll/mpi_module.h alone.
if(TSR_MPI)
  find_package(MPI QUIET COMPONENTS C)
  if(MPI_C_FOUND)
    add_library(tessera_mpi MODULE ${PROJECT_SOURCE_DIR}/backends/coll/module/mpi.c)
    target_include_directories(tessera_mpi PRIVATE ${PROJECT_SOURCE_DIR})
    target_link_libraries(tessera_mpi PRIVATE MPI::MPI_C)
    set_target_properties(tessera_mpi PROPERTIES PREFIX "" OUTPUT_NAME tessera-mpi C_VISIBILITY_PRESET default
      LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tessera)
    install(TARGETS tessera_mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/tessera)
  else()
    message(STATUS "MPI not found (libopenmpi-dev): no module tessera-mpi.so, `--transport mpi` says so")
  endif()
endif()
