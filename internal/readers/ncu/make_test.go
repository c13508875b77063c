package ncu

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// A shape is what a made report has.
type shape struct {
	launches  int
	metrics   int // per launch
	instances int // per launch, of 40 of its metrics
	text      int // bytes of source in the one module
}

// An out builds a message.
type out []byte

func (o *out) uint(num protowire.Number, v uint64) {
	*o = protowire.AppendVarint(protowire.AppendTag(*o, num, protowire.VarintType), v)
}

func (o *out) double(num protowire.Number, v float64) {
	*o = protowire.AppendFixed64(protowire.AppendTag(*o, num, protowire.Fixed64Type), math.Float64bits(v))
}

func (o *out) text(num protowire.Number, v string) {
	*o = protowire.AppendString(protowire.AppendTag(*o, num, protowire.BytesType), v)
}

func (o *out) msg(num protowire.Number, fill func(o *out)) {
	var inner out
	fill(&inner)
	*o = protowire.AppendBytes(protowire.AppendTag(*o, num, protowire.BytesType), inner)
}

// sized puts a message's length before it.
func sized(msg []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(msg))), msg...)
}

// file is a report of version v with the blocks given.
func file(v uint64, blocks ...[]byte) []byte {
	var head out
	head.uint(fileHeaderVersion, v)
	data := append([]byte(magic), sized(head)...)
	for _, b := range blocks {
		data = append(data, b...)
	}
	return data
}

// blockOf is a block with a header and the parts of its payload.
func blockOf(header func(o *out), parts ...[]byte) []byte {
	var payload []byte
	for _, p := range parts {
		payload = append(payload, sized(p)...)
	}
	var head out
	header(&head)
	head.uint(blockPayloadSize, uint64(len(payload)))
	return append(sized(head), payload...)
}

// message builds a message.
func message(fill func(o *out)) []byte {
	var o out
	fill(&o)
	return o
}

// made is a report of that shape, as the profiler lays it out: a module, then a block per launch.
func made(s shape) []byte {
	process := func(o *out) {
		o.uint(processPID, 42)
		o.text(processHost, "127.0.0.1")
		o.text(processPath, "/tmp/program")
	}
	blocks := [][]byte{blockOf(func(o *out) {
		o.uint(blockSources, 1)
		o.msg(blockProcess, process)
	}, message(func(o *out) {
		o.uint(sourceRef, 7)
		o.msg(sourceFiles, func(o *out) {
			o.msg(fileEntry, func(o *out) {
				o.text(filePath, "/src/a.cu")
				o.text(fileText, strings.Repeat("c[i] = a[i] + b[i];\n", s.text/20))
			})
		})
	}))}
	for i := range s.launches {
		blocks = append(blocks, blockOf(func(o *out) {
			o.uint(blockResults, 1)
			o.msg(blockProcess, process)
			if i == 0 {
				o.msg(blockStrings, func(o *out) {
					for m := range s.metrics {
						o.text(stringTableEntry, fmt.Sprintf(
							"sm__made_up_counter_number_%04d.sum.pct_of_peak_sustained_active", m))
					}
				})
			}
		}, madeResult(s, i)))
	}
	return file(knownVersion, blocks...)
}

// withInstances is how many metrics of a made launch have instances.
const withInstances = 40

func madeResult(s shape, launch int) []byte {
	return message(func(o *out) {
		o.text(resultDemangled, fmt.Sprintf("kernel_%d(float *)", launch%10))
		o.msg(resultSource, func(o *out) { o.uint(sourceReferenceRef, 7) })
		for _, axes := range []protowire.Number{resultGrid, resultBlock} {
			o.msg(axes, func(o *out) {
				o.uint(axisX, 128)
				o.uint(axisY, 1)
				o.uint(axisZ, 1)
			})
		}
		for m := range s.metrics {
			o.msg(resultMetric, func(o *out) {
				o.uint(metricName, uint64(m))
				o.msg(metricValue, func(o *out) { o.double(valueDouble, float64(m)/3) })
				if m < withInstances {
					for i := range s.instances / withInstances {
						o.msg(metricInstance, func(o *out) {
							o.msg(instanceKey, func(o *out) { o.uint(valueUint64, 0x7f0000001000+16*uint64(i)) })
							o.msg(instanceValue, func(o *out) { o.uint(valueUint64, uint64(i*m)) })
						})
					}
				}
			})
		}
	})
}
