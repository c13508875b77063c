package tables

import (
	"lacuna/internal/base/unit"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

var mpiEventTrace = Table{
	Name:  "mpi_event_trace",
	Title: "Every MPI call, by start",
	Doc: `
One row for each call. Where the capture does not say which rank a process is, Rank is absent; nsys stats fails then.

Rows are ordered by start; of equal ones the longer comes first.`,
	Origin: "nsys stats mpi_event_trace",
	Columns: []Column{
		{"Start", unit.Ns, "start of the call, since time 0 of the capture"},
		{"End", unit.Ns, "end of the call"},
		{"Duration", unit.Ns, "duration of the call"},
		{"Event", unit.Text, "name of the function"},
		{"Pid", unit.ID, "process"},
		{"Tid", unit.ID, "host thread"},
		{"Tag", unit.ID, "message tag"},
		{"Rank", unit.ID, "rank of the process"},
		{"PeerRank", unit.ID, "other rank, of sending and receiving"},
		{"RootRank", unit.ID, "root, of a collective"},
		{"Size", unit.MB, "size of the message, of sending and receiving, in 10^6 bytes"},
		{"CollSendSize", unit.MB, "size sent by a collective"},
		{"CollRecvSize", unit.MB, "size received by a collective"},
	},
	Needs: model.PartMPI,
	Fill:  fillMPIEventTrace,
}

func fillMPIEventTrace(in []*facts.Facts, _ Args, out *Rows) error {
	t := in[0].Trace
	if err := needMPI("mpi_event_trace", t); err != nil {
		return err
	}
	m := &t.MPI
	for i, start := range m.StartNs {
		var tag, rank, peer, root, size, sent, received Cell
		if n := at(m.Tag, i, model.NoTag); n != model.NoTag {
			tag = Int(n)
		}
		if n := at(m.Rank, i, -1); n >= 0 {
			rank = Int(n)
		}
		sentBytes, receivedBytes := at(m.SendBytes, i, -1), at(m.RecvBytes, i, -1)
		if t.Strings.Text(at(m.Table, i, 0)) == "collective" {
			root, sent, received = mpiRank(at(m.Peer, i, -1)), mpiSize(sentBytes), mpiSize(receivedBytes)
		} else {
			peer, size = mpiRank(at(m.Peer, i, -1)), mpiSize(max(sentBytes, receivedBytes))
		}
		pid, tid := threadCells(t, m.Thread[i])
		out.Add(Int(start), Int(start+m.DurNs[i]), Int(m.DurNs[i]), Str(t.Strings.Text(m.Name[i])), pid, tid, tag,
			rank, peer, root, size, sent, received)
	}
	return nil
}

// mpiRank is a rank; negative is absent.
func mpiRank(rank int32) Cell {
	if rank < 0 {
		return Cell{}
	}
	return Int(rank)
}

// mpiSize is a size in 10^6 bytes; negative is absent.
func mpiSize(bytes int64) Cell {
	if bytes < 0 {
		return Cell{}
	}
	return megabytes(float64(bytes))
}
