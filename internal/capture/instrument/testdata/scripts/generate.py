# want: line=5 kind=inference steps=11 phases=data,generate
import torch

llm = torch.Module()
for prompt in ["hello"] * 11:
    with torch.no_grad():
        tokens = llm.generate(prompt, max_new_tokens=3)
    print(tokens)
