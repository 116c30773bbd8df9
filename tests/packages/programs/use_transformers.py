"""GPT-2, BERT and Llama of transformers, of two layers: losses, gradients, a loop of training and generated text."""

import torch
from report import report, steps, train
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    get_linear_schedule_with_warmup,
)

torch.manual_seed(0)
words = torch.randint(0, 64, (2, 12))
small = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
model = GPT2LMHeadModel(GPT2Config(vocab_size=64, n_positions=32, n_embd=16, n_layer=2, n_head=2, **small))
train(model, lambda: model(input_ids=words, labels=words).loss)
quiet = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "intermediate_size": 32}
bert = BertForSequenceClassification(
    BertConfig(vocab_size=64, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, num_labels=2, **quiet)
)
optimizer = torch.optim.AdamW(bert.parameters(), lr=1e-4)
schedule = get_linear_schedule_with_warmup(optimizer, 1, 4)
mask = torch.ones_like(words)
mask[1, 8:] = 0
losses = []
for _ in steps():
    out = bert(input_ids=words, attention_mask=mask, labels=torch.tensor([0, 1]))
    out.loss.backward()
    optimizer.step()
    schedule.step()
    optimizer.zero_grad()
    losses.append(out.loss)
report(bert=losses)
llama = LlamaForCausalLM(
    LlamaConfig(
        vocab_size=64,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
    )
)
out = llama(input_ids=words, labels=words)
out.loss.backward()
report(llama=out.logits, gradient=llama.model.layers[0].self_attn.q_proj.weight.grad)
report(generated=llama.generate(words[:, :4], max_new_tokens=6, do_sample=False, pad_token_id=0))
