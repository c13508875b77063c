package kernelrules

import "lacuna/internal/kernel"

var sharedBankConflicts = Rule{
	ID:    "shared_bank_conflicts",
	Title: "Lanes of a warp hit the same bank of shared memory",
	Since: "0.2",
	Needs: []Need{needTime, needL1, needShared},
	Doc: `
Shared memory has 32 banks of 4 bytes. Lanes that need different words of one bank are served one after the other: the access is
replayed. It is a finding when at least a tenth of the passes over shared memory are replays (NVIDIA's line), they take at least a tenth of all cycles
of L1, and L1 is what limits the kernel, at 60 % or more. Without the last condition conflicts are true and cost nothing: kernels with two thirds of replays were
seen that waited for DRAM all the same.

The time after the repair is that of L1 without the replays, or of what is next.`,
	Limits: `
In reports of 2020.3 conflicts include waiting for other accesses, 3 to 9 % without any conflict: confidence is lower then. Wide accesses (8 and 16 bytes a lane) need two or
four passes; those are no replays and are not counted.`,
	Fix: `
Change the pitch so that a column falls into different banks, or permute the columns:

    __shared__ float tile[32][33];        // not [32][32]: row r, column c lies in bank (33r + c) % 32
    __shared__ float t[32][32]; t[y][x ^ y] = v;      // the same without the extra column`,
	RefutedBy: `The padded kernel takes as long: then replays hid behind other waiting. Or replays are far below 10 % in the source view of the line named.`,
	Check:     checkConflicts,
}

const (
	replaysOfShared = 0.1 // of the passes over shared memory: NVIDIA's line
	replaysOfCycles = 0.1 // of the cycles of L1: less cannot buy a tenth of the time
)

func checkConflicts(c *Case, out *Findings) {
	passes, replays, exact, ok := c.SharedWavefronts()
	if !ok || passes <= 0 || !(replays/passes >= replaysOfShared) || !(replays/c.cycles() >= replaysOfCycles) || !c.limitedBy(kernel.L1) {
		return
	}
	confidence := 0.95
	if !exact {
		confidence = 0.7
	}
	ways := passes / (passes - replays)
	f := out.Add(confidence, "%s of the passes over shared memory are replays for bank conflicts", percent(replays/passes))
	f.Because("%s passes where %s would do: %s of them an access on average", digits(passes), digits(passes-replays), digits(ways))
	f.Because("replays take %s of the cycles of L1, which is at %s of its peak", percent(replays/c.cycles()), percent(c.use(kernel.L1)))
	if s := c.stalls("mio_throttle", "short_scoreboard"); s > 0 {
		f.Because("warps wait for shared memory, or for room in its queue, for %s of their time", percent(s))
	}
	f.Places = c.HotConflicts()
	c.expect(f, asNow().leave(1-replays/c.wavefronts(), kernel.L1))
}
