//go:build ignore

/* The socket: abstract, "lacuna-UID-PID", for the same user and root. One request a connection, one line:
 *
 *   start [SECONDS]   opens a window, for so long or until it is stopped
 *   stop              closes it
 *   status
 *
 * The answer is one line, lac_status; if the request did not succeed, with "error" before. A window that was open already, or none, is
 * no error. */
#define _GNU_SOURCE /* accept4, struct ucred */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "core.h"

enum {
	STACK = 256 << 10,
	AWAY = 400,       /* descriptors from here on: programs count on the first ones */
	CLIENT_MS = 2000, /* for a request to come whole */
	STRANGER_MS = 200, /* of another user: only so that it reads the answer instead of an error */
	LOOK_MS = 10000,  /* so often it sees whether the program closed the socket */
};

static atomic_int listener = -1;
static dev_t dev;
static ino_t ino;
static atomic_bool ending;

static int listen_here(void)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int n = snprintf(a.sun_path + 1, sizeof a.sun_path - 1, "lacuna-%lu-%ld", (unsigned long)getuid(), (long)getpid());
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -1;
	int high = fcntl(fd, F_DUPFD_CLOEXEC, AWAY);
	if (high >= 0) {
		close(fd);
		fd = high;
	}
	struct stat st;
	if (bind(fd, (struct sockaddr *)&a, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)) != 0 || listen(fd, 8) != 0 ||
	    fstat(fd, &st) != 0) {
		close(fd);
		return -1;
	}
	dev = st.st_dev;
	ino = st.st_ino;
	return fd;
}

static bool ours(int fd)
{
	struct stat st;
	return fd >= 0 && fstat(fd, &st) == 0 && st.st_dev == dev && st.st_ino == ino;
}

/* --- one client ------------------------------------------------------------------------------------------------------ */

static bool may_ask(int fd)
{
	struct ucred who;
	socklen_t n = sizeof who;
	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) == 0 && (who.uid == 0 || who.uid == getuid() || who.uid == geteuid());
}

/* A line, without its end. False: none came in time. */
static bool read_line(int fd, char *line, size_t size, unsigned ms)
{
	uint64_t end = lac_mono_ns() + ms * (uint64_t)1000000;
	size_t at = 0;
	for (;;) {
		uint64_t now = lac_mono_ns();
		struct pollfd p = {.fd = fd, .events = POLLIN};
		if (now >= end || at == size - 1 || poll(&p, 1, (int)((end - now) / 1000000) + 1) < 0)
			return false;
		ssize_t n = recv(fd, line + at, size - 1 - at, MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (n <= 0)
			return false;
		line[at + (size_t)n] = 0;
		char *stop = strpbrk(line + at, "\r\n");
		if (stop) {
			*stop = 0;
			return true;
		}
		at += (size_t)n;
	}
}

static void answer(int fd, const char *error)
{
	char line[12 << 10];
	size_t at = 0;
	if (error) {
		char quoted[512];
		lac_json(quoted, sizeof quoted, error);
		at = (size_t)snprintf(line, sizeof line, "{\"error\":\"%s\",", quoted) - 1;
	}
	char after = line[at];
	size_t n = at + lac_status(line + at, sizeof line - 1 - at);
	if (error)
		line[at] = after; /* a comma for the brace */
	line[n++] = '\n';
	send(fd, line, n, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static const char *obey(const char *line, char *error, size_t size)
{
	if (strcmp(line, "status") == 0)
		return NULL;
	if (strcmp(line, "stop") == 0)
		return lac_stop("asked to stop") == 0 ? NULL : "stop: the agent did not answer in time";
	if (strncmp(line, "start", 5) == 0 && (line[5] == 0 || line[5] == ' ')) {
		char *end = "";
		double seconds = line[5] ? strtod(line + 6, &end) : lac_set()->duration_s;
		if (*end == 0 && seconds >= 0 && seconds < 1e9)
			return lac_start_for("asked to start", seconds) == 0 ? NULL : "start: the agent could not, or did not answer in time";
	}
	snprintf(error, size, "request %.100s: not known; there are start [SECONDS], stop and status", line);
	return error;
}

static void serve(int fd)
{
	char line[256], error[256];
	if (!may_ask(fd)) {
		read_line(fd, line, sizeof line, STRANGER_MS);
		static const char no[] = "{\"error\":\"only the program's own user may ask\"}\n";
		send(fd, no, sizeof no - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
	} else if (read_line(fd, line, sizeof line, CLIENT_MS)) {
		answer(fd, obey(line, error, sizeof error));
	}
}

/* --- the thread ------------------------------------------------------------------------------------------------------- */

static void *run(void *unused)
{
	(void)unused;
	prctl(PR_SET_NAME, "lacuna-control");
	while (!atomic_load(&ending)) {
		struct pollfd p = {.fd = atomic_load(&listener), .events = POLLIN};
		poll(&p, 1, LOOK_MS); /* without a descriptor it only waits */
		if (atomic_load(&ending))
			break;
		if (!ours(atomic_load(&listener))) { /* the program closed it; the number is the program's now */
			atomic_store(&listener, listen_here());
			continue;
		}
		int client = accept4(atomic_load(&listener), NULL, NULL, SOCK_CLOEXEC);
		if (client >= 0) {
			serve(client);
			close(client);
		}
		struct timespec t;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
		atomic_store(&lac_cpu_ns, (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec);
	}
	return NULL;
}

int lac_control_start(void)
{
	int fd = listen_here();
	if (fd < 0)
		return -1;
	atomic_store(&listener, fd);
	if (lac_thread(run, STACK) == 0)
		return 0;
	close(fd);
	atomic_store(&listener, -1);
	return -1;
}

void lac_control_stop(void)
{
	atomic_store(&ending, true);
	int fd = atomic_load(&listener);
	if (fd >= 0)
		shutdown(fd, SHUT_RDWR);
}

void lac_control_forked(void)
{
	int fd = atomic_exchange(&listener, -1);
	if (ours(fd))
		close(fd); /* the child's copy: the parent's stays */
	atomic_store(&ending, false);
}
