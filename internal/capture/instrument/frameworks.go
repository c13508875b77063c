package instrument

import (
	"regexp"
	"strings"
)

// A framework runs the loop itself, so that there is none to change in the script.
type framework struct {
	what   string
	is     *regexp.Regexp // in a script without strings and comments
	advice map[string]string
}

// hfTrainer is the callback of Hugging Face's Trainer; its hooks run around each optimizer step.
const hfTrainer = `# %IMPORTS%
# Paste this after the imports, and give it to the Trainer: Trainer(..., callbacks=[LacunaCallback()])
from transformers import TrainerCallback


class LacunaCallback(TrainerCallback):
    def on_step_begin(self, args, state, control, **kwargs):
        _lacuna_begin()

    def on_step_end(self, args, state, control, **kwargs):
        _lacuna_end()
`

var frameworks = []framework{
	{"Hugging Face's Trainer", regexp.MustCompile(`\b\w*Trainer\(`),
		map[string]string{Torch: hfTrainer, NVTX: hfTrainer}},
	{"vLLM", regexp.MustCompile(`\bvllm\b`), map[string]string{
		Torch: `# vLLM has a profiler of its own. Start it with the folder for its traces in the environment:
#
#     VLLM_TORCH_PROFILER_DIR=traces python SCRIPT.py
#
# offline, around what is to be recorded:
#
#     llm.start_profile()
#     outputs = llm.generate(prompts, sampling_params)
#     llm.stop_profile()
#
# of a server: curl -X POST localhost:8000/start_profile, some requests, curl -X POST localhost:8000/stop_profile.
# Then: lacuna report traces/*.json.gz
`,
		NVTX: `# vLLM's workers are processes of their own, and its engine makes the steps. Record them from outside, without a change:
#
#     lacuna record --delay 60s --duration 10s -- python SCRIPT.py
#
# The rhythm of the launches then gives the steps.
`}},
}

// lightning is Trainer too, but not Hugging Face's.
var lightning = framework{"Lightning", regexp.MustCompile(`\b(pytorch_lightning|lightning)\b`), map[string]string{
	Torch: `# Lightning runs the loop; give its Trainer a profiler:
from lightning.pytorch.profilers import PyTorchProfiler  # older: from pytorch_lightning.profilers import PyTorchProfiler
import torch

lacuna_profiler = PyTorchProfiler(
    dirpath=".", filename="lacuna-trace",
    schedule=torch.profiler.schedule(wait=1, warmup=5, active=10, repeat=1),
    export_to_chrome=True, record_shapes=True)

# Trainer(..., profiler=lacuna_profiler)
# Then: lacuna report lacuna-trace*.json
`,
	NVTX: `# %IMPORTS%
# Paste this after the imports, and give it to the Trainer: Trainer(..., callbacks=[LacunaCallback()])
from lightning.pytorch import Callback  # older: from pytorch_lightning import Callback


class LacunaCallback(Callback):
    def on_train_batch_start(self, trainer, module, batch, batch_idx):
        _lacuna_begin()

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        _lacuna_end()
`}}

// framework is what to do for a script whose loop is in a library; nil: it is none of those known.
func (s *script) framework(kind string) *HandError {
	var code strings.Builder
	for i := range s.lines {
		code.WriteString(s.lines[i].code)
		code.WriteByte('\n')
	}
	all := append([]framework{lightning}, frameworks...)
	for _, f := range all {
		if f.is.MatchString(code.String()) {
			return &HandError{"the loop is inside " + f.what + ", not in the script",
				strings.Replace(f.advice[kind], "# %IMPORTS%\n", helperText(kind)+"\n", 1)}
		}
	}
	return nil
}
