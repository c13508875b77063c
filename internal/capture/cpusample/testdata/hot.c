/* Two threads, one after the other named "worker", spend three quarters of their time in hot_three and one quarter in hot_one. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

volatile unsigned long sink;

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

__attribute__((noinline)) void burn(double s)
{
	double end = now() + s;
	while (now() < end)
		for (int i = 0; i < 20000; i++)
			sink += (unsigned long)i;
}

__attribute__((noinline)) void hot_three(void)
{
	burn(0.03);
	sink++;
}

__attribute__((noinline)) void hot_one(void)
{
	burn(0.01);
	sink++;
}

static void *work(void *seconds)
{
	double end = now() + *(double *)seconds;
	while (now() < end) {
		hot_three();
		hot_one();
		usleep(1000);
	}
	return NULL;
}

static void *named(void *seconds)
{
	prctl(PR_SET_NAME, "worker");
	return work(seconds);
}

int main(int n, char **words)
{
	double seconds = n > 1 ? atof(words[1]) : 1.0;
	pthread_t thread;
	if (pthread_create(&thread, NULL, named, &seconds))
		return 1;
	work(&seconds);
	pthread_join(thread, NULL);
	return 0;
}
