"""Networks of torchvision with seeded weights, as the scripts of this folder compare them."""
import torch
import torchvision

# Name and height and width of the input: those whose outputs are compared, and those whose latency is.
OUTPUT_NETWORKS = {name: 224 for name in ("resnet50", "resnext50_32x4d", "densenet121", "googlenet", "mobilenet_v3_large", "efficientnet_b0")}
LATENCY_NETWORKS = {name: 416 for name in ("resnet152", "densenet201", "resnext101_32x8d")}
NETWORKS = OUTPUT_NETWORKS | LATENCY_NETWORKS

# What follows a network's name in the name of its file, by exporter. Both files have the same input and answer.
SUFFIXES = {"traced": "", "default": "-default"}

CALIBRATION_BATCH = 4
RESIDUAL_GAIN = 0.25
SHIFTS = 0.0, 1.0  # rectifiers that pass more than half keep rounding errors from growing with every layer


def pictures(count, size, seed):
    """Noise of every scale, as pictures have it: of white noise, deep layers would see the mean only."""
    generator = torch.Generator().manual_seed(seed)
    scales = [torch.randn(count, 3, grid, grid, generator=generator) for grid in (3, 6, 12, 24, 48, 96, size)]
    return sum(torch.nn.functional.interpolate(noise, size=(size, size), mode="bilinear") for noise in scales) / len(scales) ** 0.5


def input_of(size):
    return pictures(1, size, seed=2)


def build(name, size):
    """The network on the CPU, for inference. Its batch normalisations have scales and shifts of their own and the statistics
    of noise that passes the network, so that activations stay in range however deep it is. Residual branches are weak beside
    what they are added to, as after training: else each block would magnify rounding errors."""
    torch.manual_seed(1)
    options = {"aux_logits": False, "init_weights": False} if name == "googlenet" else {}
    model = getattr(torchvision.models, name)(weights=None, **options).eval()
    norms = [module for module in model.modules() if isinstance(module, torch.nn.BatchNorm2d)]
    with torch.no_grad():
        for norm in norms:
            norm.weight.uniform_(0.75, 1.25)
            norm.bias.uniform_(*SHIFTS)
            norm.momentum = None  # the mean over all batches
            norm.reset_running_stats()
            norm.train()
        for block in model.modules():
            if isinstance(block, torchvision.models.resnet.Bottleneck):
                block.bn3.weight *= RESIDUAL_GAIN
        model(pictures(CALIBRATION_BATCH, size, seed=3))
    return model.eval()
