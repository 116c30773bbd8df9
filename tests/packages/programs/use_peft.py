"""A Llama of two layers with low-rank adapters, trained and merged."""

import torch
from peft import LoraConfig, get_peft_model
from report import report, train
from transformers import LlamaConfig, LlamaForCausalLM

torch.manual_seed(0)
words = torch.randint(0, 64, (2, 12))
base = LlamaForCausalLM(
    LlamaConfig(vocab_size=64, hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2)
)
model = get_peft_model(base, LoraConfig(r=4, lora_alpha=8, lora_dropout=0.0, target_modules=["q_proj", "v_proj"]))
trained = {name: value for name, value in model.named_parameters() if value.requires_grad}
train(trained, lambda: model(input_ids=words, labels=words).loss)
with torch.no_grad():
    report(merged=model.merge_and_unload()(input_ids=words).logits, trained=len(trained))
