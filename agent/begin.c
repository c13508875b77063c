//go:build ignore

/* What a stream says of its process, as JSON. */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core.h"

/* How many bytes of UTF-8 begin at p; 0: none that is well formed. */
static size_t utf8(const unsigned char *p)
{
	size_t n = p[0] < 0x80 ? 1 : p[0] >= 0xC2 && p[0] < 0xE0 ? 2 : (p[0] & 0xF0) == 0xE0 ? 3 : p[0] >= 0xF0 && p[0] < 0xF5 ? 4 : 0;
	for (size_t i = 1; i < n; i++)
		if ((p[i] & 0xC0) != 0x80)
			return 0;
	if ((p[0] == 0xE0 && p[1] < 0xA0) || (p[0] == 0xED && p[1] > 0x9F) || (p[0] == 0xF0 && p[1] < 0x90) || (p[0] == 0xF4 && p[1] > 0x8F))
		return 0;
	return n;
}

size_t lac_json(char *to, size_t size, const char *from)
{
	const unsigned char *p = (const unsigned char *)from;
	size_t at = 0;
	bool room = size > 0;
	while (*p) {
		char one[8];
		size_t n = utf8(p), w;
		if (n == 0) {
			w = (size_t)snprintf(one, sizeof one, "\\ufffd");
			n = 1;
		} else if (*p < 0x20 || *p == 0x7F) {
			w = (size_t)snprintf(one, sizeof one, "\\u%04x", *p);
		} else if (*p == '"' || *p == '\\') {
			w = (size_t)snprintf(one, sizeof one, "\\%c", *p);
		} else {
			memcpy(one, p, n);
			w = n;
		}
		p += n;
		if (room && at + w < size) { /* a sequence is there whole or not at all, and nothing after one that is not */
			memcpy(to + at, one, w);
			to[at + w] = 0;
		} else {
			if (room && size > at)
				to[at] = 0;
			room = false;
		}
		at += w;
	}
	if (at == 0 && size)
		to[0] = 0;
	return at;
}

typedef struct {
	char *to;
	size_t size, at;
} json;

__attribute__((format(printf, 2, 3))) static void say(json *j, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	int n = vsnprintf(j->to + j->at, j->size - j->at, format, args);
	va_end(args);
	if (n > 0 && (size_t)n < j->size - j->at)
		j->at += (size_t)n;
	j->to[j->at] = 0;
}

/* A quoted text, cut where its share of the room ends. */
static void quote(json *j, const char *s)
{
	size_t room = (j->size - j->at) / 2;
	say(j, "\"");
	size_t n = lac_json(j->to + j->at, room, s);
	j->at += n < room ? n : strlen(j->to + j->at);
	say(j, "\"");
}

static size_t slurp(const char *path, char *to, size_t size)
{
	size_t at = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		ssize_t n;
		while (at < size - 1 && (n = read(fd, to + at, size - 1 - at)) > 0)
			at += (size_t)n;
		close(fd);
	}
	to[at] = 0;
	return at;
}

uint64_t lac_born(uint64_t *age_ns)
{
	char stat[1024];
	unsigned long long ticks = 0;
	if (age_ns)
		*age_ns = 0;
	if (slurp("/proc/self/stat", stat, sizeof stat) == 0)
		return 0;
	const char *p = strrchr(stat, ')'); /* the command's name before it may hold anything */
	if (!p || sscanf(p + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu", &ticks) != 1)
		return 0;
	long hz = sysconf(_SC_CLK_TCK);
	struct timespec t;
	if (age_ns && hz > 0 && clock_gettime(CLOCK_BOOTTIME, &t) == 0) {
		uint64_t now = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec, born = ticks * (1000000000u / (uint64_t)hz);
		*age_ns = now > born ? now - born : 0;
	}
	return ticks;
}

static void command(json *j)
{
	static char line[32 << 10]; /* longer commands are cut */
	size_t n = slurp("/proc/self/cmdline", line, sizeof line);
	say(j, ",\"command\":[");
	for (size_t i = 0; i < n && j->at < j->size / 2; i += strlen(line + i) + 1) {
		say(j, i ? "," : "");
		quote(j, line + i);
	}
	say(j, "]");
}

/* Of the environment: who the process is among others, and what changes how CUDA works. */
static void environment(json *j)
{
	static const char *const names[] = {
		"RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "NODE_RANK", "MASTER_ADDR", "MASTER_PORT",
		"TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT", "SLURM_JOB_ID", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID",
		"SLURM_NTASKS", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMI_SIZE",
		"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "CUDA_LAUNCH_BLOCKING", "CUDA_MODULE_LOADING", "CUDA_DEVICE_MAX_CONNECTIONS",
		"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "OMP_NUM_THREADS", "NCCL_ALGO", "NCCL_PROTO",
	};
	bool first = true;
	say(j, ",\"env\":{");
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const char *v = getenv(names[i]);
		if (v && strlen(v) < 1024) {
			say(j, "%s\"%s\":", first ? "" : ",", names[i]);
			quote(j, v);
			first = false;
		}
	}
	say(j, "}");
}

size_t lac_begin(char *to, size_t size)
{
	json j = {to, size, 0};
	char name[512];
	say(&j, "{\"format\":%d,\"role\":\"agent\",\"version\":\"" LACUNA_AGENT_VERSION "\",\"session\":", SPOOL_FORMAT);
	quote(&j, lac_set()->session);
	say(&j, ",\"pid\":%ld,\"ppid\":%ld,\"host\":", (long)getpid(), (long)getppid());
	if (gethostname(name, sizeof name) != 0)
		name[0] = 0;
	name[sizeof name - 1] = 0;
	quote(&j, name);
	slurp("/proc/sys/kernel/random/boot_id", name, sizeof name);
	name[strcspn(name, "\n")] = 0;
	say(&j, ",\"boot\":");
	quote(&j, name);
	command(&j);
	char exe[4096];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
	exe[n > 0 ? n : 0] = 0;
	say(&j, ",\"exe\":");
	quote(&j, exe);
	say(&j, ",\"real_ns\":%llu", (unsigned long long)lac_real_ns());
	environment(&j);
	say(&j, "}");
	return j.at;
}
