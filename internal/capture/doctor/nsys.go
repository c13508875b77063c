package doctor

import (
	"path"
	"slices"
	"strings"

	"lacuna/internal/capture/nvtool"
)

var nsys = Check{ID: "nsys", Title: "Nsight Systems", Run: func(x *exam) []Result {
	onPath, others := x.tools("nsys")
	all := slices.Concat(onPath, others)
	if len(all) == 0 {
		return fine("none; lacuna record does not need it (record --with nsys does)")
	}
	r := Result{State: OK, Text: toolWords(all)}
	if len(onPath) == 0 {
		r.Text += "; none is on the PATH"
		r.Commands = []string{"export PATH=" + path.Dir(others[0].path) + ":$PATH"}
	}
	if slices.ContainsFunc(all, func(t tool) bool { return !older(t.version, "2026") }) {
		if gpu := x.hasGPU("GB200", "GB300"); gpu != "" {
			r.State, r.Cost = Limited, "the hardware tracing of nsys 2026 crashes programs on "+gpu+" (NeMo-RL#4090)"
			r.Fix = "trace with cuda-sw in place of cuda (nsys profile --trace=cuda-sw,nvtx)"
		}
	}
	if lib := x.importerLacks(all); lib != "" && r.State == OK {
		r.State, r.Cost = Limited, "its importer cannot start without "+lib+": what record --with nsys records cannot "+
			"be made into a report here"
		r.Fix = "install " + lib
		switch {
		case x.lookPath("apt-get") != "":
			r.Commands = append(r.Commands, x.sudo()+"apt-get install -y libdw1 libelf1 liblzma5 libbz2-1.0")
		case x.lookPath("dnf") != "":
			r.Commands = append(r.Commands, x.sudo()+"dnf install -y elfutils-libs")
		}
	}
	return []Result{r}
}}

// importerLacks is the shared library without which the importer of the nsys that would be used cannot start; "": it
// starts, or nsys has none of its own.
func (x *exam) importerLacks(all []tool) string {
	importer := x.programs().Importer(all[0].path)
	if importer == "" {
		return ""
	}
	said, _ := x.ask("/usr/bin/env", "LD_LIBRARY_PATH="+path.Dir(importer), importer, "--version")
	return nvtool.MissingLibrary(said)
}

// hasGPU is the name of a GPU that has one of the words in it.
func (x *exam) hasGPU(words ...string) string {
	if x.library != nil {
		for _, d := range x.library.Devices() {
			if slices.ContainsFunc(words, func(w string) bool { return strings.Contains(d.Name, w) }) {
				return d.Name
			}
		}
	}
	return ""
}
