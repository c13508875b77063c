//go:build ignore

/* The spool's file. Each chunk is one write(2) at its end, so that what a kill leaves is whole chunks and at most one cut one. A disk
 * that takes no more is tried again once a second; what it took of a chunk is cut off again. The program may close our
 * descriptor (daemons close all that they see) and be given its number for a file of its own: before each write the file is
 * known by its device and inode. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core.h"

enum { AWAY = 400 }; /* descriptors from here on: programs count on the first ones */

static const uint64_t RETRY_NS = 1000000000u;

static struct {
	char path[sizeof((lac_settings *)0)->dir + 64];
	int fd; /* as open gave it, if opened */
	bool opened, gone;
	dev_t dev;
	ino_t ino;
	off_t whole;    /* where the last whole chunk ends */
	int full;       /* errno of the last try; 0: it went well */
	int was_full;   /* that, for lac_file_recovered */
	uint64_t retry; /* CLOCK_MONOTONIC ns */
	atomic_ullong bytes;
} f;

static int open_at(const char *path, int flags, struct stat *st)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | flags, 0600);
	if (fd < 0)
		return -1;
	int high = fcntl(fd, F_DUPFD_CLOEXEC, AWAY);
	if (high >= 0) {
		close(fd);
		fd = high;
	}
	if (fstat(fd, st) == 0 && S_ISREG(st->st_mode))
		return fd;
	int why = errno ? errno : EINVAL;
	close(fd);
	errno = why;
	return -1;
}

int lac_file_open(const char *path)
{
	struct stat st;
	if (f.opened)
		return 0;
	if (strlen(path) >= sizeof f.path) {
		errno = ENAMETOOLONG;
		return -1;
	}
	int fd = open_at(path, O_CREAT, &st);
	if (fd < 0)
		return -1;
	strcpy(f.path, path);
	f.fd = fd;
	f.dev = st.st_dev;
	f.ino = st.st_ino;
	f.whole = st.st_size; /* a program that was exec'ed over another goes on in its file, as a stream of its own */
	f.full = f.was_full = 0;
	f.retry = 0;
	f.gone = false;
	f.opened = true;
	return 0;
}

static bool same(const struct stat *st)
{
	return st->st_dev == f.dev && st->st_ino == f.ino;
}

/* Makes sure that the descriptor is our file's still. False: the file is no more. */
bool lac_file_there(void)
{
	struct stat st;
	if (f.gone || !f.opened)
		return false;
	if (fstat(f.fd, &st) != 0 || !same(&st)) {
		f.fd = open_at(f.path, 0, &st); /* the number is the program's now: it is not closed */
		if (f.fd >= 0 && !same(&st)) {
			close(f.fd);
			f.fd = -1;
		}
	}
	if (f.fd < 0 || st.st_nlink == 0) {
		if (f.fd >= 0)
			close(f.fd);
		f.fd = -1;
		f.gone = true;
	}
	return !f.gone;
}

/* How the write of n bytes went: 0, or errno. */
static int put(const char *p, size_t n)
{
	while (n) {
		ssize_t w = write(f.fd, p, n);
		if (w < 0 && errno == EINTR)
			continue;
		if (w < 0)
			return errno ? errno : EIO;
		if (w == 0)
			return ENOSPC;
		p += w;
		n -= (size_t)w;
	}
	return 0;
}

bool lac_file_append(const void *chunk, size_t bytes)
{
	if (f.full && lac_mono_ns() < f.retry)
		return false;
	if (!lac_file_there())
		return false;
	int why = put(chunk, bytes);
	if (why) {
		if (ftruncate(f.fd, f.whole) != 0) { /* then a reader finds the next header behind the rest */
			struct stat st;
			if (fstat(f.fd, &st) == 0)
				f.whole = st.st_size;
		}
		f.full = why;
		f.retry = lac_mono_ns() + RETRY_NS;
		return false;
	}
	f.whole += (off_t)bytes;
	atomic_fetch_add(&f.bytes, bytes);
	if (f.full) {
		f.was_full = f.full;
		f.full = 0;
	}
	return true;
}

void lac_file_retry(void)
{
	f.retry = 0;
}

int lac_file_recovered(void)
{
	int was = f.was_full;
	f.was_full = 0;
	return was;
}

bool lac_file_gone(void)
{
	return f.gone;
}

uint64_t lac_file_bytes(void)
{
	return atomic_load(&f.bytes);
}

void lac_file_close(void)
{
	struct stat st;
	if (f.opened && f.fd >= 0 && fstat(f.fd, &st) == 0 && same(&st))
		close(f.fd);
	f.opened = false;
}

/* The child's descriptor is its own copy: to close it does nothing to the parent's. */
void lac_file_forked(void)
{
	lac_file_close();
	f.gone = false;
	atomic_store(&f.bytes, 0);
}
