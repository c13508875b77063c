package samples

import (
	"time"

	"lacuna/internal/capture/doctor"
	"lacuna/internal/capture/monitor"
	"lacuna/internal/capture/nvml"
)

// Monitor is four GPUs: one busy and held down, one idle, one split, one that fell off the bus.
func Monitor() *monitor.Snapshot {
	v := func(x float64) *float64 { return &x }
	busy := monitor.GPU{Index: 0, Name: "NVIDIA H200", UUID: "GPU-a", PCI: "00000000:03:00.0", UtilPct: v(100),
		MemoryUtilPct: v(63), MemoryUsedBytes: v(140.4 * (1 << 30)), MemoryTotalBytes: v(141 * (1 << 30)),
		SMClockMHz: v(1605), MaxSMClockMHz: v(1980), MemoryClockMHz: v(3201), MaxMemoryClockMHz: v(3201),
		PowerW: v(699.6), PowerLimitW: v(700), TemperatureC: v(71), Reasons: nvml.PowerCap | nvml.ThermalSlowdown,
		PCIeTxBps: v(1.25e9), PCIeRxBps: v(53.1e9), NVLinkTxBps: v(321.5e9), NVLinkRxBps: v(320.9e9),
		NVLinkTx: v(1 << 50), NVLinkRx: v(1 << 49),
		Processes: []monitor.Process{{PID: 4242, Name: "python3", MemoryBytes: v(140 << 30)}, {PID: 77,
			Name: "a \"b\"\\\x1b[31m\n", MemoryBytes: nil}, {PID: 1234567}}}
	busy.Throttle = busy.Reasons.Names()
	idle := monitor.GPU{Index: 1, Name: "NVIDIA H200", UUID: "GPU-b", UtilPct: v(0), MemoryUtilPct: v(0),
		MemoryUsedBytes: v(0), MemoryTotalBytes: v(141 * (1 << 30)), SMClockMHz: v(345), MaxSMClockMHz: v(1980),
		PowerW: v(76.1), TemperatureC: v(28), Throttle: []string{}, Processes: []monitor.Process{}}
	split := monitor.GPU{Index: 2, Name: "NVIDIA H200", UUID: "GPU-c", MIG: true, SMClockMHz: v(1980)}
	lost := monitor.GPU{Index: 3, Name: "NVIDIA L4", UUID: "GPU-d", Error: "GPU 3: GPU is lost (NVML error 15)"}
	return &monitor.Snapshot{Schema: 1, Time: time.Date(2026, 11, 21, 9, 8, 7, 0, time.UTC), Host: "node-1",
		Driver: "580.159.04", GPUs: []monitor.GPU{busy, idle, split, lost}}
}

// Doctor is a report on a machine that lacks some of what capture needs.
func Doctor() *doctor.Report {
	return &doctor.Report{Schema: 1, Verdicts: []doctor.Verdict{{Purpose: doctor.Record, Answer: doctor.WithLimits,
		Because: []string{"memory"}}, {Purpose: doctor.NCU, Answer: doctor.No, Because: []string{"counters"}},
		{Purpose: doctor.Sample, Answer: doctor.Yes}},
		Checks: []doctor.Result{
			{Check: "driver", Title: "NVIDIA driver", State: doctor.OK, Text: "580.159.04, runs CUDA up to 13.0"},
			{Check: "cupti", Title: "CUPTI", State: doctor.OK, Text: "13.0.85, /venv/nvidia/cu13/lib/libcupti.so.13",
				Cost: "copies inside CUDA graphs leak memory while recorded"},
			{Check: "memory", Title: "Memory", State: doctor.Limited, Text: "512 MiB are free",
				Cost: "the program may be killed for memory", Commands: []string{"lacuna record --memory 64 -- ..."},
				Limits: []doctor.Purpose{doctor.Record}},
			{Check: "counters", Title: "Counter permission", State: doctor.Limited,
				Text: "only administrators may read the GPU's counters\x1b[31m", Cost: "ncu ends with " +
					"ERR_NVGPUCTRPERM",
				Fix:      "permit all users on the host, or start the container with",
				Commands: []string{"docker run --cap-add=PERFMON ..."}, Stops: []doctor.Purpose{doctor.NCU}},
			{Check: "dcgm", Title: "DCGM", State: doctor.Unknown, Text: "not reported"},
		}}
}
