package kineto

import (
	"strings"
	"testing"

	"lacuna/internal/timeline/model"
)

// What follows the trace is counted, whatever it is and however small the blocks are; blanks are nothing.
func TestSurplus(t *testing.T) {
	const events = `[{"ph":"X","cat":"kernel","name":"a","pid":0,"tid":7,"ts":100,"dur":5,"args":{"device":0,"stream":7}}]`
	const object = `{"schemaVersion":1,"traceEvents":` + events + `,"traceName":"x.json"}`
	for _, test := range []struct {
		text string
		lost int64
		says string
	}{
		{object, 0, ""},
		{object + "\n\r\t \n", 0, ""},
		{events + "\n", 0, ""},
		{object + object, int64(len(object)), `"{\"schemaVersion\":1`},
		{object + "\n" + object + "\n", int64(len(object)) + 1, `"{\"schemaVersion\":1`},
		{events + events, int64(len(events)), `"[{\"ph\"`},
		{object + "garbage", 7, `"garbage"`},
		{object + strings.Repeat("x", 200_000), 200_000, `"xxxx`},
	} {
		for _, block := range []int{7, 4096, 1 << 20} {
			trace, err := openBlocks(t, []byte(test.text), block)
			if err != nil {
				t.Fatal(err)
			}
			lost, says := int64(0), ""
			for _, l := range trace.Losses.All() {
				if l.Code == model.LossSurplus {
					lost, says = l.Count, l.Example
				}
			}
			if lost != test.lost || !strings.Contains(says, test.says) || trace.Kernels.Len() != 1 {
				t.Errorf("%.60s… in blocks of %d: %d bytes lost (%s), want %d (%s); %d kernels", test.text, block, lost, says,
					test.lost, test.says, trace.Kernels.Len())
			}
		}
	}
}
