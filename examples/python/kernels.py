"""A multi-layer perceptron as one kernel, trained by gradients of its graph; then its schedule and its profile."""
import array

from tessera import graph, numerics, op, profile, schedule


def loss(x, y, w1, w2):
    hidden = op.relu(x @ w1)
    error = hidden @ w2 - y
    return (error * error).mean()


@op.kernel
def predict(x, w1, w2):
    return op.relu(x @ w1) @ w2


@op.kernel
def descend(w, gradient, rate):
    w[:] = w - gradient * rate


def numbers(seed, *shape):
    return op.rng_normal(array.array("i", [seed, 1]), shape=shape)


x = numbers(1, 64, 8)
y = (x[:, 0:1] * x[:, 1:2])
w1, w2 = numbers(2, 8, 32) * 0.5, numbers(3, 32, 1) * 0.2
step = graph.trace(loss, x, y, w1, w2).grad(["w1", "w2"])
losses = []
for _ in range(200):
    value, g1, g2 = step(x, y, w1, w2)
    descend(w1, g1, 0.05)
    descend(w2, g2, 0.05)
    losses.append(value.item())
print(f"loss {losses[0]:.3f} to {losses[-1]:.3f} in {len(losses)} steps")
assert losses[-1] < 0.2 * losses[0]

with profile.session() as session:
    predict(x, w1, w2)
print(session)


@op.kernel
def staged(a, b):
    schedule.tile((64, 64, 32))
    schedule.use_shared_memory(True, padding=1)
    schedule.async_copy(True)
    return a @ b


a = numbers(4, 100, 70)
assert (staged(a, a.T) - a @ a.T).max().item() < 1e-4
print(staged.graph(a, a.T).dump("schedule", "cuda:sm_90a").split("\n")[0])
with numerics.policy("deterministic"):
    print("policy", numerics.current(), op.softmax(a)[0].sum().item())
