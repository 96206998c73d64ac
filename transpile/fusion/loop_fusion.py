"""The nest: stages fused into shared loops, and the place where each stage's value lives.

Stages join the loop of their producer when, in each iteration, they read only the part of it that
the same iteration computed: their subscripts along the producer's axis are the loop's own index.
Applied to the outermost loops first and then inside each of them, this one rule makes softmax a
single loop over rows, keeps a loop's sibling reductions together, and leaves a value that all its
consumers read in the innermost loop in a scalar.

A value lives
* in a scalar, when all who read it stand inside the innermost loop over its axes;
* in a row (a local array), when they share some outer loops with it;
* in memory (`stored`), otherwise, and when it is a result.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field

from transpile.fusion.diagonal_arrays import diagonals
from transpile.fusion.in_place_updates import updates_in_time
from transpile.fusion.inline_cost import CHEAP, SUBSCRIPT_COST, Survey, cost_of
from transpile.fusion.materialize import Placement, Stage
from transpile.fusion.regions import Bodies, wholes
from transpile.ir.dims import Dim, Index, Shape, Symbol, product, symbols_of
from transpile.ir.graph import Atom, Graph, Var
from transpile.ir.loop_ir import Apply, Expr, Load
from transpile.ir.loop_rewrite import subexpressions
from transpile.ir.primitive import TABLE
from transpile.primitives.indexing import dynamic_slice, gather
from transpile.util.frozen_records import dataclass

# Kinds of stages that stand between loops, and read their operands from memory.
WHOLE = ("call", "control", "effect")
# The largest local array, in bytes: it lives on a thread's stack and should stay in its cache.
LARGEST_ROW = 65536
# How many of the latest loops a stage tries to join, and how many stages may share one.
CANDIDATE_LOOPS = 8
LARGEST_CLUSTER = 128
# Unrelated stages share a loop only when it is so short that a loop of its own costs more.
SMALL_LOOP = 4096
# A slice of an array is copied before the array changes when it has at most this part of its size.
SMALL_SLICE = 8
# What reads a running value has a loop of its own when it costs more than this.
SCAN_READER = 8


@dataclass(eq=False)
class Nest:
    """A loop shared by stages; its items are loops and, innermost, the stages themselves."""

    symbol: Symbol
    depth: int
    stages: list[Stage]
    items: list[Nest | Stage] = field(default_factory=list)


@dataclass(frozen=True)
class Home:
    """Where a stage's value lives: inside `depth` loops, with the axes `kept` (of this `shape`)."""

    kind: str
    depth: int
    loop: Nest | None = None
    kept: tuple[int, ...] = ()
    shape: Shape = ()


@dataclass(eq=False)
class Fused:
    """The loop trees of a graph and the home of every stage."""

    placement: Placement
    items: list[Nest | Stage]
    paths: dict[Stage, list[Nest]]
    homes: dict[Stage, Home]

    @property
    def wholes(self) -> set[Atom]:
        """The values that are read as arrays in memory."""
        return wholes(self.placement.stages)


def fuse(graph: Graph) -> Fused:
    """The graph's loops."""
    return _fuse_part(graph, {}, Bodies(_fuse_part))


def _fuse_part(graph: Graph, given: Mapping[Var, Expr], bodies: Bodies) -> Fused:
    """The loops of a graph, or of a body inside one. Cheap values that turn out to need memory are
    computed again instead."""
    recompute: frozenset[Var] = frozenset()
    kept: frozenset[Var] = frozenset()
    survey = Survey(graph, bodies.is_body)
    for _ in range(3):
        fused = _fuse(Placement(graph, recompute, bodies, given, kept, survey))
        fixed = set(graph.outputs) | _operands(fused.placement)
        cheap = _cheap_again(fused, fixed) | diagonals(fused.placement, fixed)
        late = _late_updates(fused) | _slices_before(fused)
        if not cheap and not late:
            break
        recompute |= cheap
        kept |= late
    return fused


def _late_updates(fused: Fused) -> frozenset[Var]:
    """What the updates in a loop's body put into an array of which they read elements that they
    may have changed: it is computed first, which is less work than a copy of the array."""
    placement = fused.placement
    found: set[Var] = set()
    for stage in placement.stages:
        if stage.scatter is not None and placement.bodies.is_body:
            x, value = stage.equation.inputs[:2]
            is_late = not updates_in_time(stage.scatter, placement.keys.get(x, ""))
            if is_late and isinstance(value, Var) and value not in placement.staged:
                found.add(value)
    return frozenset(found & placement.producers.keys())


def _slices_before(fused: Fused) -> frozenset[Var]:
    """The slices of an array that each of its elements is computed from, in the body of a loop that
    then writes the array: they are copied first, and not the array."""
    placement = fused.placement
    found: set[Var] = set()
    for before, after in placement.bodies.carry:
        stage = placement.by_key.get(placement.keys.get(after, ""))
        if stage is None or stage.kind != "map" or len(stage.order) < 2:
            continue
        slices = _slices_of(placement, before)
        key, own = placement.keys.get(before, ""), set(stage.order)
        readers = [s for s in placement.stages if key in s.reads]
        loads = [load for load in stage.reads.get(key, ()) if load.index != stage.index]
        fixed = [any(own.isdisjoint(symbols_of(i)) for i in load.index) for load in loads]
        if slices and readers == [stage] and loads and all(fixed):
            found |= slices
    return frozenset(found - placement.staged)


def _slices_of(placement: Placement, x: Var) -> set[Var]:
    """The small parts of an array that are computed from, and no more views of them."""
    views: set[Atom] = {x}
    found: set[Var] = set()
    for equation in placement.graph.equations:
        is_view = equation.primitive.kind == "view" or equation.primitive in (gather, dynamic_slice)
        if is_view and equation.inputs[0] in views and _is_slice(equation.output, x):
            views.add(equation.output)
            found.add(equation.output)
            found -= {a for a in equation.inputs[:1] if isinstance(a, Var)}
    return found


def _is_slice(part: Var, whole: Var) -> bool:
    size, limit = part.type.size, whole.type.size
    return isinstance(size, int) and isinstance(limit, int) and size * SMALL_SLICE <= limit


def _cheap_again(fused: Fused, fixed: set[Atom]) -> frozenset[Var]:
    """The values in memory, but for the fixed ones, that are cheap to compute in each use, with
    those that they read and that will be computed again as well: a chain of cheap values is not
    cheap."""
    placement = fused.placement
    costs: dict[str, int] = {}
    for stage, home in fused.homes.items():
        cost = own_cost(stage) + sum(
            costs[key] * len(loads) for key, loads in stage.reads.items() if key in costs
        )
        if (
            home.kind != "scalar"
            and stage.kind == "map"
            and stage.equation.primitive.kind != "view"
            and stage.var not in fixed
            and cost <= CHEAP
            and stage.var not in placement.recompute
        ):
            costs[placement.key(stage.var)] = cost
    return frozenset(placement.by_key[key].var for key in costs)


def own_cost(stage: Stage) -> int:
    """What it costs to compute one element of a stage, the stages that it reads being there."""
    if stage.body is None:
        return CHEAP + 1
    return SUBSCRIPT_COST * len(stage.bound) + sum(
        cost_of(TABLE[part.op])
        for expression in (stage.body, *stage.bound.values())
        for part in subexpressions(expression)
        if isinstance(part, Apply)
    )


def _operands(placement: Placement) -> set[Atom]:
    """What calls, and loops and branches of the user's, read as arrays."""
    found: set[Atom] = {t.base for t in placement.transforms.values()}
    found.update(o.base for p in placement.products.values() for o in p.operands)
    for stage in placement.stages:
        if stage.routine is not None:
            found.update(stage.equation.inputs)
        if stage.control is not None:
            found.update(placement.atoms[key] for key in stage.reads)
    return found


def _fuse(placement: Placement) -> Fused:
    items = _build(placement, placement.stages, 0)
    paths: dict[Stage, list[Nest]] = {}

    def visit(items: list[Nest | Stage], path: list[Nest]) -> None:
        for item in items:
            if isinstance(item, Nest):
                visit(item.items, [*path, item])
            else:
                paths[item] = path

    visit(items, [])
    readers: dict[Stage, list[Stage]] = {}
    for key, found in placement.readers.items():
        readers.setdefault(placement.by_key[key], []).extend(found)
    outputs = set(placement.graph.outputs)
    asked = {key for stage in placement.results for key in stage.reads}
    outputs |= {placement.by_key[key].var for key in asked if key in placement.by_key}
    homes = {s: _home(s, readers.get(s, []), paths, s.var in outputs) for s in placement.stages}
    if placement.bodies.is_body:  # it is one sequence of statements: a number is a variable of it
        for stage in placement.stages:
            is_called = any(r.kind == "call" for r in readers.get(stage, []))
            if not (stage.var.type.shape or is_called or stage.kind in (*WHOLE, "scatter")):
                homes[stage] = Home("scalar", 0)
    return Fused(placement, items, paths, homes)


# ------------------------------------------------------------------------------ shared loops


def _build(placement: Placement, stages: list[Stage], depth: int) -> list[Nest | Stage]:
    """The loops at one depth, for stages that share all loops further out."""
    items: list[Nest | Stage] = []
    place: dict[Stage, int] = {}
    for stage in stages:
        producers = [
            p for key in stage.reads if (p := placement.by_key.get(key)) is not None and p in place
        ]
        if len(stage.order) == depth:
            place[stage] = len(items)
            items.append(stage)
            continue
        _bring_together(placement, items, place, stage, producers, depth)
        earliest = max((place[p] for p in producers), default=0)
        for position in range(max(earliest, len(items) - CANDIDATE_LOOPS), len(items)):
            nest = items[position]
            if (
                isinstance(nest, Nest)
                and nest.stages
                and _may_join(
                    placement, nest, stage, [p for p in producers if place[p] == position], depth
                )
            ):
                nest.stages.append(stage)
                place[stage] = position
                break
        else:
            place[stage] = len(items)
            items.append(Nest(stage.order[depth], depth, [stage]))
    for item in items:
        if isinstance(item, Nest):
            item.symbol = item.stages[0].order[depth] if item.stages else item.symbol
            item.items = _build(placement, item.stages, depth + 1)
    return [item for item in items if not isinstance(item, Nest) or item.stages]


def _bring_together(
    placement: Placement,
    items: list[Nest | Stage],
    place: dict[Stage, int],
    stage: Stage,
    producers: list[Stage],
    depth: int,
) -> None:
    """Move the loops of a stage's producers into the latest of them, or the latest into the other,
    where all can run together and the stage with them: `x[j] - x[i]` and `y[j] - y[i]` have nothing
    in common until a sum reads both.
    """
    nests = sorted({place[p] for p in producers})
    if len(nests) < 2:
        return
    last = items[nests[-1]]
    symbol = stage.order[depth]
    if (
        not isinstance(last, Nest)
        or last.symbol.extent != symbol.extent
        or not all(_is_aligned(placement, p, stage, depth) for p in producers)
    ):
        return
    for position in nests[:-1]:
        nest = items[position]
        if (
            not isinstance(nest, Nest)
            or nest.symbol.extent != last.symbol.extent
            or len(nest.stages) + len(last.stages) > LARGEST_CLUSTER
        ):
            continue
        if not _is_read(placement, place, nest.stages, range(position + 1, nests[-1] + 1)):
            _merge(placement, place, nest, last, nests[-1])
        elif len(nests) == 2 and not _reads(
            placement, place, last.stages, range(position, nests[-1])
        ):
            _merge(placement, place, last, nest, position)


def _is_read(
    placement: Placement, place: dict[Stage, int], stages: list[Stage], where: range
) -> bool:
    """Tell whether what stands at some places reads any of these stages."""
    keys = (placement.key(v) for s in stages for v in s.results)
    return any(place.get(r, -1) in where for key in keys for r in placement.readers.get(key, ()))


def _reads(
    placement: Placement, place: dict[Stage, int], stages: list[Stage], where: range
) -> bool:
    """Tell whether any of these stages reads what stands at some places."""
    read = (placement.by_key.get(key) for s in stages for key in s.reads)
    return any(p is not None and place.get(p, -1) in where for p in read)


def _merge(
    placement: Placement, place: dict[Stage, int], source: Nest, target: Nest, position: int
) -> None:
    """Move the stages of one loop into another, at a position."""
    target.stages = sorted(source.stages + target.stages, key=lambda s: placement.position[s])
    source.stages = []
    for s in target.stages:
        place[s] = position


def _may_join(
    placement: Placement, nest: Nest, stage: Stage, inside: list[Stage], depth: int
) -> bool:
    """Tell whether a stage may stand in a loop, `inside` which are these of its producers."""
    symbol = stage.order[depth]
    if symbol.extent != nest.symbol.extent or len(nest.stages) >= LARGEST_CLUSTER:
        return False
    for producer in inside:
        if not _is_aligned(placement, producer, stage, depth):
            return False
    if inside or depth > 0:
        return True
    sharing = [m for m in nest.stages if not stage.reads.keys().isdisjoint(m.reads)]
    if sharing:
        return any(_same_walk(m, stage) for m in (*sharing, nest.stages[-1]))
    return _is_small(stage) and all(map(_is_small, nest.stages))


def _is_aligned(placement: Placement, producer: Stage, reader: Stage, depth: int) -> bool:
    """Tell whether each iteration of the loop reads only what it has itself computed."""
    if depth >= producer.rank:
        return False
    if producer.kind == "scan" and depth == producer.rank - 1 and own_cost(reader) > SCAN_READER:
        return False  # the running value keeps its loop out of vector lanes; the reader need not be
    loop = Dim.of(producer.order[depth])
    if loop not in producer.index:
        return False
    axis = producer.index.index(loop)
    wanted = Dim.of(reader.order[depth])
    return all(load.index[axis] == wanted for load in reader.reads[placement.key(producer.var)])


def _same_walk(a: Stage, b: Stage) -> bool:
    """Tell whether two stages that share an operand walk it in the same order: all their loops have
    the same extents, so that the shared loop makes one stream of it."""
    return [s.extent for s in a.order] == [s.extent for s in b.order]


def _is_small(stage: Stage) -> bool:
    count = product(s.extent for s in stage.order if s.extent is not None)
    return isinstance(count, int) and count <= SMALL_LOOP


# -------------------------------------------------------------------------------------- homes


def _home(
    stage: Stage, readers: list[Stage], paths: dict[Stage, list[Nest]], is_output: bool
) -> Home:
    everything = tuple(range(len(stage.index)))
    path = paths[stage]
    shared = stage.rank
    for reader in readers:
        common = 0
        for mine, theirs in zip(path, paths[reader], strict=False):
            if mine is not theirs:
                break
            common += 1
        shared = min(shared, common)
    memory = Home("stored", shared, None, everything, stage.var.type.shape)
    if is_output or stage.kind in WHOLE or any(r.kind in WHOLE for r in readers):
        return memory
    if shared == stage.rank and path and shared > 0:
        return Home("scalar", shared, path[shared - 1])
    if shared == 0:
        return memory
    bound = {Dim.of(s) for s in stage.order[:shared]}
    kept = tuple(a for a, i in enumerate(stage.index) if i not in bound and i != 0)
    shape = tuple(stage.var.type.shape[a] for a in kept)
    size: Index = product(shape) * stage.var.type.dtype.itemsize
    if isinstance(size, int) and size <= LARGEST_ROW:
        return Home("row", shared, path[shared - 1], kept, shape)
    return memory


def explain(fused: Fused) -> Iterator[str]:
    """For each computed value where it lives, and why: what `as_text("loops")` shows."""
    stages = {v: s for s in fused.placement.stages for v in s.results}
    equations = fused.placement.graph.equations
    for equation, var in ((e, v) for e in equations for v in e.outputs):
        if equation.primitive.kind in ("view", "generate"):
            continue
        label = f"{var.name or equation.primitive.name} ({equation.primitive.name}, {var.type})"
        if var not in stages:
            reason = "cheap" if var in fused.placement.recompute else "read in one place"
            yield f"{label}: inline, {reason}"
            continue
        home = fused.homes[stages[var]]
        if home.kind == "scalar":
            reason = f"its readers share all {home.depth} loops with it"
        elif home.kind == "row":
            reason = f"its readers share {home.depth} of its loops; {list(home.shape)} is kept"
        elif var in fused.placement.graph.outputs:
            reason = "a result"
        elif stages[var].kind in WHOLE or home.depth == 0:
            reason = "a reader stands in another kernel"
        else:
            reason = "too large for a row"
        yield f"{label}: {home.kind}, {reason}"


def reads_in_place(fused: Fused, producer: Stage, reader: Stage, load: Load) -> bool:
    """Tell whether a reader of a stored value stands where its element is still in a scalar."""
    if producer.kind in WHOLE:
        return False
    path, other = fused.paths[producer], fused.paths[reader]
    if len(other) < producer.rank or path[: producer.rank] != other[: producer.rank]:
        return False
    if producer.rank == 0:
        return False
    return all(
        _is_aligned(fused.placement, producer, reader, depth) for depth in range(producer.rank)
    )
