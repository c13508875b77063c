package facts

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"lacuna/internal/base/interval"
)

// gapsOf is the idle spans of device 0 between its first and last work.
func gapsOf(t *testing.T, events string) (*Facts, []IdleGap) {
	t.Helper()
	f := of(t, events)
	w := f.Work()
	budgets := f.Budgets(interval.Span{StartNs: w.StartNs[0], EndNs: w.EndNs[w.Len()-1]})
	return f, f.IdleGaps(&budgets[0])
}

// A gap is starved if the call that issued its end was still to return when it began.
func TestStarved(t *testing.T) {
	f, gaps := gapsOf(t, `
call c1 0+5 cudaLaunchKernel
call c2 10+5 cudaLaunchKernel
call c3 130+5 cudaLaunchKernel
call c4 180+30 cudaGraphLaunch
kernel c1 10+90 a
kernel c2 102+20 queued_already
kernel c3 140+30 launched_late
kernel c4 190+10 graph_node
kernel c4 205+10 next_node_of_the_graph
kernel 300+10 launched_by_nobody_known
`)
	var got []string
	for _, g := range f.Starved(gaps) {
		got = append(got, fmt.Sprintf("%d-%d %s", g.StartNs, g.EndNs, f.WorkName(int(g.After))))
	}
	want := "122-140 launched_late, 170-190 graph_node"
	if text := strings.Join(got, ", "); text != want || len(gaps) != 5 {
		t.Errorf("of %d gaps starved are %s, want %s of 5", len(gaps), text, want)
	}
}

func TestHostPauses(t *testing.T) {
	f, gaps := gapsOf(t, `
range 1.1ms+700us make_batch
range annotation 1.2ms+500us enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__
os 1.85ms+100us poll
call c1 0+5us cudaLaunchKernel
call 1ms+10us cudaEventQuery
call 2ms+10us cudaEventQuery
call c2 2.02ms+5us cudaMemcpyAsync
kernel c1 10us+1ms a
copy HtoD pinned->device c2 bytes=4096 2.03ms+10us
`)
	pauses := f.HostPauses(f.Starved(gaps))
	if len(pauses) != 1 {
		t.Fatalf("%d pauses, want 1", len(pauses))
	}
	p := pauses[0]
	// The thread pauses from 1.01 to 2 ms; the device idles all of it..
	got := fmt.Sprintf("%d-%d idle %d os %d in %s %d, issues %s, framework %s %d", p.StartNs, p.EndNs, p.IdleNs, p.OSNs,
		f.Trace.Strings.Text(p.Range), p.InRangeNs, f.WorkName(int(p.Issues)),
		f.Trace.Strings.Text(p.Framework[0].Name), p.Framework[0].Ns)
	want := "1010000-2000000 idle 990000 os 100000 in make_batch 700000, issues memcpy HtoD, framework " +
		"enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__ 500000"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestAround(t *testing.T) {
	f, _ := gapsOf(t, `
range 0+100 forward
op 10+50 aten::linear
op 20+10 aten::addmm
call c1 22+5 cudaLaunchKernel
kernel c1 30+5 a
kernel c1 40+5 b
`)
	for ns, want := range map[int64]string{22: "forward/aten::linear", 70: "forward/", 200: "/"} {
		if r, op := f.Around(0, ns); r+"/"+op != want {
			t.Errorf("at %d: %s/%s, want %s", ns, r, op, want)
		}
	}
}

// The gaps between the nodes of a running graph are the graph's, whatever the host does meanwhile; those around it are
// the host's.
func TestGapsInAGraph(t *testing.T) {
	f, gaps := gapsOf(t, `
call c1 0+20 cudaGraphLaunch
call 20+300 cudaStreamSynchronize
call c2 325+10 cudaLaunchKernel
kernel c1 10+100 node
kernel c1 115+100 node
kernel c1 220+100 node
kernel c2 340+10 single
`)
	got := f.IdleByHost(gaps)
	want := map[Cause]int64{{Kind: causeGraph}: 10, {Kind: causeLaunch}: 15, {Kind: causeHost}: 5}
	if !maps.Equal(got, want) {
		t.Errorf("idle by host is %v, want %v", got, want)
	}
}
