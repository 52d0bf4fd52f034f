"""A torch transformer that learned least squares in context, taken apart; `train` does it anew."""

import sys
from importlib.util import find_spec

import numpy as np
from safetensors.numpy import load_file, save_file

import twofold

torch = find_spec("torch") and __import__("torch")
KEPT = __file__.replace(".py", ".safetensors")
LAW = {"dim": 4, "prompt": 16, "noise": 0.1, "spectrum": "isotropic", "target": "coefficients"}


def network(width=64, layers=3):
    """A body from rows (x, y) to one code per prompt, and a head from code to coefficients."""
    torch.manual_seed(0)
    shape = {"dropout": 0.0, "activation": "gelu", "batch_first": True, "norm_first": True}
    layer = torch.nn.TransformerEncoderLayer(width, 4, 2 * width, **shape)
    body = torch.nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
    embed, head = torch.nn.Linear(LAW["dim"] + 1, width), torch.nn.Linear(width, LAW["dim"])
    return torch.nn.ModuleDict({"embed": embed, "body": body, "head": head})


def code(net, prompt):
    """What the body makes of the prompt, averaged over its rows."""
    rows = torch.tensor(np.dstack([prompt["X"], prompt["y"]]), dtype=torch.float32)
    return net["body"](net["embed"](rows)).mean(dim=1)


def train(net, steps=4000, batch=256):
    """Adam on fresh tasks; the loss is the squared distance of the coefficients."""
    adam = torch.optim.Adam(net.parameters())
    schedule = torch.optim.lr_scheduler.OneCycleLR(adam, 1e-3, total_steps=steps)
    for step in range(steps):
        tasks = twofold.tasks.regression.sample(seed=1000 + step, count=batch, needs="X", **LAW)
        gap = net["head"](code(net, tasks.prompt)) - torch.tensor(tasks.truth).float()
        adam.zero_grad()
        (gap**2).mean().backward()
        _ = adam.step(), schedule.step()
    save_file({name: value.numpy() for name, value in net.state_dict().items()}, KEPT)


def taken_apart(net, tasks, others):
    """Body as encoder, head as decoder; the best head is least squares on other tasks."""
    model = twofold.EncoderDecoder(lambda prompt: code(net, prompt), net["head"])
    seen = model.encoder(others.prompt).detach().double().numpy()
    best = torch.tensor(np.linalg.lstsq(seen, others.truth, rcond=None)[0])
    return twofold.take_apart(model, tasks, reference=lambda c: c.detach().double() @ best)


if __name__ == "__main__":
    if not torch:
        sys.exit(print("No PyTorch here:\nnothing is taken apart.\n`make test-torch` fetches it."))
    net = network()
    _ = sys.argv[1:] == ["train"] and train(net)
    net.eval().load_state_dict({k: torch.tensor(v) for k, v in load_file(KEPT).items()})
    draw = [twofold.tasks.regression.sample(seed=n, count=n, needs="X", **LAW) for n in (512, 8192)]
    print(taken_apart(net, *draw), "best: least squares on 8192 other tasks", sep="\n")
