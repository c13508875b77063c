package ncu

import (
	"bytes"
	"context"
	"runtime"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"lacuna/internal/kernel/profile"
	"lacuna/internal/reader"
	"lacuna/internal/timeline/model"
)

func read1(data []byte) (*profile.Report, error) {
	return reader.OpenProfile(context.Background(), "x.ncu-rep", []*reader.Format{&Format}, reader.Options{Data: data})
}

func opened(t *testing.T, data []byte) *profile.Report {
	t.Helper()
	r, err := read1(data)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// full is a report with something in every kind of message.
func full() []byte {
	return file(knownVersion,
		blockOf(func(o *out) {
			o.msg(blockSession, func(o *out) {
				o.uint(sessionCreated, 1700000000)
				o.msg(sessionTarget, func(o *out) {
					o.text(systemOS, "Linux")
					o.text(systemName, "node1")
					o.uint(systemPlatform, 2)
					o.msg(systemAddress, func(o *out) { o.text(addressText, "10.0.0.1"); o.uint(addressType, 1) })
				})
			})
			o.msg(blockProcess, func(o *out) {
				o.uint(processPID, 42)
				o.text(processHost, "127.0.0.1")
				o.text(processPath, "/opt/app")
			})
			o.uint(blockSources, 1)
		}, message(func(o *out) {
			o.uint(sourceRef, 7)
			o.text(sourceCubin, "\x7fELFcode")
			o.uint(sourceSM, 9<<16)
			o.msg(sourceFiles, func(o *out) {
				o.msg(fileEntry, func(o *out) { o.text(filePath, "/src/a.cu"); o.text(fileText, "line one\n") })
			})
			o.msg(sourceSymbols, func(o *out) {
				o.msg(symbolFunction, func(o *out) {
					o.text(symbolName, "_Z1kv")
					o.uint(symbolAddress, 0x7000)
					o.uint(symbolIndex, 3)
				})
			})
		})),
		blockOf(func(o *out) {
			o.msg(blockStrings, func(o *out) {
				o.text(stringTableEntry, "unused")
				o.text(stringTableEntry, "inst_executed")
				o.text(stringTableEntry, "gpu__time_duration.sum")
			})
			o.uint(blockResults, 1)
		}, message(fullResult)),
		blockOf(func(o *out) {
			o.msg(blockSession, func(o *out) {
				o.msg(sessionAttributes, func(o *out) {
					o.text(attributesName, "GPU X")
					o.msg(attributesEntry, func(o *out) {
						o.text(pairName, "device__attribute_warp_size")
						o.msg(pairValue, func(o *out) { o.uint(valueUint64, 32) })
					})
				})
				o.msg(sessionVersion, func(o *out) {
					o.text(pairName, "Nsight Compute Target")
					o.text(pairValue,
						"2025.3.1.0 (build 1)")
				})
				o.text(sessionCommandLine, "ncu ./app")
			})
		}))
}

func fullResult(o *out) {
	o.text(resultDemangled, "k()")
	o.text(resultMangled, "_Z1kv")
	o.uint(resultTime, 1700000001)
	o.uint(resultStream, 7)
	for _, axes := range []protowire.Number{resultGrid, resultBlock} {
		o.msg(axes, func(o *out) { o.uint(axisX, 4); o.uint(axisY, 2); o.uint(axisZ, 1) })
	}
	o.msg(resultSource, func(o *out) { o.uint(sourceReferenceRef, 7) })
	o.msg(resultMetric, func(o *out) {
		o.uint(metricName, 1)
		o.msg(metricValue, func(o *out) { o.uint(valueUint64, 64) })
		o.msg(metricInstance, func(o *out) {
			o.msg(instanceKey, func(o *out) { o.uint(valueUint64, 0x7010) })
			o.msg(instanceValue, func(o *out) { o.uint(valueUint64, 64) })
		})
	})
	o.msg(resultMetric, func(o *out) {
		o.uint(metricName, 2)
		o.msg(metricValue, func(o *out) { o.double(valueDouble, 5000) })
	})
	o.msg(resultSection, func(o *out) {
		o.text(sectionID, "SpeedOfLight")
		o.text(sectionName, "GPU Speed Of Light")
		o.msg(sectionHeader, func(o *out) {
			o.msg(headerList, func(o *out) {
				o.text(metricSecID, "missing")
				o.text(metricLabel, "Duration")
				o.msg(metricOption, func(o *out) {
					o.text(optionName, "gpu__time_duration.sum")
					o.msg(optionFilter, func(o *out) {
						o.msg(filterSpan,
							func(o *out) { o.uint(filterMin, 75); o.uint(filterMax, 86) })
					})
				})
			})
		})
		o.msg(sectionBody, func(o *out) {
			o.text(bodyName, "Charts")
			o.msg(bodyItem, func(o *out) {
				o.msg(itemGroup, func(o *out) {
					o.msg(groupItem, func(o *out) {
						o.msg(itemBars, func(o *out) {
							o.text(partLabel, "Pipes")
							o.msg(barsList, func(o *out) { o.text(metricSecID, "sm__pipe") })
						})
					})
				})
			})
		})
	})
	o.msg(resultRule, func(o *out) {
		o.text(ruleID, "R")
		o.text(ruleSection, "SpeedOfLight")
		o.msg(ruleBody, func(o *out) {
			o.msg(ruleItem, func(o *out) {
				o.msg(ruleMessage, func(o *out) { o.text(messageText, "slow"); o.uint(messageType, 4) })
				o.msg(ruleSpeedup, func(o *out) { o.uint(speedupKind, speedupGlobal); o.double(speedupPercent, 12.5) })
			})
			o.msg(ruleItem, func(o *out) {
				o.msg(ruleTable, func(o *out) {
					o.msg(ruleTableHead, func(o *out) { o.text(tableTitle, "Lines") })
					o.msg(ruleTableColumn, func(o *out) {
						o.text(columnName, "Line")
						o.text(columnText,
							"a")
						o.double(columnNumber, 2)
					})
				})
			})
		})
		o.msg(ruleMarker, func(o *out) {
			o.uint(markerLine, 12)
			o.text(markerFile, "/src/a.cu")
			o.text(markerText,
				"here")
		})
	})
	o.msg(resultNVTX, func(o *out) {
		o.msg(nvtxThread, func(o *out) {
			o.uint(threadID, 43)
			o.msg(threadDomain, func(o *out) {
				o.uint(openDomainID, 5)
				o.msg(openRange, func(o *out) { o.text(pushName, "step") })
				o.msg(openRange, func(o *out) { o.text(pushName, "forward") })
			})
		})
		o.msg(nvtxDomain, func(o *out) { o.uint(domainID, 5); o.text(domainName, "torch") })
	})
	o.msg(resultClocks, func(o *out) { o.uint(clocksRequested, 1); o.uint(clocksLocked, 1) })
}

func TestEverything(t *testing.T) {
	r := opened(t, full())
	if all := r.Losses.All(); len(all) > 0 || len(r.Warnings) > 0 {
		t.Errorf("losses %v, warnings %q", all, r.Warnings)
	}
	s := r.Session
	if s.Created != 1700000000 || s.Target.Name != "node1" || s.Target.Platform != "Linux" ||
		s.Target.Addresses[0] != "10.0.0.1" || s.CommandLine != "ncu ./app" ||
		len(s.Processes) != 1 || r.Producer != "Nsight Compute 2025.3.1" || s.Devices[0].Name != "GPU X" ||
		s.Devices[0].Attributes[0] != (profile.Attribute{Name: "warp_size",
			Value: profile.Value{Kind: profile.Unsigned, Uint: 32}}) {
		t.Errorf("session %+v, producer %q", s, r.Producer)
	}
	l := r.Launches[0]
	if l.Name != "k()" || l.PID != 42 || l.Process != "/opt/app" || l.Grid != [3]uint32{4, 2, 1} || l.Stream != 7 ||
		l.StartUnix != 1700000001 || !l.Clocks.Locked {
		t.Errorf("launch %+v", l)
	}
	if got := r.Names.All(); len(got) != 2 || got[0] != "inst_executed" {
		t.Errorf("names %q", got)
	}
	for address, v := range l.ByAddress("inst_executed") {
		if address != 0x7010 || v != 64 {
			t.Errorf("instance %x: %g", address, v)
		}
	}
	m := l.Sections[0].Header[0]
	if m.Label != "Duration" || len(m.Options) != 1 || m.Options[0].Name != "gpu__time_duration.sum" ||
		m.Options[0].Filters[0] != (profile.Filter{Min: 75, Max: 86}) {
		t.Errorf("header %+v", m)
	}
	if b := l.Sections[0].Body; len(b) != 1 || b[0].Title != "Charts" || b[0].Label != "Pipes" || !b[0].Chart ||
		b[0].Metrics[0].Name != "sm__pipe" {
		t.Errorf("body %+v", b)
	}
	x := l.Rules[0]
	if x.Messages[0] != (profile.Message{Text: "slow", Type: 4,
		Speedup: profile.Speedup{Kind: "global", Percent: 12.5}}) ||
		x.Tables[0].Title != "Lines" || len(x.Tables[0].Columns[0].Cells) != 2 ||
		x.Markers[0] != (profile.Marker{File: "/src/a.cu", Line: 12, Text: "here"}) {
		t.Errorf("rule %+v", x)
	}
	if g := l.Ranges; len(g) != 1 || g[0].Domain != "torch" || g[0].Thread != 43 ||
		strings.Join(g[0].Stack, "/") != "step/forward" {
		t.Errorf("ranges %+v", g)
	}
	if c := l.Source; c == nil || string(c.Cubin) != "\x7fELFcode" || c.Files[0].Text != "line one\n" ||
		c.Functions[0] != (profile.Function{Symbol: "_Z1kv", Address: 0x7000, Index: 3}) {
		t.Errorf("source %+v", c)
	}
}

// What cannot be read is counted and said, and the rest is read.
func TestLosses(t *testing.T) {
	named := func(o *out) { o.text(resultDemangled, "k") }
	result := message(named)
	for _, test := range []struct {
		name string
		data []byte
		code model.LossCode
		warn string
	}{
		{"unknown field", file(knownVersion, blockOf(func(o *out) { o.uint(blockResults, 1) },
			message(func(o *out) { named(o); o.uint(99, 1) }))), lossUnknownField, ""},
		{"range result", file(knownVersion, blockOf(func(o *out) { o.uint(blockResults, 1); o.uint(blockRanges, 1) },
			result, []byte("x"))), lossLeftOut, "range results are not read"},
		{"graph result", file(knownVersion, blockOf(func(o *out) { o.uint(blockResults, 1); o.uint(blockGraphs, 1) },
			result, []byte("x"))), lossLeftOut, "graph results are not read"},
		{"more in the payload", file(knownVersion,
			blockOf(func(o *out) { o.uint(blockResults, 1) }, result, []byte("x"))), lossUnknownPart, ""},
		{"fewer in the payload", file(knownVersion, blockOf(func(o *out) { o.uint(blockResults, 9) }, result)),
			lossBadMessage, "damaged"},
		{"damaged metric", file(knownVersion, blockOf(func(o *out) { o.uint(blockResults, 1) },
			message(func(o *out) { named(o); o.text(resultMetric, "\x08") }))), lossBadMessage, "damaged"},
		{"metric without a name", file(knownVersion,
			blockOf(func(o *out) { o.uint(blockResults, 1) },
				message(func(o *out) { named(o); o.msg(resultMetric, func(o *out) { o.uint(metricName, 5) }) }))),
			lossNoName, ""},
		{"call stack", file(knownVersion, blockOf(func(o *out) { o.uint(blockResults, 1) },
			message(func(o *out) { named(o); o.text(resultStack, "x") }))), lossStack, ""},
		{"other version", file(8, blockOf(func(o *out) { o.uint(blockResults, 1) }, result)), "", "version is 8"},
	} {
		r, err := read1(test.data)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if len(r.Launches) != 1 || r.Launches[0].Name != "k" {
			t.Errorf("%s: %d launches", test.name, len(r.Launches))
		}
		if test.code != "" && r.Losses.Count(test.code) == 0 {
			t.Errorf("%s: losses %v, want %s", test.name, r.Losses.All(), test.code)
		}
		if said := strings.Join(r.Warnings, "\n"); !strings.Contains(said, test.warn) || test.warn == "" && said != "" {
			t.Errorf("%s: warned %q, want %q", test.name, said, test.warn)
		}
	}
}

// Cut off anywhere, a report gives the launches that are whole, or an error that says what is wrong.
func TestCut(t *testing.T) {
	data := made(shape{launches: 3, metrics: 20, instances: 80, text: 100})
	launches := -1
	for n := 0; n < len(data); n += 7 {
		r, err := read1(data[:n])
		if err != nil {
			if !strings.HasPrefix(err.Error(), "x.ncu-rep: ") {
				t.Fatalf("%d bytes: %v", n, err)
			}
			continue
		}
		if len(r.Launches) < launches {
			t.Fatalf("%d bytes give %d launches, fewer gave %d", n, len(r.Launches), launches)
		}
		launches = len(r.Launches)
		for _, l := range r.Launches {
			if len(l.Metrics) != 20 || l.Source == nil {
				t.Fatalf("%d bytes: launch %d has %d metrics", n, l.ID, len(l.Metrics))
			}
		}
		if cut := r.Losses.Count(model.LossTruncated) > 0; len(r.Warnings) == 0 && (cut || launches == 0) {
			t.Fatalf("%d bytes: cut %v, warnings %q", n, cut, r.Warnings)
		}
	}
	if launches < 2 {
		t.Errorf("%d launches at most", launches)
	}
}

// Lengths are not believed, and a file of tiny messages does not become large in memory.
func TestHostile(t *testing.T) {
	huge := protowire.AppendVarint(protowire.AppendTag(nil, blockPayloadSize, protowire.VarintType), 1<<40)
	tiny := bytes.Repeat([]byte{0x8a, 0x01, 0x02, 0x18, 0x05}, 1<<20) // sections of an order
	var odd, process out
	for i := range 300_000 {
		odd.uint(protowire.Number(1000+i), 1)
	}
	for i := range 200_000 {
		process = append(process, blockOf(func(o *out) {
			o.msg(blockProcess,
				func(o *out) { o.uint(processPID, uint64(i)) })
		})...)
	}
	for name, data := range map[string][]byte{
		"fields of any number": file(knownVersion,
			blockOf(func(o *out) { o.uint(blockResults, 1) },
				append(message(func(o *out) { o.text(resultDemangled, "k") }), odd...))),
		"many processes":    append(file(knownVersion, process), 1),
		"a header of 4 GiB": append([]byte(magic), 0xff, 0xff, 0xff, 0xff, 8, 7),
		"a payload of 1 TiB": append(file(knownVersion),
			append(sized(append(protowire.AppendVarint(protowire.AppendTag(nil, blockResults, protowire.VarintType),
				1<<60), huge...)), 0xff, 0xff, 0xff, 0x7f, 1)...),
		"a million sections": file(knownVersion,
			blockOf(func(o *out) { o.uint(blockResults, 1) },
				append(message(func(o *out) { o.text(resultDemangled, "k") }), tiny...))),
		"nothing": []byte(magic),
	} {
		before := heap()
		r, err := read1(data)
		if err == nil && r.Losses.All() == nil {
			t.Errorf("%s: nothing is said to be lost", name)
		}
		if kept, most := heap()-before, int64(8<<20+16*len(data)); kept > most {
			t.Errorf("%s: %d bytes of input keep %d MB, want at most %d", name, len(data), kept>>20, most>>20)
		}
		runtime.KeepAlive(r)
	}
}

// heap is how many bytes are in use.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func FuzzProfileReport(f *testing.F) {
	f.Add(full())
	f.Add(made(shape{launches: 1, metrics: 5, instances: 40, text: 20}))
	f.Add(file(8))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := read1(data)
		if err != nil {
			return
		}
		walk(t, r)
	})
}

// walk looks at all that a report has.
func walk(t *testing.T, r *profile.Report) {
	t.Helper()
	for i, l := range r.Launches {
		if l.ID != i || l.Report != r || l.Name == "" && len(l.Metrics) == 0 {
			t.Fatalf("launch %d: ID %d, name %q", i, l.ID, l.Name)
		}
		for j := range l.Metrics {
			m := &l.Metrics[j]
			if l.Metric(r.Names.Text(m.Name)) != m {
				t.Fatalf("%q is not found", r.Names.Text(m.Name))
			}
			for x := range m.Instances() {
				_, _ = x.Key.Number()
			}
		}
	}
}
