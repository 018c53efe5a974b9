"""Save tiny CLIP and Stable Diffusion models with random weights in the format of the Hub."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ENCODER: dict[str, Any] = {
    "hidden_size": 32,
    "intermediate_size": 37,
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
    "initializer_range": 0.3,
}

NETWORK: dict[str, Any] = {
    "block_out_channels": (8, 16),
    "layers_per_block": 1,
    "sample_size": 32,
    "out_channels": 4,
    "down_block_types": ("DownBlock2D", "CrossAttnDownBlock2D"),
    "up_block_types": ("CrossAttnUpBlock2D", "UpBlock2D"),
    "attention_head_dim": 4,
    "norm_num_groups": 4,
}


def save_tokenizer(folder: Path) -> dict[str, int]:
    """Save a tokenizer with one token per byte, one per byte at a word end, and two special ones. Return their ids."""
    from tokenizers import pre_tokenizers

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    words = [*letters, *(letter + "</w>" for letter in letters), "<|startoftext|>", "<|endoftext|>"]
    vocabulary = {word: number for number, word in enumerate(words)}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.json").write_text(json.dumps(vocabulary))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    special = {"bos_token": "<|startoftext|>", "eos_token": "<|endoftext|>", "unk_token": "<|endoftext|>"}
    settings = {**special, "pad_token": "<|endoftext|>", "tokenizer_class": "CLIPTokenizer", "model_max_length": 77}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return vocabulary


def text_settings(vocabulary: dict[str, int]) -> dict[str, Any]:
    """Return the settings of a CLIP text encoder for a tokenizer."""
    start, end = vocabulary["<|startoftext|>"], vocabulary["<|endoftext|>"]
    tokens = {"vocab_size": len(vocabulary), "bos_token_id": start, "eos_token_id": end, "pad_token_id": end}
    return {**ENCODER, "max_position_embeddings": 77, **tokens}


def save_clip(folder: Path, seed: int = 0) -> Path:
    """Save a CLIP model for images of 32 x 32 pixels in patches of 8."""
    import torch
    from transformers import CLIPConfig, CLIPModel

    vision = {**ENCODER, "image_size": 32, "patch_size": 8}
    text = text_settings(save_tokenizer(folder))
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        CLIPModel(CLIPConfig(text_config=text, vision_config=vision, projection_dim=16)).save_pretrained(folder)
    images = {
        **dict.fromkeys(("do_resize", "do_center_crop", "do_rescale", "do_normalize"), True),
        "image_processor_type": "CLIPImageProcessor",
        "size": {"shortest_edge": 32},
        "crop_size": {"height": 32, "width": 32},
        "resample": 3,
        "image_mean": [0.48145466, 0.4578275, 0.40821073],
        "image_std": [0.26862954, 0.26130258, 0.27577711],
    }
    (folder / "preprocessor_config.json").write_text(json.dumps(images))
    return folder


def save_inpainting(folder: Path, seed: int = 0, channels: int = 9, vae: str = "random") -> Path:
    """Save a Stable Diffusion inpainting pipeline with two network blocks and latents of 1/8 of the image size.

    Args:
        channels: input channels of the network. Inpainting needs 9.
        vae: `random` weights, or `broken` ones that are not finite.
    """
    import torch
    from diffusers import AutoencoderKL, DDIMScheduler, StableDiffusionInpaintPipeline, UNet2DConditionModel
    from transformers import CLIPTextConfig, CLIPTextModel, CLIPTokenizer

    vocabulary = save_tokenizer(folder / "tokenizer")
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        network = UNet2DConditionModel(in_channels=channels, cross_attention_dim=ENCODER["hidden_size"], **NETWORK)
        coder = _coder(AutoencoderKL)
        reader = CLIPTextModel(CLIPTextConfig(**text_settings(vocabulary)))
    if vae == "broken":
        torch.nn.init.constant_(coder.post_quant_conv.bias, float("nan"))
    scheduler = DDIMScheduler(
        beta_start=0.00085, beta_end=0.012, beta_schedule="scaled_linear", clip_sample=False, steps_offset=1
    )
    StableDiffusionInpaintPipeline(
        vae=coder,
        text_encoder=reader,
        tokenizer=CLIPTokenizer.from_pretrained(folder / "tokenizer"),
        unet=network,
        scheduler=scheduler,
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    ).save_pretrained(folder)
    return folder


def save_inpainting_xl(folder: Path, seed: int = 0, channels: int = 9) -> Path:
    """Save a tiny Stable Diffusion XL inpainting pipeline."""
    import torch
    from diffusers import AutoencoderKL, DDIMScheduler, StableDiffusionXLInpaintPipeline, UNet2DConditionModel
    from transformers import CLIPTextConfig, CLIPTextModel, CLIPTextModelWithProjection, CLIPTokenizer

    vocabulary = save_tokenizer(folder / "tokenizer")
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        text = CLIPTextConfig(**text_settings(vocabulary), projection_dim=32)
        network = UNet2DConditionModel(
            **NETWORK,
            in_channels=channels,
            cross_attention_dim=2 * ENCODER["hidden_size"],
            use_linear_projection=True,
            addition_embed_type="text_time",
            addition_time_embed_dim=8,
            # The input is six numbers for sizes and crops, and the projection of the second encoder.
            projection_class_embeddings_input_dim=6 * 8 + 32,
        )
        pipeline = StableDiffusionXLInpaintPipeline(
            vae=_coder(AutoencoderKL),
            text_encoder=CLIPTextModel(text),
            text_encoder_2=CLIPTextModelWithProjection(text),
            tokenizer=CLIPTokenizer.from_pretrained(folder / "tokenizer"),
            tokenizer_2=CLIPTokenizer.from_pretrained(folder / "tokenizer"),
            unet=network,
            scheduler=DDIMScheduler(beta_start=0.00085, beta_end=0.012, beta_schedule="scaled_linear", steps_offset=1),
            add_watermarker=False,
        )
    pipeline.save_pretrained(folder)
    return folder


def _coder(make: Any) -> Any:
    """Return a VAE whose latents are 1/8 of the image size."""
    return make(
        block_out_channels=(8, 8, 16, 16),
        down_block_types=("DownEncoderBlock2D",) * 4,
        up_block_types=("UpDecoderBlock2D",) * 4,
        latent_channels=4,
        norm_num_groups=4,
    )
