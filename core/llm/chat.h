/* core/llm/chat.h - what a model is told in a conversation, by the chat template in its file: the part of Jinja's
 * language that such templates use. Blocks for, if, elif, else and set, namespaces; strings, integers, the list of
 * messages and its parts; comparisons, in, and, or, not, +, ~, -, *, %, `a if b else c`, `is defined` and its like;
 * methods strip, lstrip, rstrip, upper, lower, startswith, endswith; filters trim, length, upper, lower, string,
 * default, tojson (of strings); raise_exception. What isn't of this part is an error where it is come upon; blocks that
 * aren't entered may hold anything. */
#ifndef CORE_LLM_CHAT_H
#define CORE_LLM_CHAT_H
#include "core/base/status.h"
#include "core/base/str.h"
#include "core/llm/chat_request.h"

/* Appends the text that asks for an answer to the messages. TSR_UNSUPPORTED with line and column of the template, or
 * TSR_INVALID_ARGUMENT with what the template says against the messages. */
TSR_MUST_USE tsr_status chat_render(const chat_request *q, strb *out);
#endif
