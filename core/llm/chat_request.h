/* core/llm/chat_request.h - a conversation and the template that it is put into. */
#ifndef CORE_LLM_CHAT_REQUEST_H
#define CORE_LLM_CHAT_REQUEST_H

typedef struct chat_message { const char *role, *content; } chat_message;

typedef struct chat_request {
  const char *template_text;
  const chat_message *messages;
  int n;
  const char *bos, *eos; /* texts of the model's tokens */
  const char *file;      /* for messages */
} chat_request;
#endif
