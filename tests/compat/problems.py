"""Small problems for packages that are written for JAX: each gives numbers, which JAX's process and
one with transpile in its place print, and a test compares.

python problems.py GROUP [NAME ...]    as JAX; `--transpile` puts transpile in its place first
"""

import json
import sys
import traceback

if "--transpile" in sys.argv:
    from transpile import compat

    compat.install()

import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)
RANDOM = np.random.default_rng(0)
A = RANDOM.normal(size=(12, 4))
Y = A @ np.array([[1.0, -2.0], [0.5, 0.0], [2.0, 1.0], [-1.0, 3.0]]) + 0.1
B = Y[:, 0]


def loss(params, x, y):
    error = jnp.tanh(x @ params["w"] + params["b"]) - jnp.tanh(y)
    return jnp.mean(error**2) + 1e-3 * jnp.sum(params["w"] ** 2)


def start():
    return {"w": jnp.full((4, 2), 0.3), "b": jnp.array([0.1, -0.1])}


# ------------------------------------------------------------------------------------------ optax

UNTUNED = ("cocob", "dadapt_adamw", "dog", "dowg", "prodigy")  # without a learning rate


def optax_problems():
    import optax

    def steps(optimizer, count=6, **further):
        params = start()
        state = optimizer.init(params)

        @jax.jit
        def step(params, state):
            value, grads = jax.value_and_grad(loss)(params, A, Y)
            extra = {k: v(value, grads) for k, v in further.items()}
            updates, state = optimizer.update(grads, state, params, **extra)
            return optax.apply_updates(params, updates), state

        for _ in range(count):
            params, state = step(params, state)
        value, grads = jax.value_and_grad(loss)(params, A, Y)  # and once without jit
        extra = {k: v(value, grads) for k, v in further.items()}
        updates, state = optimizer.update(grads, state, params, **extra)
        return optax.apply_updates(params, updates)

    names = [
        *("adabelief", "adadelta", "adafactor", "adagrad", "adam", "adamax", "adamaxw"),
        *("adamw", "adan", "amsgrad", "fromage", "lamb", "lars", "lion", "nadam", "nadamw"),
        *("noisy_sgd", "novograd", "optimistic_gradient_descent", "optimistic_adam_v2"),
        *("radam", "rmsprop", "rprop", "sgd", "sign_sgd", "sm3", "yogi"),
    ]
    problems = {}
    for name in names:
        if hasattr(optax, name):
            make = getattr(optax, name)
            problems[name] = lambda make=make: steps(make(0.05))
    problems["sgd, momentum"] = lambda: steps(optax.sgd(0.05, momentum=0.9, nesterov=True))
    problems["rmsprop, centered"] = lambda: steps(optax.rmsprop(0.05, centered=True, momentum=0.5))
    problems["adam, schedule"] = lambda: steps(
        optax.adam(optax.warmup_cosine_decay_schedule(0.0, 0.1, 3, 10, 0.01))
    )
    problems["chain, clip, decay"] = lambda: steps(
        optax.chain(
            optax.clip_by_global_norm(0.5),
            optax.add_decayed_weights(1e-2, mask={"w": True, "b": False}),
            optax.scale_by_adam(),
            optax.scale_by_learning_rate(0.05),
        )
    )
    problems["polyak_sgd"] = lambda: steps(optax.polyak_sgd(), value=lambda v, g: v)
    problems["MultiSteps"] = lambda: steps(optax.MultiSteps(optax.adam(0.05), 2))
    problems["lookahead"] = lambda: lookahead(optax)
    problems["masked"] = lambda: steps(optax.masked(optax.adam(0.05), {"w": True, "b": False}))
    problems["multi_transform"] = lambda: steps(
        optax.multi_transform({"a": optax.adam(0.1), "b": optax.sgd(0.1)}, {"w": "a", "b": "b"})
    )
    problems["apply_if_finite"] = lambda: steps(optax.apply_if_finite(optax.adam(0.05), 3))
    problems["lbfgs"] = lambda: lbfgs(optax)
    problems["inject_hyperparams"] = lambda: steps(
        optax.inject_hyperparams(optax.adam)(learning_rate=0.05)
    )
    problems["ema"] = lambda: steps(optax.chain(optax.ema(0.9), optax.scale(-0.1)))
    problems["zero_nans"] = lambda: steps(optax.chain(optax.zero_nans(), optax.sgd(0.1)))
    problems["adaptive_grad_clip"] = lambda: steps(
        optax.chain(optax.adaptive_grad_clip(0.01), optax.sgd(0.1))
    )
    contrib = [
        *("acprop", "ademamix", "cocob", "dadapt_adamw", "dog", "dowg", "momo", "momo_adam"),
        *("muon", "prodigy", "schedule_free_adamw", "schedule_free_sgd", "sophia", "madgrad"),
        *("galore", "simplified_ademamix"),
    ]
    for name in contrib:
        make = getattr(optax.contrib, name, None)
        if make is None:
            continue
        if name.startswith("momo"):
            problems[f"contrib.{name}"] = lambda make=make: steps(make(), value=lambda v, g: v)
        elif name == "sophia":
            problems["contrib.sophia"] = lambda make=make: steps(
                make(0.05), obj_fn=lambda v, g: lambda p: loss(p, A, Y)
            )
        else:
            rate = () if name in UNTUNED else (0.05,)
            problems[f"contrib.{name}"] = lambda make=make, rate=rate: steps(make(*rate))
    for name in ("sam",):
        problems[f"contrib.{name}"] = lambda: steps(
            optax.contrib.sam(optax.sgd(0.05), optax.sgd(0.01), sync_period=2)
        )
    problems["losses"] = lambda: losses(optax)
    problems["schedules"] = lambda: schedules(optax)
    problems["projections"] = lambda: projections(optax)
    return problems


def lookahead(optax):
    params = optax.LookaheadParams.init_synced(start())
    optimizer = optax.lookahead(optax.adam(0.05), 2, 0.5)
    state = optimizer.init(params)

    @jax.jit
    def step(params, state):
        grads = jax.grad(loss)(params.fast, A, Y)
        updates, state = optimizer.update(grads, state, params)
        return optax.apply_updates(params, updates), state

    for _ in range(5):
        params, state = step(params, state)
    return params


def lbfgs(optax):
    def f(params):
        return loss(params, A, Y)

    optimizer = optax.lbfgs()
    params = start()
    state = optimizer.init(params)

    @jax.jit
    def step(params, state):
        value, grads = optax.value_and_grad_from_state(f)(params, state=state)
        updates, state = optimizer.update(grads, state, params, value=value, grad=grads, value_fn=f)
        return optax.apply_updates(params, updates), state

    for _ in range(4):
        params, state = step(params, state)
    return params


def losses(optax):
    logits, labels = jnp.asarray(A[:, :3]), np.arange(12) % 3
    one = jax.nn.one_hot(labels, 3)
    return {
        "softmax": optax.softmax_cross_entropy(logits, one),
        "integers": optax.softmax_cross_entropy_with_integer_labels(logits, labels),
        "sigmoid": optax.sigmoid_binary_cross_entropy(logits, one),
        "huber": optax.huber_loss(logits, one, delta=0.5),
        "l2": optax.l2_loss(logits, one),
        "log_cosh": optax.log_cosh(logits, one),
        "cosine": optax.cosine_distance(logits, one),
        "hinge": optax.hinge_loss(logits[:, 0], np.sign(A[:, 1])),
        "kl": optax.kl_divergence(jax.nn.log_softmax(logits), one),
        "focal": optax.sigmoid_focal_loss(logits, one),
        "ctc": optax.ctc_loss(
            jnp.asarray(A).reshape(2, 6, 4),
            np.zeros((2, 6)),
            np.array([[1, 2, 3], [2, 1, 0]]),
            np.array([[0.0, 0, 0], [0, 0, 1]]),
        ),
        "slope": jax.grad(lambda l: optax.softmax_cross_entropy(l, one).sum())(logits),
    }


def schedules(optax):
    made = {
        "cosine": optax.cosine_decay_schedule(0.1, 20),
        "exponential": optax.exponential_decay(0.1, 5, 0.5, staircase=True),
        "piecewise": optax.piecewise_constant_schedule(0.1, {3: 0.5, 7: 0.1}),
        "polynomial": optax.polynomial_schedule(0.1, 0.01, 2, 10),
        "onecycle": optax.cosine_onecycle_schedule(20, 0.1),
        "linear": optax.linear_schedule(0.1, 0.0, 10),
        "sgdr": optax.sgdr_schedule(
            [
                {
                    "init_value": 0,
                    "peak_value": 1,
                    "decay_steps": 5,
                    "warmup_steps": 2,
                    "end_value": 0,
                }
            ]
        ),
    }
    return {k: [float(f(n)) for n in (0, 1, 4, 9, 15)] for k, f in made.items()}


def projections(optax):
    x = jnp.asarray(A[0])
    p = optax.projections
    return {
        "simplex": p.projection_simplex(x),
        "l1": p.projection_l1_ball(x, 0.5),
        "l2": p.projection_l2_ball(x, 0.5),
        "box": p.projection_box(x, -0.5, 0.5),
        "hypercube": p.projection_hypercube(x),
        "slope": jax.jacobian(p.projection_simplex)(x),
    }


# ---------------------------------------------------------------------------------------- running


def problems_of(group):
    if group == "optax":
        return optax_problems()
    import importlib

    return importlib.import_module(f"problems_{group}").problems()


def flattened(result):
    return [np.asarray(x).tolist() for x in jax.tree_util.tree_leaves(result)]


def main():
    group, *names = [a for a in sys.argv[1:] if not a.startswith("--")]
    problems = problems_of(group)
    for name in names or problems:
        try:
            line = {"name": name, "values": flattened(problems[name]())}
        except Exception as error:
            text = traceback.format_exc() if "--verbose" in sys.argv else str(error)
            line = {"name": name, "error": f"{type(error).__name__}: {text}"}
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
