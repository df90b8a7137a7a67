/* tests/support/json_schema.h - checks JSON against the part of JSON Schema (draft 2020-12) that our schemas use: type,
 * const, enum, required, properties, additionalProperties, items, minimum, maximum, minLength. Any other keyword but
 * annotations fails. */
#ifndef TESTS_SUPPORT_JSON_SCHEMA_H
#define TESTS_SUPPORT_JSON_SCHEMA_H
#include "core/base/json.h"

/* True when `value` keeps to `schema`; else prints the place and what was expected. */
bool json_schema_holds(const json *schema, const json *value, const char *place);
#endif
