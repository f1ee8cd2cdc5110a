"""Models of transformers, from small configurations."""

from __future__ import annotations

from functools import partial

import torch

from .losses import BATCH, KeywordLoss, images, labels, tokens

SMALL = dict(
    vocab_size=256,
    hidden_size=64,
    intermediate_size=128,
    num_hidden_layers=2,
    num_attention_heads=4,
    max_position_embeddings=64,
)
GROUPED = dict(SMALL, num_key_value_heads=2)
VISION = dict(SMALL, image_size=32, patch_size=8)
for key in ("vocab_size", "max_position_embeddings"):
    del VISION[key]


def _model(kind: str, config: str, options):
    import transformers

    return getattr(transformers, kind)(getattr(transformers, config)(**options))


def causal(family: str, options, kind="ForCausalLM", length=32, config="", **constant):
    """A language model that shifts its labels by itself."""
    model = _model(family + kind, config or family + "Config", options)
    ids = tokens(length)
    return KeywordLoss(model, ("input_ids", "labels"), use_cache=False, **constant), (ids, ids)


def masked(family: str, options, kind: str = "ForMaskedLM"):
    model = _model(family + kind, family + "Config", options)
    mask = torch.ones(BATCH, 32, dtype=torch.int64)
    return KeywordLoss(model, ("input_ids", "attention_mask", "labels")), (tokens(), mask, tokens())


def translating(family: str, options, kind: str = "ForConditionalGeneration"):
    model = _model(family + kind, family + "Config", options)
    mask = torch.ones(BATCH, 32, dtype=torch.int64)
    keys = ("input_ids", "attention_mask", "labels")
    return KeywordLoss(model, keys, use_cache=False), (tokens(), mask, tokens(16))


def seeing(family: str, options, size: int = 32):
    options = dict(options, num_labels=10)
    model = _model(family + "ForImageClassification", family + "Config", options)
    return KeywordLoss(model, ("pixel_values", "labels")), (images(size), labels(10))


def clip():
    text = dict(SMALL, max_position_embeddings=32, eos_token_id=255, bos_token_id=254)
    text.update(pad_token_id=1, projection_dim=32)
    vision = dict(VISION, image_size=64, patch_size=16, projection_dim=32)
    options = dict(text_config=text, vision_config=vision, projection_dim=32)
    model = _model("CLIPModel", "CLIPConfig", options)
    keys = ("input_ids", "pixel_values", "attention_mask")
    mask = torch.ones(BATCH, 16, dtype=torch.int64)
    return KeywordLoss(model, keys, return_loss=True), (tokens(16), images(64), mask)


def whisper():
    sizes = dict(d_model=64, encoder_layers=2, decoder_layers=2, vocab_size=256, num_mel_bins=80)
    sizes.update(encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=128)
    sizes.update(decoder_ffn_dim=128, max_source_positions=100, max_target_positions=64)
    ids = dict(pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1)
    options = dict(sizes, **ids, begin_suppress_tokens=None)
    model = _model("WhisperForConditionalGeneration", "WhisperConfig", options)
    keys = ("input_features", "labels")
    return KeywordLoss(model, keys, use_cache=False), (torch.randn(BATCH, 80, 200), tokens(16))


def wav2vec2(kind: str = "Wav2Vec2"):
    options = dict(SMALL, conv_dim=(32, 32), conv_stride=(5, 2), conv_kernel=(10, 3))
    options.update(num_feat_extract_layers=2, num_conv_pos_embeddings=16, apply_spec_augment=False)
    options.update(num_conv_pos_embedding_groups=4, num_labels=10, classifier_proj_size=32)
    options.update(layerdrop=0.0)
    model = _model(f"{kind}ForSequenceClassification", f"{kind}Config", options)
    return KeywordLoss(model, ("input_values", "labels")), (torch.randn(BATCH, 800), labels(10))


def vit_mae():
    options = dict(VISION, decoder_num_hidden_layers=1, decoder_hidden_size=32, mask_ratio=0.5)
    options.update(decoder_num_attention_heads=4, decoder_intermediate_size=64)
    model = _model("ViTMAEForPreTraining", "ViTMAEConfig", options)
    return KeywordLoss(model, ("pixel_values", "noise")), (images(32), torch.rand(BATCH, 16))


def segformer():
    options = dict(num_encoder_blocks=2, depths=[1, 1], sr_ratios=[4, 2], hidden_sizes=[16, 32])
    options.update(patch_sizes=[7, 3], strides=[4, 2], num_attention_heads=[1, 2], num_labels=5)
    options.update(mlp_ratios=[2, 2], decoder_hidden_size=32)
    model = _model("SegformerForSemanticSegmentation", "SegformerConfig", options)
    return KeywordLoss(model, ("pixel_values", "labels")), (images(64), labels(5, BATCH, 64, 64))


def experts(family: str, **options):
    return causal(family, dict(GROUPED, num_experts_per_tok=2, num_experts=4, **options))


GPT = dict(vocab_size=256, n_positions=64, n_embd=64, n_layer=2, n_head=4)
OPT = dict(vocab_size=256, hidden_size=64, ffn_dim=128, num_hidden_layers=2, num_attention_heads=4)
T5 = dict(vocab_size=256, d_model=64, d_kv=16, d_ff=128, num_layers=2, num_heads=4)
BART = dict(vocab_size=256, d_model=64, encoder_layers=2, decoder_layers=2, encoder_ffn_dim=128)
BART.update(decoder_ffn_dim=128, encoder_attention_heads=4, decoder_attention_heads=4)
BART.update(max_position_embeddings=64)
DISTIL = dict(vocab_size=256, dim=64, hidden_dim=128, n_layers=2, n_heads=4)
DISTIL.update(max_position_embeddings=64)
STAGES = dict(hidden_sizes=[16, 32], depths=[1, 1], num_stages=2)

MODELS = {
    "transformers/gpt2": partial(causal, "GPT2", GPT, "LMHeadModel"),
    "transformers/llama": partial(causal, "Llama", GROUPED),
    "transformers/qwen2": partial(causal, "Qwen2", GROUPED),
    "transformers/qwen3": partial(causal, "Qwen3", dict(GROUPED, head_dim=16)),
    "transformers/mistral": partial(causal, "Mistral", dict(GROUPED, sliding_window=16)),
    "transformers/gemma": partial(causal, "Gemma", dict(GROUPED, head_dim=16)),
    "transformers/gemma2": partial(causal, "Gemma2", dict(GROUPED, head_dim=16, sliding_window=16)),
    "transformers/gemma3": partial(
        causal,
        "Gemma3",
        dict(
            GROUPED,
            head_dim=16,
            sliding_window=16,
            layer_types=["sliding_attention", "full_attention"],
        ),
        config="Gemma3TextConfig",
    ),
    "transformers/bert": partial(masked, "Bert", SMALL),
    "transformers/t5": partial(translating, "T5", dict(T5, decoder_start_token_id=0)),
    "transformers/vit": partial(seeing, "ViT", VISION),
    "transformers/mixtral": partial(experts, "Mixtral", num_local_experts=4),
    "transformers/mamba": partial(
        causal,
        "Mamba",
        dict(vocab_size=256, hidden_size=64, state_size=8, num_hidden_layers=2),
        length=16,
    ),
    "transformers/clip": clip,
    "transformers/whisper": whisper,
    "transformers/phi": partial(causal, "Phi", SMALL),
    "transformers/phi3": partial(causal, "Phi3", dict(GROUPED, pad_token_id=0)),
    "transformers/opt": partial(
        causal, "OPT", dict(OPT, max_position_embeddings=64, word_embed_proj_dim=64)
    ),
    "transformers/gpt_neo": partial(
        causal,
        "GPTNeo",
        dict(
            vocab_size=256,
            hidden_size=64,
            num_layers=2,
            num_heads=4,
            attention_types=[[["global", "local"], 1]],
            max_position_embeddings=64,
            window_size=16,
        ),
    ),
    "transformers/gpt_neox": partial(causal, "GPTNeoX", SMALL),
    "transformers/gptj": partial(causal, "GPTJ", dict(GPT, rotary_dim=8)),
    "transformers/falcon": partial(causal, "Falcon", SMALL),
    "transformers/olmo2": partial(causal, "Olmo2", GROUPED),
    "transformers/granite": partial(causal, "Granite", GROUPED),
    "transformers/starcoder2": partial(causal, "Starcoder2", GROUPED),
    "transformers/cohere": partial(causal, "Cohere", GROUPED),
    "transformers/olmoe": partial(experts, "Olmoe"),
    "transformers/deepseek_v3": partial(
        causal,
        "DeepseekV3",
        dict(
            SMALL,
            moe_intermediate_size=32,
            num_key_value_heads=4,
            n_routed_experts=4,
            n_group=2,
            topk_group=1,
            num_experts_per_tok=2,
            q_lora_rank=16,
            kv_lora_rank=16,
            qk_rope_head_dim=8,
            qk_nope_head_dim=8,
            v_head_dim=16,
            first_k_dense_replace=1,
            pad_token_id=0,
        ),
    ),
    "transformers/gpt_oss": partial(
        experts,
        "GptOss",
        num_local_experts=4,
        head_dim=16,
        sliding_window=16,
        layer_types=["sliding_attention", "full_attention"],
    ),
    "transformers/qwen2_moe": partial(
        experts, "Qwen2Moe", moe_intermediate_size=64, shared_expert_intermediate_size=64
    ),
    "transformers/roberta": partial(masked, "Roberta", dict(SMALL, max_position_embeddings=66)),
    "transformers/albert": partial(masked, "Albert", dict(SMALL, embedding_size=32)),
    "transformers/electra": partial(masked, "Electra", dict(SMALL, embedding_size=32)),
    "transformers/distilbert": partial(masked, "DistilBert", DISTIL),
    "transformers/deberta_v2": partial(
        masked, "DebertaV2", dict(SMALL, relative_attention=True, pos_att_type=["p2c", "c2p"])
    ),
    "transformers/modernbert": partial(masked, "ModernBert", dict(SMALL, pad_token_id=0)),
    "transformers/bart": partial(translating, "Bart", BART),
    "transformers/wav2vec2": wav2vec2,
    "transformers/vit_mae": vit_mae,
    "transformers/segformer": segformer,
    "transformers/deit": partial(seeing, "DeiT", VISION),
    "transformers/dinov2": partial(seeing, "Dinov2", VISION),
    "transformers/beit": partial(seeing, "Beit", VISION),
    "transformers/resnet": partial(
        seeing, "ResNet", dict(embedding_size=16, hidden_sizes=[16, 32], depths=[1, 1])
    ),
    "transformers/convnext": partial(seeing, "ConvNext", STAGES, 64),
    "transformers/swin": partial(
        seeing,
        "Swin",
        dict(
            image_size=32,
            patch_size=4,
            embed_dim=16,
            depths=[2, 2],
            num_heads=[2, 4],
            window_size=4,
        ),
    ),
}
