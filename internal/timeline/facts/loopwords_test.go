package facts

import (
	"fmt"
	"testing"
)

func TestLoopWords(t *testing.T) {
	for name, want := range map[string]loopWord{
		"train_step_12": wordTurn, "epoch_0/step_3": wordTurn, "Step 3/100": wordTurn, "TrainStep": wordTurn,
		"token_12_processing": wordTurn, "[pl][profile]run_training_batch": wordTurn, "step 1.5": wordTurn,

		"layer_3_token_5": wordPart, "blocks.3.attn": wordPart, "h.11": wordPart, "layers[3]": wordPart,
		"micro_batch_2": wordPart, "BatchNorm affine=True": wordPart, "TransformerLayer": wordPart,
		"[pl][module]torch.nn.modules.conv.Conv2d: layer1.0.conv1": wordPart, "h2d_embedding": wordPart,
		"1: BatchNorm2d": wordPart, "MaxPool3d": wordPart, "Conv2dNormActivation": wordPart,

		"optimizer_step": wordPhase, "load_batch": wordPhase, "forward_step": wordPhase, "h2d": wordPhase,
		"DeepSpeedEngine.forward": wordPhase,

		"epoch 3": wordWhole, "run_training_epoch": wordWhole, "run 3": wordWhole,

		"run_model": wordNone, "timed region": wordNone, "model_inference": wordNone, "tokenize": wordNone,
		"": wordNone,
	} {
		if got := loopWordOf(name); got != want {
			t.Errorf("loopWordOf(%q) = %d, want %d", name, got, want)
		}
	}
}

func TestNameWords(t *testing.T) {
	for name, want := range map[string]string{
		"trainStep_12/h2d copy":           "[train step h2d copy]",
		"[pl][profile]run_training_batch": "[pl profile run training batch]",
		"DDPStrategy.training_step":       "[ddpstrategy training step]", "12": "[]",
	} {
		if got := fmt.Sprint(nameWords(name)); got != want {
			t.Errorf("nameWords(%q) = %s, want %s", name, got, want)
		}
	}
}
