package kernel

import (
	"math"
	"testing"

	"lacuna/internal/kernel/profile"
)

func TestMixOfTheCorpusIsSane(t *testing.T) {
	reports := corpusReports(t)
	withClasses := 0
	for _, name := range names(reports) {
		for _, k := range reports[name] {
			m := k.Mix()
			if m == nil {
				continue
			}
			where := name + " " + k.Launch.Base
			if m.Classes != nil {
				withClasses++
				total := 0.0
				for _, c := range m.Classes {
					total += c.Share
				}
				if math.Abs(total-1) > 1e-9 {
					t.Errorf("%s: classes sum to %g", where, total)
				}
				if v := m.Share(ClassElse); v.Value > 0 {
					t.Errorf("%s: %g of the instructions are of no class", where, v.Value)
				}
			}
			if m.Lanes.Known && (m.Lanes.Value <= 0 || m.Lanes.Value > 32) || m.Branched.Value > 32 {
				t.Errorf("%s: lanes %+v %+v", where, m.Lanes, m.Branched)
			}
			for _, f := range []*Fusion{m.FP32, m.FP64} {
				if f != nil && (math.Abs(f.Fused+f.Adds+f.Products-1) > 1e-9 || f.Fusable > 0.5) {
					t.Errorf("%s: %+v", where, f)
				}
			}
		}
	}
	if withClasses < 70 {
		t.Errorf("%d launches with opcodes", withClasses)
	}
}

func TestMixOfPlantedFaults(t *testing.T) {
	reports := corpusReports(t)
	of := func(report string, at int) *Mix { return reports[report][at].Mix() }
	if f := of("non_fused_fp", 0).FP32; f.Fusable < 0.49 {
		t.Errorf("separate sums and products: %+v", f)
	}
	if f := of("non_fused_fp", 1).FP32; f.Fused < 0.99 {
		t.Errorf("fused: %+v", f)
	}
	if m := of("thread_divergence", 0); m.Lanes.Value > 5 || m.Divergent.Value < 0.01 {
		t.Errorf("a switch by thread: %+v %+v", m.Lanes, m.Divergent)
	}
	if m := of("reduction", 0); m.Lanes.Value > 20 || m.Branched.Value < 31 {
		t.Errorf("predicated off, not branched: %+v %+v", m.Lanes, m.Branched)
	}
	if m := of("narrow_access", 0); m.Narrow.Value < 0.99 {
		t.Errorf("a byte a lane: %+v", m.Narrow)
	}
	if m := of("narrow_access", 1); m.Wide.Value < 0.99 {
		t.Errorf("16 bytes a lane: %+v", m.Wide)
	}
	if m := of("tensor_cores_idle", 1); m.Share(ClassMatrix).Value < 0.3 {
		t.Errorf("wmma: %+v", m.Classes)
	}
	if m := of("spill_launch_bounds", 0); m.Share(ClassLocal).Value < 0.5 {
		t.Errorf("spills: %+v", m.Classes)
	}
}

func TestClassOf(t *testing.T) {
	for opcode, want := range map[string]string{
		"FFMA": ClassFP32, "HADD2.F32": ClassConversion, "HADD2": ClassFP16, "HMMA.16816.F32": ClassMatrix,
		"HGMMA.64x256x16.F32": ClassMatrix,
		"UTCHMMA.2CTA":        ClassMatrix, "UTMALDG.2D": ClassAsync, "LDG.E.128.CONSTANT": ClassGlobal,
		"BAR.SYNC":    ClassSync,
		"F2F.F64.F32": ClassConversion, "MUFU.RCP": ClassSpecial, "XYZZY": ClassElse,
	} {
		if got := ClassOf(opcode); got != want {
			t.Errorf("%s: %s", opcode, got)
		}
	}
}

// A constant that a compiler sets with HFMA2 is a move, beside halves that are computed with it is not.
func TestHalfMoves(t *testing.T) {
	for text, want := range map[string]string{
		"sass__inst_executed_per_opcode[DFMA] 90\nsass__inst_executed_per_opcode[HFMA2] 10\n":  ClassMove,
		"sass__inst_executed_per_opcode[HADD2] 90\nsass__inst_executed_per_opcode[HFMA2] 10\n": ClassFP16,
	} {
		r, err := profile.Parse("kernel k grid=1,1,1 block=32,1,1\nsass__inst_executed_per_opcode 100\n" + text)
		if err != nil {
			t.Fatal(err)
		}
		if got := Of(r.Launches[0]).Mix().Share(want); got.Value < 0.1 {
			t.Errorf("%s: %s is %+v", text, want, got)
		}
	}
}
