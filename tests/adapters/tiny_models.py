"""Create tiny models with random weights and the architectures of Llama 3.2 Vision, Qwen2.5-VL and LLaVA 1.5.

The first two are saved in the format of the Hugging Face Hub, and LLaVA 1.5 as the two GGUF files that
llama.cpp reads.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

LLAMA_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}"
    "{% if message['role'] == 'system' %}{{ raise_exception('no system messages beside images') }}{% endif %}"
    "<|start_header_id|>{{ message['role'] }}<|end_header_id|>\n\n"
    "{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}<|image|>{% else %}{{ part['text'] | trim }}{% endif %}"
    "{% endfor %}<|eot_id|>{% endfor %}"
    "{% if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>\n\n{% endif %}"
)
QWEN_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}<|vision_start|><|image_pad|><|vision_end|>{% else %}{{ part['text'] }}{% endif %}"
    "{% endfor %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
_TEXT = {"hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2}
_TEXT |= {"initializer_range": 0.3, "max_position_embeddings": 4096}


def save_llama(folder: Path) -> Path:
    """Save a model with three layers, one of which reads the image by cross-attention, with up to four tiles."""
    from transformers import MllamaConfig, MllamaForConditionalGeneration

    tokens = _save_tokenizer(
        folder,
        ["<|image|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<|python_tag|>"],
        bos_token="<|begin_of_text|>",
        eos_token="<|end_of_text|>",
        pad_token="<|finetune_right_pad_id|>",
    )
    text = {**_TEXT, "vocab_size": len(tokens), "num_hidden_layers": 3, "cross_attention_layers": [1]}
    text |= {"bos_token_id": tokens["<|begin_of_text|>"], "pad_token_id": tokens["<|finetune_right_pad_id|>"]}
    text["eos_token_id"] = [tokens["<|end_of_text|>"], tokens["<|eot_id|>"]]
    vision = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_global_layers": 1}
    vision |= {"attention_heads": 2, "image_size": 28, "patch_size": 14, "max_num_tiles": 4}
    vision |= {"intermediate_layers_indices": [0], "vision_output_dim": 32, "initializer_range": 0.5}
    config = MllamaConfig(text_config=text, vision_config=vision, image_token_index=tokens["<|image|>"])
    _save_model(MllamaForConditionalGeneration, config, folder)
    _write(folder / "chat_template.json", {"chat_template": LLAMA_TEMPLATE})
    processor = {"image_processor_type": "MllamaImageProcessor", "processor_class": "MllamaProcessor"}
    size = {"size": {"height": 28, "width": 28}, "max_image_tiles": 4}
    _write(folder / "preprocessor_config.json", processor | size)
    return folder


def save_qwen(
    folder: Path,
    text: Mapping[str, Any] | None = None,
    vision: Mapping[str, Any] | None = None,
    pixels: int = 112 * 112,
) -> Path:
    """Save a model that reads images as tokens with three-dimensional positions.

    Args:
        folder: where to save the model.
        text: fields of the text model's configuration that replace those of the tiny model.
        vision: fields of the vision model's configuration that replace those of the tiny model.
        pixels: maximum number of pixels per image; larger images are scaled down.
    """
    from transformers import Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration

    tokens = _save_tokenizer(
        folder,
        ["<|im_start|>", "<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>"],
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
    )
    special = {"bos_token_id": "<|endoftext|>", "eos_token_id": "<|im_end|>", "pad_token_id": "<|endoftext|>"}
    text_config = {**_TEXT, "vocab_size": len(tokens), "num_hidden_layers": 2}
    text_config |= {name: tokens[token] for name, token in special.items()}
    rope = {"rope_type": "default", "mrope_section": [2, 1, 1], "rope_theta": 10000.0}
    text_config |= {"rope_parameters": rope, **(text or {})}
    vision_config = {"depth": 2, "hidden_size": 16, "intermediate_size": 32, "num_heads": 2, "patch_size": 14}
    vision_config |= {"window_size": 56, "fullatt_block_indexes": [1], "out_hidden_size": text_config["hidden_size"]}
    vision_config |= {"initializer_range": 0.5, **(vision or {})}
    named = {"image_token_id": "<|image_pad|>", "video_token_id": "<|video_pad|>"}
    named |= {"vision_start_token_id": "<|vision_start|>", "vision_end_token_id": "<|vision_end|>"}
    ids = {name: tokens[token] for name, token in named.items()}
    config = Qwen2_5_VLConfig(text_config=text_config, vision_config=vision_config, **ids)
    _save_model(Qwen2_5_VLForConditionalGeneration, config, folder)
    (folder / "chat_template.jinja").write_text(QWEN_TEMPLATE)
    processor = {"image_processor_type": "Qwen2VLImageProcessor", "processor_class": "Qwen2_5_VLProcessor"}
    size = {"min_pixels": 56 * 56, "max_pixels": pixels, "patch_size": 14, "temporal_patch_size": 2, "merge_size": 2}
    _write(folder / "preprocessor_config.json", processor | size)
    return folder


def save_llava_gguf(folder: Path) -> tuple[Path, Path]:
    """Save a text model with byte tokens and an image encoder, and return the paths of both files."""
    import numpy as np
    from gguf import GGUFWriter, TokenType

    rng = np.random.default_rng(0)
    wide, deep, heads, inner = 64, 2, 4, 128
    seen, patch, size = 32, 14, 56

    def add(writer: GGUFWriter, name: str, *shape: int) -> None:
        writer.add_tensor(name, rng.normal(0, 0.3, shape).astype(np.float32))

    def add_norm(writer: GGUFWriter, name: str, width: int) -> None:
        writer.add_tensor(f"{name}.weight", np.ones(width, np.float32))

    def finish(writer: GGUFWriter) -> None:
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()

    text = GGUFWriter(folder / "text.gguf", "llama")
    text.add_context_length(4096)
    text.add_block_count(deep)
    text.add_embedding_length(wide)
    text.add_feed_forward_length(inner)
    text.add_head_count(heads)
    text.add_layer_norm_rms_eps(1e-5)
    text.add_tokenizer_model("llama")
    tokens = [
        ("<unk>", TokenType.UNKNOWN),
        ("<s>", TokenType.CONTROL),
        ("</s>", TokenType.CONTROL),
        *((f"<0x{byte:02X}>", TokenType.BYTE) for byte in range(256)),
        *((chr(letter), TokenType.NORMAL) for letter in range(33, 127)),
        ("\u2581", TokenType.NORMAL),
    ]
    text.add_token_list([token for token, _ in tokens])
    text.add_token_types([kind for _, kind in tokens])
    text.add_token_scores([0.0] * len(tokens))
    add(text, "token_embd.weight", len(tokens), wide)
    add(text, "output.weight", len(tokens), wide)
    add_norm(text, "output_norm", wide)
    for layer in range(deep):
        add_norm(text, f"blk.{layer}.attn_norm", wide)
        add_norm(text, f"blk.{layer}.ffn_norm", wide)
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            add(text, f"blk.{layer}.{name}.weight", wide, wide)
        add(text, f"blk.{layer}.ffn_gate.weight", inner, wide)
        add(text, f"blk.{layer}.ffn_up.weight", inner, wide)
        add(text, f"blk.{layer}.ffn_down.weight", wide, inner)
    finish(text)

    images = GGUFWriter(folder / "images.gguf", "clip")
    images.add_bool("clip.has_vision_encoder", True)
    images.add_string("clip.projector_type", "mlp")
    numbers = {"image_size": size, "patch_size": patch, "embedding_length": seen, "feed_forward_length": inner}
    numbers |= {"block_count": deep, "projection_dim": wide, "attention.head_count": heads}
    for name, number in numbers.items():
        images.add_uint32(f"clip.vision.{name}", number)
    images.add_float32("clip.vision.attention.layer_norm_epsilon", 1e-5)
    images.add_array("clip.vision.image_mean", [0.5] * 3)
    images.add_array("clip.vision.image_std", [0.25] * 3)
    add(images, "v.class_embd", seen)
    add(images, "v.patch_embd.weight", seen, 3, patch, patch)
    add(images, "v.position_embd.weight", (size // patch) ** 2 + 1, seen)
    for layer in range(deep):
        for name in ("ln1", "ln2"):
            add_norm(images, f"v.blk.{layer}.{name}", seen)
            add(images, f"v.blk.{layer}.{name}.bias", seen)
        for name in ("attn_q", "attn_k", "attn_v", "attn_out"):
            add(images, f"v.blk.{layer}.{name}.weight", seen, seen)
        add(images, f"v.blk.{layer}.ffn_up.weight", inner, seen)
        add(images, f"v.blk.{layer}.ffn_down.weight", seen, inner)
    add(images, "mm.0.weight", wide, seen)
    add(images, "mm.0.bias", wide)
    add(images, "mm.2.weight", wide, wide)
    add(images, "mm.2.bias", wide)
    finish(images)
    return folder / "text.gguf", folder / "images.gguf"


def _save_tokenizer(folder: Path, special: list[str], **named: str) -> dict[str, int]:
    """Save a tokenizer with one token for each byte and the special tokens, and return its vocabulary."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={letter: number for number, letter in enumerate(letters)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    saved = PreTrainedTokenizerFast(tokenizer_object=tokenizer, additional_special_tokens=special, **named)
    saved.save_pretrained(folder)
    vocabulary: dict[str, int] = saved.get_vocab()
    return vocabulary


def _save_model(kind: type, config: object, folder: Path) -> None:
    import torch

    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = kind(config)
    for name, weights in model.named_parameters():
        if "gate" in name and weights.numel() == 1:
            # Gates of cross-attention layers start at zero, which would hide the image from the model.
            torch.nn.init.ones_(weights)
    model.save_pretrained(folder)


def _write(path: Path, content: object) -> None:
    path.write_text(json.dumps(content))
