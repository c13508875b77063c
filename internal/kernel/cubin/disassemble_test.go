package cubin

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// Both tools' output, as NVIDIA's documentation of the binary utilities shows it.
var printedBy = map[string]string{
	"nvdisasm": `	.headerflags	@"EF_CUDA_TEXMODE_UNIFIED EF_CUDA_64BIT_ADDRESS EF_CUDA_SM90 EF_CUDA_VIRTUAL_SM(EF_CUDA_SM90)"
//--------------------- .text._Z3addPf --------------------------
	.section	.text._Z3addPf,"ax",@progbits
	.align	128
.text._Z3addPf:
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/              @!P0 EXIT ;
.L_x_0:
        /*0020*/                   BRA ` + "`(.L_x_0)" + ` ;
`,
	"cuobjdump": `
	code for sm_90
		Function : _Z3addPf
	.headerflags	@"EF_CUDA_SM90"
        /*0000*/                   LDC R1, c[0x0][0x28] ;    /* 0x00000a00ff017b82 */
                                                             /* 0x000fe20000000800 */
        /*0010*/              @!P0 EXIT ;                    /* 0x000000000000894d */
                                                             /* 0x000fea0003800000 */
        /*0020*/                   BRA 0x20;                 /* 0xfffffffc00fc7947 */
		..........
`,
}

func TestDisassembler(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the stand-in is a shell script")
	}
	for tool, output := range printedBy {
		t.Run(tool, func(t *testing.T) {
			dir := t.TempDir()
			script := "#!/bin/sh\nfor last; do :; done\n[ -s \"$last\" ] || exit 3\n/bin/cat " +
				filepath.Join(dir, "output") + "\n"
			for name, text := range map[string]string{"output": output, tool: script} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			t.Setenv("PATH", dir)
			d, err := FindDisassembler()
			if err != nil {
				t.Fatal(err)
			}
			text, err := d.Text(context.Background(), []byte("a module"))
			if err != nil {
				t.Fatal(err)
			}
			code := text["_Z3addPf"]
			if len(text) != 1 || len(code) != 3 || code[0] != "LDC R1, c[0x0][0x28]" || code[0x10] != "@!P0 EXIT" ||
				!strings.HasPrefix(code[0x20], "BRA ") {
				t.Errorf("read %v", text)
			}
			if _, err := d.Text(context.Background(), nil); err == nil {
				t.Error("a tool that fails is no error")
			}
		})
	}
}

func TestNoDisassembler(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := FindDisassembler(); !errors.Is(err, ErrNoDisassembler) {
		t.Errorf("got %v", err)
	}
}
