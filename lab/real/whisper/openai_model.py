"""The weights of a Whisper model of transformers in openai-whisper's own model."""

import torch

RENAMES = [
    ("model.", ""), ("encoder.layers.", "encoder.blocks."), ("decoder.layers.", "decoder.blocks."),
    ("self_attn_layer_norm", "attn_ln"), ("encoder_attn_layer_norm", "cross_attn_ln"), ("final_layer_norm", "mlp_ln"),
    ("self_attn", "attn"), ("encoder_attn", "cross_attn"), ("q_proj", "query"), ("k_proj", "key"), ("v_proj", "value"),
    ("out_proj", "out"), ("fc1", "mlp.0"), ("fc2", "mlp.2"), ("encoder.layer_norm", "encoder.ln_post"),
    ("decoder.layer_norm", "decoder.ln"), ("decoder.embed_tokens", "decoder.token_embedding"),
    ("encoder.embed_positions.weight", "encoder.positional_embedding"),
    ("decoder.embed_positions.weight", "decoder.positional_embedding"),
]


def as_openai(model):
    """Its words are timed by the alignment heads of the generation config."""
    from whisper.model import ModelDimensions, Whisper
    config = model.config
    state = {}
    for name, tensor in model.state_dict().items():
        if name == "proj_out.weight":
            continue
        for old, new in RENAMES:
            name = name.replace(old, new)
        state[name] = tensor
    openai = Whisper(ModelDimensions(
        n_mels=config.num_mel_bins, n_audio_ctx=config.max_source_positions, n_audio_state=config.d_model,
        n_audio_head=config.encoder_attention_heads, n_audio_layer=config.encoder_layers, n_vocab=config.vocab_size,
        n_text_ctx=config.max_target_positions, n_text_state=config.d_model, n_text_head=config.decoder_attention_heads,
        n_text_layer=config.decoder_layers))
    openai.load_state_dict(state)
    heads = torch.zeros(config.decoder_layers, config.decoder_attention_heads, dtype=torch.bool)
    for layer, head in model.generation_config.alignment_heads:
        heads[layer, head] = True
    openai.register_buffer("alignment_heads", heads.to_sparse(), persistent=False)
    return openai.eval()
