/* tests/unit/test_llm_chat.c - chat templates as models have them, with the texts that they stand for worked out by
 * hand; what isn't read is refused with its place, whatever the template. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "core/llm/chat.h"

static const chat_message talk[4] = {
    {"system", "Be brief."}, {"user", " Hi! "}, {"assistant", "Hello."}, {"user", "1+1?"}};

static tsr_status render(const char *t, int first, int n, strb *out) {
  strb_init(out, NULL);
  return chat_render(&(chat_request){.template_text = t, .messages = talk + first, .n = n, .bos = "<s>", .eos = "</s>",
                                     .file = "t.gguf"},
                     out);
}

static void gives(const char *t, int first, int n, const char *want) {
  strb b;
  tsr_status st = render(t, first, n, &b);
  if (st) fail_msg("%s", tsr_status_message(st));
  assert_string_equal(strb_text(&b), want);
  strb_clear(&b);
}

static void refused(const char *t, tsr_code code, const char *says) {
  strb b;
  tsr_status st = render(t, 1, 1, &b);
  if (tsr_status_code(st) != code || !strstr(tsr_status_message(st), says))
    fail_msg("%s: expected \"%s\", got: %s", t, says, st ? tsr_status_message(st) : strb_text(&b));
  tsr_status_free(st);
  strb_clear(&b);
}

static void templates_of_models_give_their_texts(void **state) {
  (void)state;
  gives("{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\n"
        "You are helpful<|im_end|>\n' }}{% endif %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + "
        "'<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}",
        1, 1, "<|im_start|>system\nYou are helpful<|im_end|>\n<|im_start|>user\n Hi! "
        "<|im_end|>\n<|im_start|>assistant\n");
  gives("{{- bos_token }}\n{%- if not date_string is defined %}\n    {%- set date_string = \"26 Jul\" "
  "%}\n{%- endif %}\n"
        "{%- if messages[0]['role'] == 'system' %}\n    {%- set system_message = messages[0]['content']|trim %}\n"
        "    {%- set messages = messages[1:] %}\n{%- else %}\n    {%- set system_message = \"\" %}\n{%- endif %}\n"
        "{{- \"<|h|>\" + date_string + \"\\n\" + system_message }}\n{%- for message in messages %}\n"
        "    {%- if not (message.role == 'ipython' or 'tool_calls' in message) %}\n"
        "        {{- '<|' + message['role'] + '|>' + message['content'] | trim + '<|e|>' }}\n"
        "    {%- elif message.tool_calls|length != 1 %}\n        {{- frobnicate(1) }}\n    {%- endif "
        "%}\n{%- endfor %}\n"
        "{%- if add_generation_prompt %}\n    {{- '<|a|>' }}\n{%- endif %}\n",
        0, 4, "<s><|h|>26 Jul\nBe brief.<|user|>Hi!<|e|><|assistant|>Hello.<|e|><|user|>1+1?<|e|><|a|>");
  gives("{{ bos_token }}{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}"
        "{{ raise_exception('roles must alternate') }}{% endif %}{% if message['role'] == 'user' %}"
        "{{ '[INST] ' + message['content'].strip() + ' [/INST]' }}{% else %}{{ message['content'] + eos_token }}"
        "{% endif %}{% endfor %}",
        1, 3, "<s>[INST] Hi! [/INST]Hello.</s>[INST] 1+1? [/INST]");
  gives("{% set ns = namespace(found=false, n=2) %}\n{% for m in messages %}\n  {% if m.role == 'system' %}\n"
        "    {% set ns.found = true %}\n  {% endif %}\n{% endfor %}\n{{ 'yes' if ns.found else 'no' }} {{ "
        "ns.n * 3 - 1 }}",
        0, 4, "yes 5");
}

static void expressions_are_computed(void **state) {
  (void)state;
  gives("{# a note #}{{ messages | length }} {{ messages[-1].content }} {{ 'a' in 'cat' }} {{ 'x' not in "
  "'cat' }}", 0, 4,
        "4 1+1? True True");
  gives("{{ x is defined or none is none }} {{ not true and false }} {{ 'ab'.startswith('a') }} {{ 'A' | "
  "lower ~ 1 }}", 0,
        4, "True False True a1");
  gives("{{ ('a\\'b' | tojson) + \"\\\"\" }}{{ undefined_one }}{{ y | default('d') }}", 0, 4, "\"a'b\"\"d");
  gives("{% for m in messages[1:3] -%}\n {{ loop.index }}{% if not loop.last %}, {% endif %}\n{%- endfor %}", 0, 4,
        "1, 2");
  gives("{% if tools %}{{ tools | map(attribute='name') }}{% for t in tools %}{% endfor %}{% endif %}x", 0, 4, "x");
  gives("{% for m in nothing %}{{ m }}{% endfor %}.", 0, 4, ".");
}

static void what_is_not_read_is_refused(void **state) {
  (void)state;
  refused("a\n{{ messages | map }}", TSR_UNSUPPORTED, "t.gguf: 2:");
  refused("{% macro f() %}{% endmacro %}", TSR_UNSUPPORTED, "an unknown statement \"macro\"");
  refused("{{ strftime_now('%d') }}", TSR_UNSUPPORTED, "an unknown function \"strftime_now\"");
  refused("{{ raise_exception('no ' + 'way') }}", TSR_INVALID_ARGUMENT, "the template says: no way");
  refused("{% for m in messages %}", TSR_UNSUPPORTED, "within \"for\"");
  refused("{% if true %}{% endfor %}", TSR_UNSUPPORTED, "within \"if\"");
  refused("{% endif %}", TSR_UNSUPPORTED, "a block ends that none began");
  refused("{{ 'a", TSR_UNSUPPORTED, "a text without its end");
  refused("{{ 1", TSR_UNSUPPORTED, "unexpected");
  refused("{{ messages }}", TSR_UNSUPPORTED, "a list or an object is written");
  refused("{{ 'a' * 2 }}", TSR_UNSUPPORTED, "values that don't go with");
  refused("{{ ((((((((((((((((((((((((((((((((((((((((1)))))", TSR_UNSUPPORTED, "too deep");
  refused("{% set = 1 %}", TSR_UNSUPPORTED, "no \"set NAME = value\"");
}

static void any_cut_of_a_template_ends(void **state) {
  (void)state;
  static const char whole[] = "{% set ns = namespace(a=1) %}{% for m in messages[0:] %}{% if m['role'] == "
  "\"user\" and not "
                              "loop.last -%} {{ m.content | trim + 'x' }}{% elif 'a' in m %}{# n #}{% else "
                              "%}b{% endif %}"
                              "{% endfor %}{{ ns.a }}";
  for (size_t cut = 0; cut < sizeof whole; cut++) {
    char part[sizeof whole];
    strb b;
    memcpy(part, whole, cut);
    part[cut] = 0;
    tsr_status_free(render(part, 0, 4, &b));
    strb_clear(&b);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(templates_of_models_give_their_texts),
                                     cmocka_unit_test(expressions_are_computed),
                                     cmocka_unit_test(what_is_not_read_is_refused),
                                     cmocka_unit_test(any_cut_of_a_template_ends)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
