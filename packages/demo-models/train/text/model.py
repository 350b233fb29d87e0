"""The demo text model: a small BERT with three readings of the same layers."""

import torch
from torch import nn
from transformers import BertConfig, BertModel

LABELS = ["one object", "several objects"]


def config_of(tokenizer):
    return BertConfig(
        vocab_size=len(tokenizer), hidden_size=96, num_hidden_layers=2, num_attention_heads=4, intermediate_size=192,
        max_position_embeddings=64, type_vocab_size=2, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
        pad_token_id=tokenizer.pad_token_id, id2label=dict(enumerate(LABELS)), label2id={label: i for i, label in enumerate(LABELS)},
    )  # fmt: skip


class SceneBert(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.bert = BertModel(config, add_pooling_layer=False)
        self.classes = nn.Linear(config.hidden_size, len(LABELS))
        self.words = nn.Linear(config.hidden_size, config.hidden_size)
        self.word_norm = nn.LayerNorm(config.hidden_size)
        self.word_bias = nn.Parameter(torch.zeros(config.vocab_size))

    def forward(self, input_ids, attention_mask, token_type_ids):
        """last_hidden_state [B,T,96], logits [B,2], mask_logits [B,T,vocabulary]"""
        hidden = self.bert(input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids).last_hidden_state
        return hidden, self.classes(hidden[:, 0]), self.scores(hidden)

    def scores(self, hidden):
        """Of every word of the vocabulary."""
        words = self.word_norm(nn.functional.gelu(self.words(hidden)))
        return words @ self.bert.embeddings.word_embeddings.weight.T + self.word_bias


def pooled(hidden, attention_mask):
    """Mean of the tokens, of length 1: what the pooling folder of the export says."""
    mask = attention_mask[:, :, None].float()
    return nn.functional.normalize((hidden * mask).sum(dim=1) / mask.sum(dim=1), dim=1)
