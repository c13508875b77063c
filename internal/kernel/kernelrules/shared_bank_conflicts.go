package kernelrules

import "lacuna/internal/kernel"

var sharedBankConflicts = Rule{
	ID:    "shared_bank_conflicts",
	Title: "Shared-memory bank conflicts",
	Since: "0.2",
	Needs: []Need{needTime, needL1, needShared},
	Doc: `
Shared memory has 32 banks of 4 bytes. Lanes that need different words of one bank are served one after the other:
the access takes more wavefronts. It is a finding when bank conflicts cause at least a tenth of the shared-memory
wavefronts (NVIDIA's threshold), these take at least a tenth of all L1 cycles, and L1 limits the kernel, at 60 % or
more. Otherwise conflicts are real but cost nothing: kernels with two thirds of such wavefronts were seen that
waited for DRAM all the same.

The time after the fix is that of L1 without the conflicts, or of the next bottleneck.`,
	Limits: `
In reports of 2020.3 conflicts include waiting for other accesses, 3 to 9 % without any conflict: confidence is
lower then. Wide accesses (8 and 16 bytes per lane) need two or four wavefronts; those are not conflicts and are not
counted.`,
	Fix: `
Change the row pitch so that a column is spread over all banks, or swizzle the columns:

    __shared__ float tile[32][33];        // not [32][32]: row r, column c lies in bank (33r + c) % 32
    __shared__ float t[32][32]; t[y][x ^ y] = v;      // the same without the extra column`,
	RefutedBy: `The padded kernel takes as long: other waiting hid the conflicts. Or the source view shows far less
than 10 % conflicts on the line named.`,
	Check: checkConflicts,
}

const (
	replaysOfShared = 0.1 // of the passes over shared memory: NVIDIA's line
	replaysOfCycles = 0.1 // of the cycles of L1: less cannot buy a tenth of the time
)

func checkConflicts(c *Case, out *Findings) {
	passes, replays, exact, ok := c.SharedWavefronts()
	ofL1 := known(c.WavefrontShare(replays))
	if !ok || passes <= 0 || !(replays/passes >= replaysOfShared) || !(ofL1 >= replaysOfCycles) ||
		!c.limitedBy(kernel.L1) {
		return
	}
	confidence := 0.95
	if !exact {
		confidence = 0.7
	}
	ways := passes / (passes - replays)
	f := out.Add(confidence, "Bank conflicts cause %s of the shared-memory wavefronts", percent(replays/passes))
	f.Because("%s wavefronts where %s would do: %s per access on average", digits(passes), digits(passes-replays),
		digits(ways))
	f.Because("conflicts take %s of the cycles of L1, which is at %s of its peak", percent(ofL1),
		percent(c.use(kernel.L1)))
	if s := c.stalls("mio_throttle", "short_scoreboard"); s > 0 {
		f.Because("warps wait for shared memory, or for room in its queue, for %s of their time", percent(s))
	}
	f.Places = c.HotConflicts()
	c.expect(f, asNow().removes(memoryReasons...).leave(1-replays/c.wavefronts(), kernel.L1))
}
