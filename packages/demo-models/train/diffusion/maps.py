"""What stands where in a scene, at every place of the denoiser's grid, and the heads that must tell it from the denoiser's
features while it learns.

Velocity alone teaches shapes slowly: where they are decided the target is mostly noise, and a blob in the right place costs
little more than a star. The scene is known exactly, so small linear heads must tell, from the features in the middle of the
network, which object a place belongs to, where its centre lies, how large it is and where its edge runs. What the network
must know to draw the object it then knows before the last layers draw it. The heads are dropped from the export.
(The idea of guiding a denoiser's features by a representation of the clean picture: REPA, arXiv 2410.06940.)
"""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

import scenes
from layers import Linear

REACH = 1.35  # a place belongs to the object in whose box, grown by this factor, it lies
SHAPE = {name: i + 1 for i, name in enumerate(scenes.SHAPES)}  # 0: no object
COLOUR = {name: i + 1 for i, name in enumerate(scenes.COLOURS)}
CLASSES = {"shape": len(SHAPE) + 1, "colour": len(COLOUR) + 1, "ground": len(COLOUR) + 1}
VALUES = 7  # offset to the centre (2, in radii), radius (in SCALEs), signed distance to the edge (2x2, in latent places)
SCALE = 0.1


def scene_map(scene, height, width):
    """(int64 [height,width,3]: shape, colour and ground; float32 [height,width,VALUES], zeros where no object is)."""
    fw, fh = scene.aspect
    x = (np.arange(2 * width, dtype=np.float32) + 0.5) / (2 * width) * fw
    y = (np.arange(2 * height, dtype=np.float32) + 0.5) / (2 * height) * fh
    cx, cy = x.reshape(-1, 2).mean(1)[None], y.reshape(-1, 2).mean(1)[:, None]
    classes = np.zeros((height, width, 3), np.int64)
    values = np.zeros((height, width, VALUES), np.float32)
    ground = scene.background.colours
    classes[..., 2] = COLOUR[ground[0]]
    if scene.background.kind == "rows":
        classes[height // 2 :, :, 2] = COLOUR[ground[1]]
    elif scene.background.kind == "columns":
        classes[:, width // 2 :, 2] = COLOUR[ground[1]]
    nearest = np.full((height, width), REACH, np.float32)
    for o in scene.objects:
        ew, eh = scenes.EXTENT[o.shape]
        off = np.maximum(np.abs(cx - o.x) / (ew * o.r), np.abs(cy - o.y) / (eh * o.r))
        mine = off < nearest
        nearest = np.where(mine, off, nearest)
        classes[mine, 0], classes[mine, 1] = SHAPE[o.shape], COLOUR[o.colour]
        edge = scenes.signed_distance(o.shape, x[None] - o.x, y[:, None] - o.y, o.r) * (2 * width / fw)
        edge = edge.reshape(height, 2, width, 2).transpose(0, 2, 1, 3).reshape(height, width, 4)
        centre = np.broadcast_arrays((o.x - cx) / o.r, (o.y - cy) / o.r, np.float32(o.r / SCALE))
        values[mine] = np.concatenate([np.stack(centre, -1), np.clip(edge, -1.5, 1.5)], -1)[mine]
    return classes, values


class MapHead(nn.Module):
    """One layer's features -> what they must tell."""

    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.tell = Linear(width, sum(CLASSES.values()) + VALUES)

    def loss(self, features, classes, values):
        """features [B,h,w,width]; classes, values as of scene_map, stacked. Half of the loss is about objects' places."""
        told = self.tell(self.norm(features)).flatten(0, 2)
        *answers, told_values = told.split([*CLASSES.values(), VALUES], -1)
        classes, values = classes.flatten(0, 2), values.flatten(0, 2)
        objects = classes[:, 0] > 0
        total = 2 * F.smooth_l1_loss(told_values[objects], values[objects], beta=0.2)
        for i, answer in enumerate(answers):
            cost = F.cross_entropy(answer, classes[:, i], reduction="none")
            total = total + 0.5 * (cost.mean() + cost[objects].mean())
        return total


def batch_maps(found, height, width):
    """Tensors of scene_map for scenes of one batch."""
    classes, values = zip(*(scene_map(scene, height, width) for scene in found))
    return torch.from_numpy(np.stack(classes)), torch.from_numpy(np.stack(values))
