package kineto

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"lacuna/internal/timeline/model"
)

// A device is one of deviceProperties. Names differ by version; computeProperties is the oldest.
type device struct {
	ID             int64  `json:"id"`
	Name           string `json:"name"`
	Memory         int64  `json:"totalGlobalMem"`
	ComputeMajor   int32  `json:"computeMajor"`
	ComputeMinor   int32  `json:"computeMinor"`
	Major          int32  `json:"major"`
	Minor          int32  `json:"minor"`
	WarpSize       int32  `json:"warpSize"`
	SMs            int32  `json:"numSms"`
	OldSMs         int32  `json:"multiProcessorCount"`
	SharedPerSM    int64  `json:"sharedMemPerMultiprocessor"`
	RegistersPerSM int64  `json:"regsPerMultiprocessor"`
	ThreadsPerSM   int64  `json:"maxThreadsPerMultiprocessor"`
	OldThreads     int64  `json:"maxThreadsPerMultiProcessor"`
}

// header takes note of one key of the file besides traceEvents.
func (m *merger) header(key string, raw []byte) {
	t := m.trace
	text := scalar(raw)
	number, _ := strconv.Atoi(text)
	switch key {
	case "schemaVersion":
		t.Info.Schema = text
	case "deviceProperties", "computeProperties":
		m.devices(raw)
	case "distributedInfo":
		m.distributed(raw)
	case "host_name", "hostname":
		t.Info.Host = text
	case "cupti_version":
		t.Info.CUPTI = number
	case "cuda_driver_version":
		t.Info.Driver = number
	case "cuda_runtime_version":
		t.Info.Runtime = number
	case "hip_driver_version", "hip_runtime_version", "roctracer_version", "rocprofiler_version",
		"rocprofiler-sdk_version":
		m.meta(key, text)
	case "baseTimeNanoseconds":
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			t.Epoch.UnixNs = n
		}
	case "INFO", "WARNING", "ERROR":
		m.notes(key, raw)
	default:
		if text != "" {
			m.meta(key, text)
		}
	}
}

func (m *merger) meta(key, value string) {
	m.trace.Info.Meta = append(m.trace.Info.Meta, model.KeyValue{Key: key, Value: value})
}

// scalar is the text of a string, number or word; "" of anything nested.
func scalar(raw []byte) string {
	if len(raw) == 0 || raw[0] == '{' || raw[0] == '[' || string(raw) == "null" {
		return ""
	}
	if raw[0] == '"' {
		return string(unquote(nil, bare(raw)))
	}
	return string(raw)
}

// devices reads the list of GPUs; entries that are not as expected are left out, one by one.
func (m *merger) devices(raw []byte) {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return
	}
	for _, entry := range list {
		var d device
		err := json.Unmarshal(entry, &d) // fields of another type are left at 0
		if _, wrongType := err.(*json.UnmarshalTypeError); entry[0] != '{' || err != nil && !wrongType || d.ID < 0 ||
			d.ID >= int64(model.NoDevice) {
			continue
		}
		m.trace.Devices = append(m.trace.Devices, model.Device{
			Ordinal: uint32(d.ID), Name: d.Name, MemoryBytes: d.Memory, WarpSize: d.WarpSize,
			ComputeMajor: max(d.ComputeMajor, d.Major), ComputeMinor: max(d.ComputeMinor, d.Minor),
			SMs:         max(d.SMs, d.OldSMs),
			SharedPerSM: d.SharedPerSM, RegistersPerSM: d.RegistersPerSM,
			ThreadsPerSM: max(d.ThreadsPerSM, d.OldThreads),
		})
	}
}

// distributed reads the job: all, some or none of its keys are there.
func (m *merger) distributed(raw []byte) {
	var keys map[string]json.RawMessage
	if json.Unmarshal(raw, &keys) != nil {
		return
	}
	info := &m.trace.Info
	if n, ok := parseInt(keys["rank"]); ok && n >= 0 && n < 1<<31 {
		info.Rank = int32(n)
	}
	if n, ok := parseInt(keys["world_size"]); ok && n >= 0 && n < 1<<31 {
		info.World = int32(n)
	}
	info.Backend = scalar(keys["backend"])
	if v := scalar(keys["nccl_version"]); v != "" {
		m.meta("nccl_version", v)
	}
	if v := keys["pg_config"]; len(v) > 0 {
		m.meta("pg_config", string(respace(nil, v)))
	}
}

// notes counts what the profiler said; its errors are diagnostics.
func (m *merger) notes(key string, raw []byte) {
	var list []string
	if json.Unmarshal(raw, &list) != nil {
		return
	}
	if m.want.Wants(model.PartOverheads) {
		severity := map[string]uint8{"INFO": 1, "WARNING": 2, "ERROR": 3}[key]
		d := &m.trace.Diagnostics
		for _, text := range list {
			d.TimeNs, d.Severity = append(d.TimeNs, 0), append(d.Severity, severity)
			d.Source, d.Text = append(d.Source, m.trace.Strings.Intern("Kineto")),
				append(d.Text, m.trace.Strings.Intern(text))
		}
	}
	if key == "ERROR" && len(list) > 0 {
		m.trace.Warnings = append(m.trace.Warnings,
			fmt.Sprintf("the profiler reported errors, %d in all; the first: %s", len(list), list[0]))
	}
}

// addSpan keeps the profiler's own window: when each of its parts recorded.
func (m *merger) addSpan(r spanRow, name string) {
	m.meta("span "+name, fmt.Sprintf("%d ns + %d ns", r.startNs, r.durNs))
}

// identify words who made the capture, on which clock, and finds the rank.
func (m *merger) identify(path string) {
	info := &m.trace.Info
	var parts []string
	version := func(name string, n int, text string) {
		if n > 0 {
			parts = append(parts, name+" "+text)
		}
	}
	version("CUDA runtime", info.Runtime, cudaVersion(info.Runtime))
	version("CUDA driver", info.Driver, cudaVersion(info.Driver))
	version("CUPTI", info.CUPTI, cuptiVersion(info.CUPTI))
	for _, kv := range info.Meta {
		switch kv.Key {
		case "hip_runtime_version":
			parts = append(parts, "HIP runtime "+hipVersion(kv.Value))
		case "roctracer_version":
			parts = append(parts, "roctracer "+kv.Value)
		}
	}
	info.Producer, info.Graphs = "PyTorch profiler", model.GraphsByNode
	if len(parts) > 0 {
		info.Producer += " (" + strings.Join(parts, ", ") + ")"
	}
	if info.Rank < 0 {
		info.Rank = rankInName(path)
	}
	epoch := &m.trace.Epoch
	const year2000 = 946_684_800_000_000_000
	switch {
	case epoch.UnixNs != 0:
		epoch.Clock = "the profiler's clock, whose 0 is baseTimeNanoseconds"
	case m.firstNs >= year2000 && m.firstNs <= maxNs:
		epoch.Clock, epoch.Unix = "Unix time", true
	default:
		epoch.Clock = "a clock whose 0 is unknown"
	}
}

// cudaVersion words 13000 as 13.0.
func cudaVersion(n int) string { return fmt.Sprintf("%d.%d", n/1000, n%1000/10) }

// cuptiVersion words 130001 as 13.0.1; up to 28 it is the number of the API.
func cuptiVersion(n int) string {
	if n < 10_000 {
		return fmt.Sprintf("API %d", n)
	}
	return fmt.Sprintf("%d.%d.%d", n/10_000, n/100%100, n%100)
}

// hipVersion words 60443483 as 6.4.43483.
func hipVersion(text string) string {
	n, err := strconv.Atoi(text)
	if err != nil || n < 10_000_000 {
		return text
	}
	return fmt.Sprintf("%d.%d.%d", n/10_000_000, n/100_000%100, n%100_000)
}

// rankInName finds the rank in names such as rank-34.pt.trace.json.gz, worker3_step_12.json and trace_rank_0.json;
// -1: none.
func rankInName(path string) int32 {
	name := strings.ToLower(path[strings.LastIndexAny(path, `/\`)+1:])
	for _, word := range []string{"rank", "worker"} {
		i := strings.Index(name, word)
		if i < 0 {
			continue
		}
		rest := strings.TrimLeft(name[i+len(word):], "-_.")
		end := 0
		for end < len(rest) && rest[end]-'0' <= 9 {
			end++
		}
		if n, err := strconv.ParseInt(rest[:end], 10, 31); err == nil {
			return int32(n)
		}
	}
	return -1
}
