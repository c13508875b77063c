package nccl

import (
	"fmt"
	"strings"
	"testing"

	"lacuna/internal/timeline/evtext"
	"lacuna/internal/timeline/model"
)

// head is what the captures of these tests begin with: a communicator of eight ranks is made.
const head = `
process 1 pid=40 python
thread 1 process=1 tid=40
thread 2 process=1 tid=41
domain 1 process=1 id=1 NCCL
domain 2 process=1 id=2 other
range t1 domain=1 payload="{\"NCCL communicator ID\":18446744073709551615,\"No. of ranks\":8,\"Rank\":3,\"CUDA device\":0}" 0us+50us ncclCommInitRankConfig
`

// comm is that communicator's part of a payload.
const comm = `\"NCCL communicator ID\":18446744073709551615`

// askAt is a call of NCCL's of a size, which takes 10 µs.
func askAt(us int, name, more string) string {
	return fmt.Sprintf("range t1 domain=1 payload=\"{%s%s}\" %dus+10us %s\n", comm, more, us, name)
}

// size is a message's part of a payload.
func size(bytes int) string { return fmt.Sprintf(`,\"Message size [bytes]\":%d`, bytes) }

// kernelAt is a kernel and the call that launches it.
func kernelAt(us, corr int, kernel string) string {
	return fmt.Sprintf("call t1 c%d %dus+2us cudaLaunchKernelExC\nkernel p1 s20 c%d %dus+20us %s\n", corr, us, corr,
		us+5, kernel)
}

func rangeAt(us, length int, name string) string {
	return fmt.Sprintf("range t1 domain=1 %dus+%dus %s\n", us, length, name)
}

const (
	allReduce = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
	sendRecv  = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"
)

func TestLink(t *testing.T) {
	for _, tt := range []struct{ name, events, want string }{
		{"an all-reduce", askAt(100, "ncclAllReduce", size(4096)+`,\"Reduction operation\":\"Sum\"`) +
			kernelAt(105, 1, allReduce),
			"allreduce 4096 4096 of 8 in 0xffffffffffffffff"},
		{"an all-gather says what a rank gives", askAt(100, "ncclAllGather", size(100)) +
			kernelAt(105, 1, "ncclDevKernel_AllGather_RING_LL()"),
			"all_gather 100 800 of 8 in 0xffffffffffffffff"},
		{"a reduce-scatter what it gets", askAt(100, "ncclReduceScatter", size(100)) +
			kernelAt(105, 1, "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL()"),
			"reduce_scatter 800 100 of 8 in 0xffffffffffffffff"},
		{"a communicator that was made before recording",
			strings.ReplaceAll(askAt(100, "ncclReduceScatter", size(100)), "18446744073709551615", "255") +
				kernelAt(105, 1, "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL()"),
			"reduce_scatter 0 100 of 0 in 0xff"},
		{"older versions know no communicator", strings.ReplaceAll(askAt(100, "ncclBroadcast",
			`,\"Bytes\":64,\"Root\":0`), comm+",", "") +
			kernelAt(105, 1, "ncclKernel_Broadcast_RING_LL_Sum_int8_t(ncclWorkElem)"),
			"broadcast 64 64 of 0 in "},
		{"a kernel outside", askAt(100, "ncclAllReduce", size(4096)) + kernelAt(115, 1, allReduce), "-"},
		{"another kernel inside", askAt(100, "ncclAllReduce", size(4096)) + kernelAt(105, 1, "oneRankReduce<float>"),
			"-"},
		{"no payload", "range t1 domain=1 100us+10us ncclAllReduce\n" + kernelAt(105, 1, allReduce), "-"},
		{"a payload that is damaged", "range t1 domain=1 payload=\"{\\\"Message size\" 100us+10us ncclAllReduce\n" +
			kernelAt(105, 1, allReduce), "-"},
		{"sizes that are none", strings.ReplaceAll(askAt(100, "ncclAllReduce", size(-5)), comm+",", "") +
			kernelAt(105, 1, allReduce), "-"},
		{"a range that never ends", strings.Replace(askAt(100, "ncclAllReduce", size(4096)), "100us+10us",
			"100us+-1ns", 1) + kernelAt(105, 1, allReduce), "-"},
		{"a user's range of that name", strings.Replace(askAt(100, "ncclAllReduce", size(4096)), "domain=1",
			"domain=2", 1) + kernelAt(105, 1, allReduce), "-"},
		{"a send, which is a group of its own", askAt(100, "ncclSend", size(77)+`,\"Peer rank\":2`) +
			rangeAt(101, 1, "ncclGroupStart") + rangeAt(103, 5, "ncclGroupEnd") + kernelAt(104, 1, sendRecv),
			"send 77 77 of 8 in 0xffffffffffffffff peer 2"},
		{"a group of one", rangeAt(90, 2, "ncclGroupStart") + askAt(100, "ncclAllReduce", size(4096)) +
			rangeAt(120, 20, "ncclGroupEnd") + kernelAt(125, 1, allReduce),
			"allreduce 4096 4096 of 8 in 0xffffffffffffffff"},
		{"a group that one kernel does", rangeAt(90, 2, "ncclGroupStart") + askAt(100, "ncclAllReduce", size(4096)) +
			askAt(110, "ncclAllReduce", size(1000)) + rangeAt(120, 20, "ncclGroupEnd") + kernelAt(125, 1, allReduce),
			"allreduce 5096 5096 of 8 in 0xffffffffffffffff"},
		{"a group of equals", rangeAt(90, 2, "ncclGroupStart") + askAt(100, "ncclAllReduce", size(64)) +
			askAt(110, "ncclAllReduce", size(64)) + rangeAt(120, 40, "ncclGroupEnd") + kernelAt(125, 1, allReduce) +
			kernelAt(130, 2, allReduce),
			"allreduce 64 64 of 8 in 0xffffffffffffffff; allreduce 64 64 of 8 in 0xffffffffffffffff"},
		{"a group of which it is not known which kernel does what", rangeAt(90, 2, "ncclGroupStart") +
			askAt(100, "ncclAllReduce", size(64)) + askAt(110, "ncclAllReduce", size(128)) +
			rangeAt(120, 40, "ncclGroupEnd") + kernelAt(125, 1, allReduce) + kernelAt(130, 2, allReduce),
			"allreduce 0 0 of 8 in 0xffffffffffffffff; allreduce 0 0 of 8 in 0xffffffffffffffff"},
		{"a group of two kinds", rangeAt(90, 2, "ncclGroupStart") + askAt(100, "ncclAllReduce", size(64)) +
			askAt(110, "ncclAllGather", size(100)) + rangeAt(120, 40, "ncclGroupEnd") +
			kernelAt(125, 1, "ncclDevKernel_AllGather_RING_LL()") + kernelAt(130, 2, allReduce),
			"all_gather 100 800 of 8 in 0xffffffffffffffff; allreduce 64 64 of 8 in 0xffffffffffffffff"},
		{"groups within a group", rangeAt(90, 2, "ncclGroupStart") +
			askAt(100, "ncclRecv", size(64)+`,\"Peer rank\":5`) + rangeAt(101, 1, "ncclGroupStart") +
			rangeAt(103, 5, "ncclGroupEnd") + rangeAt(120, 20, "ncclGroupEnd") + kernelAt(125, 1, sendRecv),
			"recv 64 64 of 8 in 0xffffffffffffffff peer 5"},
		{"sends and receives of several peers", rangeAt(90, 2, "ncclGroupStart") +
			askAt(100, "ncclSend", size(64)+`,\"Peer rank\":5`) + askAt(110, "ncclRecv", size(64)+`,\"Peer rank\":2`) +
			rangeAt(130, 20, "ncclGroupEnd") + kernelAt(135, 1, sendRecv), "-"},
		{"a group whose beginning was lost", askAt(100, "ncclAllReduce", size(64)) + rangeAt(120, 20, "ncclGroupEnd") +
			kernelAt(125, 1, allReduce), "-"},
		{"a group whose end was lost", rangeAt(80, 2, "ncclGroupStart") + askAt(100, "ncclAllReduce", size(64)) +
			kernelAt(105, 1, allReduce) + rangeAt(120, 2, "ncclGroupStart") + askAt(130, "ncclAllReduce", size(32)) +
			rangeAt(150, 20, "ncclGroupEnd") + kernelAt(155, 2, allReduce),
			"allreduce 64 64 of 8 in 0xffffffffffffffff; allreduce 32 32 of 8 in 0xffffffffffffffff"},
		{"a kernel of a graph", askAt(100, "ncclAllReduce", size(4096)) +
			strings.Replace(kernelAt(105, 1, allReduce), "kernel p1", "kernel p1 graph=3", 1), "-"},
		{"another thread's launch", askAt(100, "ncclAllReduce", size(4096)) +
			strings.Replace(kernelAt(105, 1, allReduce), "call t1", "call t2", 1), "-"},
	} {
		trace, err := evtext.Parse(head + tt.events)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		Link(trace)
		if err := model.Check(trace); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if got := linked(trace); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// linked is what is known of the kernels, in their order.
func linked(x *model.Trace) string {
	var out []string
	c := &x.Collectives
	for i := range x.Kernels.Len() {
		if x.Kernels.Collective == nil || x.Kernels.Collective[i] == model.NoCollective {
			out = append(out, "-")
			continue
		}
		row := x.Kernels.Collective[i]
		text := fmt.Sprintf("%s %d %d of %d in %s", x.Strings.Text(c.Name[row]), c.InBytes[row], c.OutBytes[row],
			c.GroupSize[row], x.Strings.Text(c.Group[row]))
		if c.Peer[row] >= 0 {
			text += fmt.Sprintf(" peer %d", c.Peer[row])
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}

// TestLeavesAlone holds that a trace that has Collectives, or no payloads, stays as it is.
func TestLeavesAlone(t *testing.T) {
	for _, events := range []string{
		head + askAt(100, "ncclAllReduce", size(64)) + kernelAt(105, 1, allReduce) + "collective 1 broadcast\n",
		"domain 1 NCCL\nrange domain=1 100us+10us ncclAllReduce\n" + kernelAt(105, 1, allReduce),
	} {
		trace, err := evtext.Parse(events)
		if err != nil {
			t.Fatal(err)
		}
		before := trace.Collectives.Len()
		if Link(trace); trace.Collectives.Len() != before || trace.Kernels.Collective != nil {
			t.Errorf("%d collectives became %d", before, trace.Collectives.Len())
		}
	}
}

func TestWordOf(t *testing.T) {
	for name, want := range map[string]string{
		allReduce: "AllReduce", sendRecv: "SendRecv", "ncclDevKernel_Reduce_Sum_f16_TREE_LL()": "Reduce",
		"ncclKernel_ReduceScatter_RING_LL_Sum_half(ncclWorkElem)": "ReduceScatter",
		"ncclSymkDevKernel_AllGather_LL":                          "AllGather", "ncclDevKernel_Generic_1": "",
	} {
		if got := wordOf(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
