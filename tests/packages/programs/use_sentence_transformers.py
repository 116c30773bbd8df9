"""A sentence encoder on a BERT of two layers, trained by a ranking loss."""

import torch
from report import report, train
from sentence_transformers import util
from sentence_transformers.losses import MultipleNegativesRankingLoss
from sentence_transformers.models import Normalize, Pooling
from transformers import BertConfig, BertModel


class Encoder(torch.nn.Module):
    """BERT, the mean of its outputs, and their direction."""

    def __init__(self):
        super().__init__()
        quiet = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "intermediate_size": 32}
        shape = {"vocab_size": 64, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
        self.bert = BertModel(BertConfig(**shape, **quiet))
        self.pooling, self.normalize = Pooling(16), Normalize()

    def forward(self, features):
        found = self.bert(**features).last_hidden_state
        return self.normalize(self.pooling({"token_embeddings": found, "attention_mask": features["attention_mask"]}))


def features():
    mask = torch.ones(3, 6, dtype=torch.long)
    mask[0, 4:] = 0
    return {"input_ids": torch.randint(0, 64, (3, 6)), "attention_mask": mask}


torch.manual_seed(0)
model = Encoder()
pairs = [features(), features()]
ranking = MultipleNegativesRankingLoss(model)
train(model, lambda: ranking([dict(part) for part in pairs], None))
with torch.no_grad():
    found = [model(dict(part))["sentence_embedding"] for part in pairs]
report(
    cosine=util.cos_sim(*found),
    nearest=[torch.tensor(hit[0]["score"]) for hit in util.semantic_search(*found, top_k=1)],
)
