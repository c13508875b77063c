"""Small programs that end, fork, serve or share CUPTI in the ways that lose other tools' profiles: python3 programs.py NAME [ARGS]."""
import ctypes
import json
import os
import signal
import sys
import threading
import time

import torch


def model(width=256, depth=8):
    torch.manual_seed(0)
    layers = [m for _ in range(depth) for m in (torch.nn.Linear(width, width), torch.nn.ReLU())]
    return torch.nn.Sequential(*layers).cuda()


def step(net, x, i):
    torch.cuda.nvtx.range_push(f"step_{i}")
    for p in net.parameters():
        p.grad = None
    net(x).square().mean().backward()
    torch.cuda.nvtx.range_pop()


def loop(steps, net=None, x=None, first=0):
    net, x = net or model(), x if x is not None else torch.randn(64, 256, device="cuda")
    for i in range(first, first + steps):
        step(net, x, i)
    torch.cuda.synchronize()


def say(**what):
    print("SAID " + json.dumps(what), flush=True)


def endless(path):
    """Steps until it is killed; the file holds how many were finished, and when, by CLOCK_REALTIME."""
    net, x, i = model(), torch.randn(64, 256, device="cuda"), 0
    loop(3, net, x)
    while True:
        loop(10, net, x, 3 + i)
        i += 10
        with open(path + ".new", "w") as f:
            json.dump({"steps": 3 + i, "real_ns": time.time_ns()}, f)
        os.rename(path + ".new", path)


def os_exit(steps):
    loop(int(steps))
    os._exit(7)


def sigterm(steps):
    loop(int(steps))
    os.kill(os.getpid(), signal.SIGTERM)


def forks(steps):
    """Four workers forked before CUDA starts, four after; none touches CUDA; the parent goes on."""
    def worker():
        torch.cuda.nvtx.range_push("work")
        torch.randn(200, 200) @ torch.randn(200, 200)
        torch.cuda.nvtx.range_pop()
        os._exit(0)

    def some():
        pids = []
        for _ in range(4):
            pid = os.fork()
            if pid == 0:
                worker()
            pids.append(pid)
        return [os.waitpid(p, 0)[1] for p in pids]
    before = some()
    loop(int(steps) // 2)
    after = some()
    loop(int(steps) - int(steps) // 2, first=int(steps) // 2)
    say(before=before, after=after)


def threads(count):
    """Threads that each launch and die."""
    net, x = model(), torch.randn(64, 256, device="cuda")
    loop(2, net, x)

    def body(i):
        with torch.no_grad():
            torch.cuda.nvtx.range_push("thread")
            net(x)
            torch.cuda.nvtx.range_pop()
    for at in range(0, int(count), 50):
        batch = [threading.Thread(target=body, args=(i,)) for i in range(at, min(at + 50, int(count)))]
        [t.start() for t in batch]
        [t.join() for t in batch]
    torch.cuda.synchronize()


def profiler_inside(path):
    """torch.profiler in the middle of a recorded program."""
    from torch.profiler import ProfilerActivity, profile
    net, x = model(), torch.randn(64, 256, device="cuda")
    loop(20, net, x)
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as prof:
        loop(20, net, x, 20)
    prof.export_chrome_trace(path)
    events = json.load(open(path))["traceEvents"]
    loop(20, net, x, 40)
    say(torch_kernels=sum(e.get("cat") == "kernel" for e in events), torch_calls=sum(e.get("cat") == "cuda_runtime" for e in events), torch_ops=sum(e.get("cat") == "cpu_op" for e in events))


def graphs(runs):
    net, x = model(), torch.randn(64, 256, device="cuda")
    with torch.no_grad():
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            net(x), net(x)
        torch.cuda.synchronize()
        g = torch.cuda.CUDAGraph()
        with torch.cuda.graph(g):
            net(x)
    for i in range(int(runs)):
        torch.cuda.nvtx.range_push(f"step_{i}")
        g.replay()
        torch.cuda.nvtx.range_pop()
    torch.cuda.synchronize()


def engine(inbox, outbox):
    net, x = model(), torch.randn(64, 256, device="cuda")
    outbox.put(("ready", os.getpid()))
    n = 0
    while True:
        ask = inbox.get()
        if ask is None:
            outbox.put(("served", n))
            time.sleep(0.3)
            os._exit(0)
        torch.cuda.nvtx.range_push(f"step_{n}")
        with torch.no_grad():
            y = net(x)
        y.sum().item()
        torch.cuda.nvtx.range_pop()
        n += 1
        outbox.put(("done", n))


def server(seconds):
    """As vLLM does: a front process that never touches CUDA, an engine process that does and ends by os._exit, requests by queue."""
    import multiprocessing as mp
    ctx = mp.get_context(os.environ.get("START", "spawn"))
    inbox, outbox = ctx.Queue(), ctx.Queue()
    p = ctx.Process(target=engine, args=(inbox, outbox))
    p.start()
    _, pid = outbox.get()
    say(engine=pid)
    end, served, slow = time.time() + float(seconds), 0, 0.0
    while time.time() < end:
        t = time.time()
        inbox.put(1)
        outbox.get()
        slow = max(slow, time.time() - t)
        served += 1
    inbox.put(None)
    say(served=outbox.get()[1], slowest_ms=slow * 1e3)
    p.join()


def ranks(steps):
    """Under torchrun."""
    import torch.distributed as dist
    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl")
    net = torch.nn.parallel.DistributedDataParallel(model(512), device_ids=[rank])
    x = torch.randn(64, 512, device="cuda")
    for i in range(int(steps)):
        step(net, x, i)
    torch.cuda.synchronize()
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
