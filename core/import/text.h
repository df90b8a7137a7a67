/* core/import/text.h - names and texts of other programs' files. */
#ifndef CORE_IMPORT_TEXT_H
#define CORE_IMPORT_TEXT_H
#include <stdbool.h>

/* UTF-8; without control characters, or with those too that a text of several lines has. */
bool import_is_text(const char *text, bool lines);
#endif
