"""Networks that robots and cars use, as PyTorch modules with seeded weights: none is downloaded, and their answers mean nothing.

`build(name)` gives a module and its inputs. Networks of torchvision (tv_), timm (timm_), ultralytics (ul_) and transformers (hf_) are built from
their configurations; those written by hand are in hand_written.py.
"""
import dataclasses
import pathlib
import sys
import typing

import torch
from torch import nn

import hand_written

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "gpu"))
import torchvision_networks

NETWORKS = {}
SEED = 7
NOTHING = 1e-3       # a parameter below that takes no part
LEAST_SPREAD = 1.0   # of a channel, beside the mean of all: what lies below would be magnified, with its rounding


@dataclasses.dataclass
class Network:
    make: typing.Callable  # gives the module and its inputs
    kind: str = "plain"    # how its outputs are compared: see compare.py


def image(size=224):
    return (torchvision_networks.pictures(1, size, SEED),)


def tokens(length, vocabulary):
    return torch.randint(0, vocabulary, (1, length))


class Only(nn.Module):
    """One of the outputs of a model that gives several by name and takes its inputs by name."""

    def __init__(self, model, output, *names):
        super().__init__()
        self.model, self.output, self.names = model, output, names

    def forward(self, *values):
        outputs = self.model(**dict(zip(self.names, values))) if self.names else self.model(*values)
        return outputs[self.output]


def torchvision_network(name, size=224, **options):
    import torchvision
    return torchvision.models.get_model(name, weights=None, **options), image(size)


def segmentation_network(name):
    import torchvision
    return Only(torchvision.models.get_model(name, weights=None, weights_backbone=None), "out"), image()


def timm_network(name, size=224):
    import timm
    return timm.create_model(name, pretrained=False), image(size)


def ultralytics_network(name, size=320):
    import ultralytics
    kind = ultralytics.RTDETR if "rtdetr" in name else ultralytics.YOLO
    model = kind(f"{name}.yaml").model.eval()
    settle(model, image(size))
    for module in model.modules():
        for heads in ("cv3", "one2one_cv3"):  # of detectors: the scores of classes, which would all be next to nothing
            for head in getattr(module, heads, None) or [] if hasattr(module, "nc") else []:
                head[-1].bias.data.mul_(0.3)
        if getattr(module, "one2one_cv2", None) is not None:
            module.end2end = True
    model.fuse(verbose=False)
    for module in model.modules():  # as ultralytics' own export does
        if hasattr(module, "export"):
            module.export, module.format = True, "onnx"
        if hasattr(module, "dynamic"):
            module.dynamic = False
    with torch.no_grad():
        model(*image(size))
    return model, image(size)


def segformer_b0():
    from transformers import SegformerConfig, SegformerForSemanticSegmentation
    return Only(SegformerForSemanticSegmentation(SegformerConfig(num_labels=19)), "logits", "pixel_values"), image(256)


def bert_tiny():
    from transformers import BertConfig, BertModel
    sizes = {"vocab_size": 1000, "hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 512}
    model = BertModel(BertConfig(attn_implementation="eager", **sizes))
    return Only(model, "last_hidden_state", "input_ids", "attention_mask"), (tokens(32, 1000), torch.ones(1, 32, dtype=torch.int64))


def distilbert():
    from transformers import DistilBertConfig, DistilBertModel
    model = DistilBertModel(DistilBertConfig(vocab_size=1000, n_layers=2, dim=128, n_heads=4, hidden_dim=256))
    return Only(model, "last_hidden_state", "input_ids"), (tokens(24, 1000),)


def llama_tiny():
    from transformers import LlamaConfig, LlamaModel
    sizes = {"vocab_size": 1000, "hidden_size": 128, "num_hidden_layers": 2, "intermediate_size": 344}
    model = LlamaModel(LlamaConfig(num_attention_heads=4, num_key_value_heads=2, use_cache=False, attn_implementation="eager", **sizes))
    return Only(model, "last_hidden_state", "input_ids"), (tokens(32, 1000),)


def dpt_depth():
    from transformers import DPTConfig, DPTForDepthEstimation
    sizes = {"hidden_size": 192, "num_hidden_layers": 6, "num_attention_heads": 3, "intermediate_size": 768, "image_size": 224}
    neck = {"backbone_out_indices": [1, 2, 4, 5], "neck_hidden_sizes": [48, 96, 192, 192], "fusion_hidden_size": 64}
    model = DPTForDepthEstimation(DPTConfig(initializer_range=0.06, **sizes, **neck))
    [module for module in model.head.modules() if isinstance(module, nn.Conv2d)][-1].bias.data.fill_(0.5)  # else most depths are below 0, so 0
    return Only(model, "predicted_depth", "pixel_values"), image()


def detr():
    from transformers import DetrConfig, DetrForObjectDetection
    backbone = {"use_pretrained_backbone": False, "use_timm_backbone": True, "backbone": "resnet18"}
    sizes = {f"{part}_{what}": value for part in ("encoder", "decoder") for what, value in (("layers", 2), ("attention_heads", 4), ("ffn_dim", 256))}
    model = DetrForObjectDetection(DetrConfig(d_model=128, num_queries=20, **backbone, **sizes))
    return Only(model, "logits", "pixel_values"), image()


def clip_vision():
    from transformers import CLIPVisionConfig, CLIPVisionModel
    config = CLIPVisionConfig(hidden_size=192, num_hidden_layers=3, num_attention_heads=3, intermediate_size=768)
    return Only(CLIPVisionModel(config), "pooler_output", "pixel_values"), image()


def wav2vec():
    from transformers import Wav2Vec2Config, Wav2Vec2Model
    sizes = {"hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 256}
    model = Wav2Vec2Model(Wav2Vec2Config(attn_implementation="eager", **sizes))
    return Only(model, "last_hidden_state", "input_values"), (torch.randn(1, 8000),)


def whisper_encoder():
    from transformers import WhisperConfig, WhisperModel
    sizes = {f"{part}_{what}": value for part in ("encoder", "decoder") for what, value in (("layers", 2), ("attention_heads", 4), ("ffn_dim", 256))}
    return Only(WhisperModel(WhisperConfig(d_model=128, **sizes)).encoder, "last_hidden_state", "input_features"), (torch.randn(1, 80, 3000),)


def add(prefix, make, names, kinds=None, sizes=None):
    for name in names:
        options = {"size": sizes[name]} if sizes and name in sizes else {}
        kind = (kinds or {}).get(name, "plain")
        NETWORKS[prefix + name.replace("-", "_")] = Network(lambda name=name, options=options: make(name, **options), kind)


add("tv_", torchvision_network, (
    "resnet18", "mobilenet_v3_small", "efficientnet_b0", "efficientnet_v2_s", "regnet_y_400mf", "shufflenet_v2_x1_0", "squeezenet1_1", "densenet121",
    "vit_b_16", "swin_t", "swin_v2_t", "convnext_tiny", "maxvit_t", "mnasnet1_0"))
NETWORKS["tv_inception_v3"] = Network(lambda: torchvision_network("inception_v3", 299, init_weights=False))
add("tv_", segmentation_network, ("lraspp_mobilenet_v3_large", "deeplabv3_mobilenet_v3_large", "fcn_resnet50"))
add("timm_", timm_network, (
    "mobilevit_s", "mobilevitv2_100", "efficientformer_l1", "fastvit_t8", "edgenext_small", "mixer_s16_224", "deit_tiny_patch16_224",
    "poolformer_s12", "ghostnet_100", "repvgg_a0", "levit_128s", "xcit_nano_12_p16_224", "pvt_v2_b0", "coat_tiny", "tiny_vit_5m_224",
    "hrnet_w18_small", "cait_xxs24_224", "gernet_s", "eva02_tiny_patch14_224", "vit_small_patch14_dinov2", "nf_regnet_b0", "efficientvit_b0",
    "res2net50_26w_4s", "volo_d1_224", "davit_tiny", "focalnet_tiny_srf", "inception_next_tiny", "mambaout_femto", "hiera_tiny_224"),
    sizes={"vit_small_patch14_dinov2": 518})
ULTRALYTICS = {name: "boxes" for name in ("yolov5n", "yolov8n", "yolov9t", "yolo11n", "yolo11s", "yolo12n", "yolo11n-seg", "yolo11n-pose")}
ULTRALYTICS |= {name: "rows" for name in ("yolov10n", "rtdetr-resnet50", "yolo26n")}
add("ul_", ultralytics_network, ULTRALYTICS, kinds=ULTRALYTICS)
NETWORKS |= {f"hf_{make.__name__}": Network(make) for make in (
    segformer_b0, bert_tiny, distilbert, llama_tiny, dpt_depth, detr, clip_vision, wav2vec, whisper_encoder)}
NETWORKS |= {name: Network(make) for name, make in hand_written.NETWORKS.items()}

STORED = ("mlp_elu_small", "tcn", "pointnet", "lstm", "lstm_step", "gru", "transformer_policy_small", "unet_small")


def vary(parameter):
    """One that is the same everywhere, as scales, shifts and last layers of many are at first, would hide errors."""
    value = float(parameter.flatten()[0])
    if not parameter.is_floating_point() or not bool((parameter == value).all()):
        return
    if abs(value) < NOTHING and parameter.dim() > 1:
        parameter.normal_(0, parameter[0].numel() ** -0.5)
    elif abs(value) < NOTHING:
        parameter.uniform_(0.05, 0.2)
    else:
        parameter.mul_(torch.empty_like(parameter).uniform_(0.75, 1.25))


def take_statistics(norm, given):
    """Makes a batch normalisation one that was trained on what it is given."""
    values = given[0].transpose(0, 1).flatten(1)
    spread = values.var(1, correction=0)
    norm.running_mean.copy_(values.mean(1))
    norm.running_var.copy_(spread.clamp(min=LEAST_SPREAD * float(spread.mean()) or 1.0))


def settle(module, inputs):
    """Parameters of their own everywhere, and batch normalisations that keep values in range however deep the network is."""
    norms = [each for each in module.modules() if isinstance(each, nn.modules.batchnorm._BatchNorm) and each.running_mean is not None]
    with torch.no_grad():
        for parameter in module.parameters():
            vary(parameter)
        for norm in norms:
            if norm.affine:
                norm.bias.uniform_(*torchvision_networks.SHIFTS)
        hooks = [norm.register_forward_pre_hook(take_statistics) for norm in norms]
        module(*inputs)
        for hook in hooks:
            hook.remove()


def build(name):
    torch.backends.mha.set_fastpath_enabled(False)  # its operators cannot be exported
    torch.manual_seed(SEED)
    module, inputs = NETWORKS[name].make()
    module.eval()
    settle(module, inputs)
    return module, inputs
