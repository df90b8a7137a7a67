/* tools/tessera/plan_page.c - a plan's timeline as a page of its own (no script, nothing is loaded) and as a trace in
 * the format that profiles have, which Chromium's viewer and Perfetto open. */
#include <string.h>

#include "tools/tessera/plan.h"

static const char *color_of(const char *kind) {
  static const struct {
    const char *kind, *color;
  } rows[] = {{"forward", "#4878b0"},
              {"backward", "#b05048"},
              {"weights", "#d8a048"},
              {"compute", "#4878b0"},
              {"comm", "#50a060"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (!strcmp(rows[i].kind, kind)) return rows[i].color;
  return "#888888";
}

enum { WIDTH = 1200, LANE = 26, LEFT = 90, TOP = 70 };

static double end_of(const plan_timeline *t) {
  double end = 0;
  for (int i = 0; i < t->n_bars; i++)
    if (t->bars[i].to > end) end = t->bars[i].to;
  return end > 0 ? end : 1;
}

static void escape(FILE *f, const char *s) {
  for (; *s; s++) {
    if (*s == '<') fputs("&lt;", f);
    else if (*s == '&') fputs("&amp;", f);
    else fputc(*s, f);
  }
}

static int write_page(const char *path, const plan_timeline *t) {
  FILE *f = cli_create("plan", path);
  if (!f) return EXIT_USAGE;
  const double scale = WIDTH / end_of(t);
  fputs("<!doctype html>\n<meta charset=\"utf-8\">\n<title>tessera plan</title>\n<body style=\"font-family: "
        "sans-serif\">\n<h2>",
        f);
  escape(f, t->title);
  fprintf(f, "</h2>\n<p>%.6g us. Simulated: nothing ran.</p>\n<svg width=\"%d\" height=\"%d\" font-size=\"12\">\n",
          end_of(t), WIDTH + LEFT + 20, t->n_lanes * LANE + TOP);
  static const char *const kinds[] = {"forward", "backward", "weights", "compute", "comm"};
  for (int k = 0, x = LEFT; k < 5; k++) {
    bool used = false;
    for (int i = 0; i < t->n_bars; i++) used |= !strcmp(t->bars[i].kind, kinds[k]);
    if (!used) continue;
    fprintf(f, "<rect x=\"%d\" y=\"8\" width=\"14\" height=\"14\" fill=\"%s\"/><text x=\"%d\" y=\"20\">%s</text>\n", x,
            color_of(kinds[k]), x + 20, kinds[k]);
    x += 110;
  }
  for (int l = 0; l < t->n_lanes; l++)
    fprintf(f, "<text x=\"4\" y=\"%d\">%s %d</text>\n", 40 + l * LANE + 16, t->lane_name, l);
  for (int i = 0; i < t->n_bars; i++) {
    const plan_bar *b = &t->bars[i];
    fprintf(f,
            "<rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\" fill=\"%s\" stroke=\"white\" "
            "stroke-width=\"0.5\"><title>",
            LEFT + b->from * scale, 40 + b->lane * LANE, (b->to - b->from) * scale, LANE - 4, color_of(b->kind));
    escape(f, b->label);
    fprintf(f, ": %.6g to %.6g us</title></rect>\n", b->from, b->to);
  }
  fputs("</svg>\n</body>\n", f);
  return cli_finish("plan", path, f);
}

static int write_trace(const char *path, const plan_timeline *t) {
  FILE *f = cli_create("plan", path);
  if (!f) return EXIT_USAGE;
  fputs("{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n", f);
  for (int l = 0; l < t->n_lanes; l++)
    fprintf(f,
            "{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": 0, \"tid\": %d, \"args\": {\"name\": \"%s %d\"}},\n",
            l, t->lane_name, l);
  for (int i = 0; i < t->n_bars; i++) {
    const plan_bar *b = &t->bars[i];
    fputs("{\"ph\": \"X\", \"name\": ", f);
    cli_json_string(f, b->label);
    fprintf(f, ", \"cat\": \"%s\", \"pid\": 0, \"tid\": %d, \"ts\": %.6f, \"dur\": %.6f}%s\n", b->kind, b->lane,
            b->from, b->to - b->from, i + 1 < t->n_bars ? "," : "");
  }
  fputs("]}\n", f);
  return cli_finish("plan", path, f);
}

int plan_write_timeline(const plan_request *q, const plan_timeline *t) {
  int rc = q->html ? write_page(q->html, t) : EXIT_OK;
  return rc || !q->trace ? rc : write_trace(q->trace, t);
}
