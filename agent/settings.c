//go:build ignore

/* The environment, read once; a forked child keeps what its parent read. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core.h"

static lac_settings settings;

const lac_settings *lac_set(void)
{
	return &settings;
}

/* A value that does not fit is as good as none: half a path names something else. */
static void text(const char *name, char *to, size_t size)
{
	const char *v = getenv(name);
	size_t n = v ? strlen(v) : 0;
	if (n >= size)
		n = 0;
	if (n)
		memcpy(to, v, n);
	to[n] = 0;
}

static double number(const char *name, double other, double most)
{
	const char *v = getenv(name);
	char *end;
	if (!v || !*v)
		return other;
	double d = strtod(v, &end);
	return *end == 0 && d >= 0 && d <= most ? d : other; /* NaN fails both */
}

static bool flag(const char *name, bool other)
{
	const char *v = getenv(name);
	return v && *v ? strcmp(v, "0") != 0 : other;
}

void lac_settings_read(void)
{
	lac_settings *s = &settings;
	char graph[16], steps[64];
	text("LACUNA_SESSION", s->session, sizeof s->session);
	text("LACUNA_WINDOW", s->window, sizeof s->window);
	if (!s->window[0])
		strcpy(s->window, "whole");
	s->delay_s = number("LACUNA_DELAY", 0, 1e9);
	s->duration_s = number("LACUNA_DURATION", 0, 1e9);
	text("LACUNA_STEP_RANGE", s->step_range, sizeof s->step_range);
	text("LACUNA_STEPS", steps, sizeof steps);
	if (sscanf(steps, "%ld:%ld", &s->step_from, &s->step_to) != 2 || s->step_from < 0)
		s->step_from = 0, s->step_to = 0;
	s->flush_ms = (unsigned)number("LACUNA_FLUSH_MS", 500, 3600e3);
	if (s->flush_ms < 10)
		s->flush_ms = 10;
	s->memory = (size_t)number("LACUNA_MEMORY_MB", 256, 1 << 20) << 20;
	if (s->memory < 1 << 20)
		s->memory = 1 << 20;
	s->pack = flag("LACUNA_PACK", true);
	s->yield = flag("LACUNA_YIELD", false);
	text("LACUNA_GRAPH", graph, sizeof graph);
	s->nodes = strcmp(graph, "whole") != 0;
	text("LACUNA_CUPTI", s->cupti, sizeof s->cupti);
	text("LACUNA_KINDS", s->kinds, sizeof s->kinds);
	text("LACUNA_CHAIN", s->chain, sizeof s->chain);
	text("LACUNA_CHAIN_NVTX", s->chain_nvtx, sizeof s->chain_nvtx);
	text("LACUNA_DIR", s->dir, sizeof s->dir);
}

/* step, iter, iteration or batch, in any case, then _ # : or blanks, then a number: the whole name. As the readers have it. */
static bool marker(const char *name)
{
	static const char *const words[] = {"iteration", "iter", "step", "batch", "profilerstep"};
	size_t n = 0;
	for (size_t i = 0; i < sizeof words / sizeof *words && !n; i++)
		if (strncasecmp(name, words[i], strlen(words[i])) == 0)
			n = strlen(words[i]);
	if (!n)
		return false;
	name += n + strspn(name + n, "_#: ");
	size_t digits = strspn(name, "0123456789");
	return digits > 0 && name[digits] == 0;
}

bool lac_step_named(const char *name)
{
	const char *range = settings.step_range;
	size_t n = strlen(range);
	if (n == 0)
		return marker(name);
	if (range[n - 1] == '*')
		return strncmp(name, range, n - 1) == 0;
	return strcmp(name, range) == 0;
}
