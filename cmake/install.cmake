# Installation: headers, both libraries, a pkg-config file and a CMake package (find_package(Tessera) gives
# Tessera::shared and Tessera::static). Everything is relative to the prefix, so an installed tree may be moved.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set_target_properties(tessera_shared PROPERTIES EXPORT_NAME shared)
set_target_properties(tessera_static PROPERTIES EXPORT_NAME static)
install(TARGETS tessera_shared tessera_static EXPORT TesseraTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY include/tessera DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Tessera)
install(EXPORT TesseraTargets NAMESPACE Tessera:: DESTINATION ${package_dir})
configure_package_config_file(cmake/TesseraConfig.cmake.in TesseraConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(TesseraConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/TesseraConfig.cmake ${PROJECT_BINARY_DIR}/TesseraConfigVersion.cmake
  DESTINATION ${package_dir})

file(RELATIVE_PATH TSR_PC_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" TSR_PC_PREFIX ${TSR_PC_PREFIX})
set(TSR_PC_LIBS "") # by name: what sqlite3's own pkg-config file asks for under --static needn't be installed with it
if(SQLite3_FOUND)
  string(APPEND TSR_PC_LIBS " -lsqlite3")
endif()
if(ZLIB_FOUND)
  string(APPEND TSR_PC_LIBS " -lz")
endif()
configure_file(cmake/tessera.pc.in tessera.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/tessera.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
