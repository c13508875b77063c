package rules

import (
	"fmt"

	"lacuna/internal/timeline/facts"
)

var dpUneven = Rule{
	ID:       "dp_uneven",
	Title:    "Steps without requests: this rank of a data-parallel server keeps others company",
	Since:    "0.3",
	Standing: CostsElse,
	Doc: `
Where experts or attention are spread over the ranks of a data-parallel server, all ranks run each step together. A
rank that has no requests runs a dummy step, since the others need its experts. Engines mark such steps.

The rule fires where they take 10 % of the time of all engine steps or more.`,
	Limits: `
It says nothing of ranks whose captures are not given. In a load test's last seconds ranks run dry one after another.`,
	Fix: `
Spread requests over ranks by load instead of in turn, and use fewer ranks at low load:

    a router that counts running requests and free cache of each rank (vLLM: internal load balancing of
        --data-parallel-size; SGLang: --load-balance-method minimum_tokens)`,
	Confirm:   `Batches of the ranks are nearly equal, and few steps have no requests.`,
	RefutedBy: `There were fewer requests than ranks: then fewer ranks are the fix.`,
	Check:     checkDPUneven,
}

const minIdleSteps = 0.1 // of the time of engine steps

func checkDPUneven(c *Case, out *Findings) {
	e := c.engine()
	if e == nil {
		return
	}
	var idle, all int64
	steps := 0
	for i := range e.Each {
		ns := c.Steps.All[i].LenNs()
		all += ns
		if e.Each[i].Kind == facts.KindIdle {
			idle += ns
			steps++
		}
	}
	if idle == 0 || float64(idle) < minIdleSteps*float64(all) {
		return
	}
	out.Add(0.85, 0, "Steps without requests take %.0f %% of the time of all engine steps",
		100*float64(idle)/float64(all)).
		Because(fmt.Sprintf("%d of %d steps, %s in all: other ranks had requests, or none had", steps, len(e.Each),
			ms(float64(idle))))
}
