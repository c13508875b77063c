/* Recurses so often before it does anything that a frame of it lies 48 KiB further up the stack than what runs. */
#include <time.h>

volatile unsigned long sink;

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

__attribute__((noinline)) void burn(double until)
{
	while (now() < until)
		for (int i = 0; i < 20000; i++)
			sink += (unsigned long)i;
}

__attribute__((noinline)) void deeper(int frames, double until)
{
	volatile char room[1024];
	room[frames] = 1;
	if (frames > 0)
		deeper(frames - 1, until);
	else
		burn(until);
	sink += (unsigned long)room[frames];
}

int main(void)
{
	deeper(47, now() + 0.4);
	return 0;
}
