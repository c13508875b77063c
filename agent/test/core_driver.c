/* Drives the agent's core from within: core_test.go compiles it with the agent's sources, and says what it must find in the spool.
 * core_driver MODE [N...]. It prints a line "emitted N taken T dropped D" at its end, for all its processes. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../core.h"

/* Shared with the children. */
static struct {
	atomic_ullong emitted, taken, dropped, next_thread;
} *sum;

static void die(const char *what)
{
	perror(what);
	exit(9);
}

/* A row that checks itself: id counts within the thread, payload is the thread's number, the name follows from id. */
static void emit(uint64_t thread, uint64_t id, size_t length)
{
	char name[512], extended[20000];
	int n = snprintf(name, sizeof name, "range %llu", (unsigned long long)(id % 97));
	memset(extended, 'x', length);
	spool_nvtx row = {.time = lac_real_ns(), .id = id, .payload = thread, .tid = lac_tid(), .what = 5};
	const lac_text texts[] = {{LAC_AT(nvtx, name), name, (size_t)n}, {LAC_AT(nvtx, extended), extended, length}};
	lac_emit(SPOOL_T_nvtx, &row, sizeof row, texts, length ? 2 : 1);
	atomic_fetch_add(&sum->emitted, 1);
}

struct work {
	unsigned long events, pause_every, bytes;
};

static void *thread_main(void *arg)
{
	struct work w = *(struct work *)arg;
	uint64_t me = atomic_fetch_add(&sum->next_thread, 1);
	for (unsigned long i = 0; i < w.events && atomic_load(&lac_on); i++) {
		emit(me, i, w.bytes);
		if (w.pause_every && i % w.pause_every == w.pause_every - 1)
			usleep(1000);
	}
	return NULL;
}

/* threads at a time, rounds of them, each of which emits so much. */
static void storm(unsigned long threads, unsigned long rounds, struct work w)
{
	pthread_t *t = calloc(threads, sizeof *t);
	pthread_attr_t small;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 256 << 10);
	for (unsigned long r = 0; r < rounds; r++) {
		for (unsigned long i = 0; i < threads; i++)
			if (pthread_create(&t[i], &small, thread_main, &w) != 0)
				die("pthread_create");
		for (unsigned long i = 0; i < threads; i++)
			pthread_join(t[i], NULL);
	}
	free(t);
}

static void add_counts(void)
{
	lac_ring_count c = lac_rings_count();
	atomic_fetch_add(&sum->taken, c.taken);
	atomic_fetch_add(&sum->dropped, c.dropped);
}

static double seconds(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static atomic_bool forked_all;

static void *busy_main(void *unused)
{
	uint64_t me = atomic_fetch_add(&sum->next_thread, 1);
	for (uint64_t i = 0; !atomic_load(&forked_all); i++) {
		emit(me, i, 0);
		if (i % 500 == 499)
			usleep(1000);
	}
	return unused;
}

/* Children that are forked in the middle of a storm, and storm themselves; some are forked by children. The storm's threads run before
 * and after all forks: AddressSanitizer's own allocator is not made for a fork while a thread begins or ends. */
static void forks(unsigned long n)
{
	pthread_t busy[4];
	for (int i = 0; i < 4; i++)
		pthread_create(&busy[i], NULL, busy_main, NULL);
	while (atomic_load(&sum->emitted) < 2000)
		usleep(1000);
	for (unsigned long i = 0; i < n; i++) {
		pid_t child = fork();
		if (child < 0)
			die("fork");
		if (child == 0) {
			alarm(60);
			if (i % 4 != 3) /* every fourth never emits, and must leave no file */
				storm(3, 2, (struct work){.events = 300, .pause_every = 50});
			if (i % 4 == 1 && fork() == 0) {
				storm(1, 1, (struct work){.events = 10});
				add_counts();
				exit(0);
			}
			while (wait(NULL) > 0)
				;
			add_counts();
			exit(0);
		}
		usleep(2000);
	}
	atomic_store(&forked_all, true);
	for (int i = 0; i < 4; i++)
		pthread_join(busy[i], NULL);
	int status;
	while (wait(&status) > 0)
		if (status != 0) {
			fprintf(stderr, "a child ended with %#x\n", status);
			exit(9);
		}
}

/* The process ends, from a thread, while others emit; what they emit after that is nobody's. */
static void *ends(void *quick)
{
	usleep(50000);
	printf("emitted 0 taken 0 dropped 0\n");
	fflush(stdout);
	if (quick)
		quick_exit(0);
	exit(0);
}

static void busy_exit(bool quick)
{
	pthread_t t;
	for (int i = 0; i < 4; i++)
		pthread_create(&t, NULL, busy_main, NULL);
	pthread_create(&t, NULL, ends, quick ? sum : NULL);
	pthread_join(t, NULL);
}

/* Threads that emit when their keys are torn down, in every round of that. */
static pthread_key_t late;
static void at_teardown(void *rounds)
{
	uintptr_t left = (uintptr_t)rounds;
	emit(1000 + left, 0, 0);
	if (left > 1)
		pthread_setspecific(late, (void *)(left - 1));
}

static void *late_main(void *unused)
{
	pthread_setspecific(late, (void *)(uintptr_t)10); /* more than there are rounds */
	emit(atomic_fetch_add(&sum->next_thread, 1), 0, 0);
	return unused;
}

static void teardown(unsigned long n)
{
	pthread_key_create(&late, at_teardown);
	for (unsigned long i = 0; i < n; i++) {
		pthread_t t;
		pthread_create(&t, NULL, late_main, NULL);
		pthread_join(t, NULL);
	}
}

static void cost(unsigned long n)
{
	double from = seconds(CLOCK_THREAD_CPUTIME_ID), wall = seconds(CLOCK_MONOTONIC);
	for (unsigned long i = 0; i < n; i++)
		emit(0, i, 0);
	printf("ns %.1f wall %.1f\n", (seconds(CLOCK_THREAD_CPUTIME_ID) - from) / (double)n * 1e9, (seconds(CLOCK_MONOTONIC) - wall) / (double)n * 1e9);
}

/* A daemon's habit: all descriptors closed, the numbers used for files of its own. */
static void close_all(void)
{
	usleep(100000);
	for (int fd = 3; fd < 1024; fd++)
		close(fd);
	for (int i = 0; i < 1000; i++)
		if (open(getenv("OWN_FILE"), O_CREAT | O_RDWR, 0600) < 0)
			die("open");
	storm(2, 1, (struct work){.events = 2000, .pause_every = 100});
}

/* Windows by the hundred; half of them without an event. */
static void windows(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++) {
		if (lac_start("test") != 0 || !atomic_load(&lac_on) || lac_get_state() != LAC_RECORDING)
			exit(8);
		if (i % 2)
			storm(2, 1, (struct work){.events = 50});
		if (lac_stop("test") != 0 || atomic_load(&lac_on) || lac_get_state() != LAC_STOPPED)
			exit(7);
	}
}

static void race_in(void)
{
	pthread_t t[16];
	for (int i = 0; i < 16; i++)
		pthread_create(&t[i], NULL, (void *(*)(void *))lac_enter, NULL);
	for (int i = 0; i < 16; i++)
		pthread_join(t[i], NULL);
}

static atomic_int caught;

static void on_signal(int s)
{
	(void)s;
	emit(1 + (uint64_t)atomic_fetch_add(&caught, 1), 0, 0); /* as a thread of its own: handlers may nest */
}

/* A handler that emits too, in the middle of anything. */
static void signals(unsigned long n)
{
	struct sigaction a = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	struct itimerval every = {{0, 200}, {0, 200}};
	sigaction(SIGALRM, &a, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	for (unsigned long i = 0; i < n; i++)
		emit(0, i, 0);
	every = (struct itimerval){0};
	setitimer(ITIMER_REAL, &every, NULL);
}

/* Packs stdin to stdout, and prints the checksum of what came to stderr. */
static int pack(void)
{
	size_t n = 0, room = SPOOL_MAX_PLAIN;
	char *in = malloc(room), *out = malloc(LAC_PACKED_MAX(room));
	for (ssize_t r; (r = read(0, in + n, room - n)) > 0;)
		n += (size_t)r;
	char *tight = malloc(n ? n : 1); /* so that the sanitizer sees a byte too many */
	memcpy(tight, in, n);
	size_t packed = lac_pack(tight, n, out);
	if (packed > LAC_PACKED_MAX(n) || write(1, out, packed) != (ssize_t)packed)
		return 1;
	fprintf(stderr, "%u\n", lac_crc32c(tight, n));
	return 0;
}

static int json(const char *text)
{
	char whole[4096], cut[64];
	size_t n = lac_json(whole, sizeof whole, text);
	if (n != strlen(whole))
		return 1;
	for (size_t size = 0; size < sizeof cut; size++) { /* any room: a beginning that is whole */
		memset(cut, 'Z', sizeof cut);
		if (lac_json(cut, size, text) != n || (size && (strlen(cut) >= size || strncmp(cut, whole, strlen(cut)) != 0)))
			return 1;
		if (size > n && strcmp(cut, whole) != 0)
			return 1;
	}
	puts(whole);
	return 0;
}

/* As the user uid: asks the socket of that name, and prints its answer. */
static int ask(unsigned long uid, const char *name, const char *line)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int n = snprintf(a.sun_path + 1, sizeof a.sun_path - 1, "%s", name);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	if (uid != getuid() && setuid((uid_t)uid) != 0)
		die("setuid");
	if (connect(fd, (struct sockaddr *)&a, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)) != 0)
		die("connect");
	dprintf(fd, "%s\n", line);
	char answer[16 << 10];
	for (ssize_t r; (r = read(fd, answer, sizeof answer)) > 0;)
		if (write(1, answer, (size_t)r) < 0)
			die("write");
	return 0;
}

int InitializeInjection(void);

static void *inject(void *unused)
{
	(void)unused;
	if (InitializeInjection() != 1)
		exit(6);
	return NULL;
}

/* As the driver does it, but from many threads and NVTX's way in beside it. */
static void injection(void)
{
	pthread_t t[8];
	for (int i = 0; i < 8; i++)
		pthread_create(&t[i], NULL, i % 2 ? inject : (void *(*)(void *))lac_enter, NULL);
	for (int i = 0; i < 8; i++)
		pthread_join(t[i], NULL);
	storm(2, 1, (struct work){.events = 100});
}

/* More names than are kept. */
static void names(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++) {
		char name[200];
		int bytes = snprintf(name, sizeof name, "%0100lu", i);
		spool_nvtx row = {.id = i, .what = 5};
		const lac_text text = {LAC_AT(nvtx, name), name, (size_t)bytes};
		while (!lac_emit(SPOOL_T_nvtx, &row, sizeof row, &text, 1))
			usleep(100);
	}
}

static unsigned long number(char **argv, int i)
{
	for (int k = 1; k <= i; k++)
		if (!argv[k])
			return 0;
	return strtoul(argv[i], NULL, 10);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	if (strcmp(mode, "pack") == 0)
		return pack();
	if (strcmp(mode, "json") == 0)
		return json(argc > 2 ? argv[2] : "");
	sum = mmap(NULL, sizeof *sum, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (strcmp(mode, "ask") == 0)
		return argc == 5 ? ask(number(argv, 2), argv[3], argv[4]) : 2;
	if (strcmp(mode, "inject") == 0)
		injection();
	if (strcmp(mode, "enter") == 0)
		race_in();
	lac_enter();
	int is_on = atomic_load(&lac_on);
	if (strcmp(mode, "storm") == 0)
		storm(number(argv, 2), number(argv, 3), (struct work){number(argv, 4), number(argv, 5), number(argv, 6)});
	else if (strcmp(mode, "fork") == 0)
		forks(number(argv, 2));
	else if (strcmp(mode, "cost") == 0)
		cost(number(argv, 2));
	else if (strcmp(mode, "close") == 0)
		close_all();
	else if (strcmp(mode, "windows") == 0)
		windows(number(argv, 2));
	else if (strcmp(mode, "signals") == 0)
		signals(number(argv, 2));
	else if (strcmp(mode, "exit") == 0 || strcmp(mode, "quick") == 0)
		busy_exit(*mode == 'q');
	else if (strcmp(mode, "teardown") == 0)
		teardown(number(argv, 2));
	else if (strcmp(mode, "names") == 0)
		names(number(argv, 2));
	else if (strcmp(mode, "live") == 0) { /* emits until its input ends */
		fcntl(0, F_SETFL, O_NONBLOCK);
		puts("ready");
		fflush(stdout);
		char c;
		for (uint64_t i = 0; read(0, &c, 1) != 0;) {
			for (int k = 0; k < 20; k++)
				if (atomic_load(&lac_on))
					emit(0, i++, 0);
			usleep(200);
		}
	} else if (strcmp(mode, "exec") == 0) {
		emit(0, 0, 0);
		usleep(200000);
		execl("/proc/self/exe", argv[0], "storm", "1", "1", "10", NULL);
		die("execl");
	} else if (strcmp(mode, "steps") == 0) {
		for (int i = 0; i < 10; i++) {
			char name[32];
			snprintf(name, sizeof name, "step %d", i);
			lac_step_began(name);
			if (atomic_load(&lac_on))
				emit(0, (uint64_t)i, 0);
			lac_step_began("not a step");
		}
	}
	add_counts();
	printf("emitted %llu taken %llu dropped %llu\n", atomic_load(&sum->emitted), atomic_load(&sum->taken), atomic_load(&sum->dropped));
	fflush(stdout);
	if (strcmp(mode, "enter") == 0)
		return is_on ? 0 : 5;
	return 0;
}
