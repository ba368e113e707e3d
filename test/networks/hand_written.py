"""Small networks of control, sequences, points, depth and pictures, as robots have them. `NETWORKS`: functions that give a module and its inputs."""
import torch
from torch import nn
from torch.nn import functional

NETWORKS = {}


def network(make):
    NETWORKS[make.__name__] = make
    return make


def picture(size, channels=3):
    return (torch.randn(1, channels, size, size),)


class Recurrent(nn.Module):
    """A recurrent network and a head on its last output, or on each."""

    def __init__(self, rnn, features, outputs, last=True):
        super().__init__()
        self.rnn, self.last = rnn, last
        self.head = nn.Linear(features, outputs)

    def forward(self, x):
        y = self.rnn(x)[0]
        return self.head(y[:, -1] if self.last else y)


@network
def lstm():
    return Recurrent(nn.LSTM(32, 48, num_layers=2, batch_first=True), 48, 8), (torch.randn(1, 50, 32),)


@network
def bilstm():
    return Recurrent(nn.LSTM(24, 32, bidirectional=True, batch_first=True), 64, 5, last=False), (torch.randn(1, 20, 24),)


@network
def gru():
    return Recurrent(nn.GRU(32, 64, batch_first=True), 64, 8), (torch.randn(1, 40, 32),)


@network
def rnn_tanh():
    return Recurrent(nn.RNN(16, 32, batch_first=True), 32, 4, last=False), (torch.randn(1, 12, 16),)


class Step(nn.Module):
    """One step of a recurrent policy, whose state the caller keeps."""

    def __init__(self):
        super().__init__()
        self.rnn, self.head = nn.LSTM(32, 64, batch_first=True), nn.Linear(64, 8)

    def forward(self, x, h, c):
        y, (h, c) = self.rnn(x, (h, c))
        return self.head(y), h, c


@network
def lstm_step():
    return Step(), (torch.randn(1, 1, 32), torch.randn(1, 1, 64), torch.randn(1, 1, 64))


class TcnBlock(nn.Module):
    def __init__(self, inputs, outputs, dilation):
        super().__init__()
        self.pad = 2 * dilation
        self.conv = nn.Conv1d(inputs, outputs, 3, padding=self.pad, dilation=dilation)
        self.down, self.norm = nn.Conv1d(inputs, outputs, 1), nn.BatchNorm1d(outputs)

    def forward(self, x):
        y = self.conv(x)[:, :, :-self.pad]
        return torch.relu(self.norm(y) + self.down(x))


@network
def tcn():
    blocks = TcnBlock(8, 32, 1), TcnBlock(32, 32, 2), TcnBlock(32, 32, 4)
    return nn.Sequential(*blocks, nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(32, 4)), (torch.randn(1, 8, 128),)


def mlp(*widths):
    layers = [layer for a, b in zip(widths, widths[1:]) for layer in (nn.Linear(a, b), nn.ELU())]
    return nn.Sequential(*layers[:-1]), (torch.randn(1, widths[0]),)


@network
def mlp_elu():
    return mlp(48, 512, 256, 128, 12)


@network
def mlp_elu_small():
    return mlp(48, 128, 64, 12)


class ActPolicy(nn.Module):
    """Picture and joints in, a chunk of actions out: a transformer over a ResNet's features (ACT)."""

    def __init__(self):
        super().__init__()
        import torchvision
        self.body = nn.Sequential(*list(torchvision.models.resnet18(weights=None).children())[:-2])
        self.project, self.state = nn.Conv2d(512, 128, 1), nn.Linear(14, 128)
        self.transformer = nn.Transformer(128, 4, 2, 2, 256, batch_first=True)
        self.queries, self.head = nn.Parameter(torch.randn(1, 50, 128)), nn.Linear(128, 14)

    def forward(self, camera, joints):
        features = self.project(self.body(camera)).flatten(2).transpose(1, 2)
        source = torch.cat([self.state(joints).unsqueeze(1), features], 1)
        return self.head(self.transformer(source, self.queries))


@network
def act_policy():
    return ActPolicy(), (torch.randn(1, 3, 128, 160), torch.randn(1, 14))


class TransformerPolicy(nn.Module):
    """A causal transformer over observations."""

    def __init__(self, width, layers):
        super().__init__()
        self.observe, self.position = nn.Linear(20, width), nn.Parameter(torch.randn(1, 16, width))
        layer = nn.TransformerEncoderLayer(width, 4, 2 * width, activation="gelu", batch_first=True, norm_first=True)
        self.encode = nn.TransformerEncoder(layer, layers, nn.LayerNorm(width), enable_nested_tensor=False)
        self.head = nn.Linear(width, 6)
        self.register_buffer("mask", torch.triu(torch.full((16, 16), float("-inf")), 1))

    def forward(self, x):
        seen = self.encode(self.observe(x) + self.position, mask=self.mask, is_causal=True)  # unsaid, it is asked of the mask's values
        return torch.tanh(self.head(seen))


@network
def transformer_policy():
    return TransformerPolicy(96, 3), (torch.randn(1, 16, 20),)


@network
def transformer_policy_small():
    return TransformerPolicy(48, 2), (torch.randn(1, 16, 20),)


def conv_norm_mish(inputs, outputs):
    return nn.Sequential(nn.Conv1d(inputs, outputs, 5, padding=2), nn.GroupNorm(8, outputs), nn.Mish())


class DiffusionBlock(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.first, self.second = conv_norm_mish(inputs, outputs), conv_norm_mish(outputs, outputs)
        self.time, self.residual = nn.Sequential(nn.Mish(), nn.Linear(32, outputs)), nn.Conv1d(inputs, outputs, 1)

    def forward(self, x, time):
        return self.second(self.first(x) + self.time(time)[:, :, None]) + self.residual(x)


class DiffusionUnet(nn.Module):
    """One step of denoising of a chunk of actions (diffusion policy)."""

    def __init__(self):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(16, 64), nn.Mish(), nn.Linear(64, 32))
        self.in1, self.in2 = DiffusionBlock(7, 32), DiffusionBlock(32, 64)
        self.middle, self.back = DiffusionBlock(64, 64), DiffusionBlock(96, 32)
        self.down, self.up, self.out = nn.Conv1d(32, 32, 3, 2, 1), nn.ConvTranspose1d(64, 64, 4, 2, 1), nn.Conv1d(32, 7, 1)

    def forward(self, actions, step):
        angles = step[:, None] * torch.exp(torch.arange(8) * (-9.21 / 7))[None]
        time = self.time(torch.cat([angles.sin(), angles.cos()], -1))
        fine = self.in1(actions, time)
        coarse = self.middle(self.in2(self.down(fine), time), time)
        return self.out(self.back(torch.cat([self.up(coarse), fine], 1), time))


@network
def diffusion_unet1d():
    return DiffusionUnet(), (torch.randn(1, 7, 16), torch.tensor([37.0]))


class PointNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.each = nn.Sequential(nn.Conv1d(3, 64, 1), nn.BatchNorm1d(64), nn.ReLU(), nn.Conv1d(64, 128, 1), nn.ReLU())
        self.all = nn.Sequential(nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10))

    def forward(self, points):
        return torch.log_softmax(self.all(self.each(points).max(dim=2).values), -1)


@network
def pointnet():
    return PointNet(), (torch.randn(1, 3, 512),)


def unet_block(inputs, outputs):
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1), nn.InstanceNorm2d(outputs, affine=True), nn.LeakyReLU(0.01),
                         nn.Conv2d(outputs, outputs, 3, padding=1), nn.ReLU())


class Unet(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.down1, self.down2, self.middle = unet_block(3, width), unet_block(width, 2 * width), unet_block(2 * width, 4 * width)
        self.up2, self.back2 = nn.ConvTranspose2d(4 * width, 2 * width, 2, 2), unet_block(4 * width, 2 * width)
        self.up1, self.back1 = nn.ConvTranspose2d(2 * width, width, 3, 2, 1, 1), unet_block(2 * width, width)
        self.out = nn.Conv2d(width, 2, 1)

    def forward(self, x):
        fine = self.down1(x)
        coarse = self.down2(functional.max_pool2d(fine, 2))
        deep = self.middle(functional.max_pool2d(coarse, 2))
        coarse = self.back2(torch.cat([self.up2(deep), coarse], 1))
        return self.out(self.back1(torch.cat([self.up1(coarse), fine], 1)))


@network
def unet():
    return Unet(16), picture(96)


@network
def unet_small():
    return Unet(8), picture(32)


@network
def autoencoder3d():
    encode = nn.Conv3d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool3d(2), nn.Conv3d(8, 16, 3, stride=2, padding=1), nn.SELU()
    return nn.Sequential(*encode, nn.ConvTranspose3d(16, 8, 2, 2), nn.Softplus(), nn.Conv3d(8, 1, 1)), (torch.randn(1, 1, 16, 16, 16),)


@network
def superres():
    convs = nn.Conv2d(3, 16, 5, padding=2, padding_mode="reflect"), nn.PReLU(16), nn.Conv2d(16, 12, 3, padding=1), nn.PixelShuffle(2)
    return nn.Sequential(*convs, nn.Upsample(scale_factor=2, mode="bicubic", align_corners=False)), picture(32)


class SpatialTransformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.locate = nn.Sequential(nn.Conv2d(1, 8, 7, 2), nn.ReLU(), nn.Flatten(), nn.Linear(968, 6))

    def forward(self, x):
        grid = functional.affine_grid(self.locate(x).view(-1, 2, 3), [1, 1, 28, 28], align_corners=False)
        return functional.grid_sample(x, grid, align_corners=False)


@network
def spatial_transformer():
    return SpatialTransformer(), picture(28, channels=1)


class Fusion(nn.Module):
    """A refinement block of MiDaS: a residual unit, twice the size, a projection."""

    def __init__(self, width):
        super().__init__()
        self.unit = nn.Sequential(nn.ReLU(), nn.Conv2d(width, width, 3, padding=1), nn.ReLU(), nn.Conv2d(width, width, 3, padding=1))
        self.project = nn.Conv2d(width, width, 1)

    def forward(self, x, skip=None):
        x = x if skip is None else x + skip
        return self.project(functional.interpolate(x + self.unit(x), scale_factor=2, mode="bilinear", align_corners=True))


class Midas(nn.Module):
    """Depth from one picture: an EfficientNet, its features fused from coarse to fine."""

    def __init__(self):
        super().__init__()
        import torchvision
        features = torchvision.models.efficientnet_b0(weights=None).features
        self.stages = nn.ModuleList([features[:3], features[3:4], features[4:6], features[6:8]])
        self.scratch = nn.ModuleList([nn.Conv2d(channels, 64, 3, padding=1) for channels in (24, 40, 112, 320)])
        self.fusions = nn.ModuleList([Fusion(64) for _ in range(4)])
        self.out = nn.Sequential(nn.Conv2d(64, 32, 3, padding=1), nn.GELU(), nn.Conv2d(32, 1, 1), nn.ReLU())

    def forward(self, x):
        levels = []
        for stage, scratch in zip(self.stages, self.scratch):
            x = stage(x)
            levels.append(scratch(x))
        path = self.fusions[3](levels[3])
        for level in (2, 1, 0):
            path = self.fusions[level](path, levels[level])
        return functional.interpolate(self.out(path), scale_factor=2, mode="bilinear", align_corners=True)


@network
def depth_midas():
    return Midas(), picture(192)
