"""custom_root and custom_linear_solve: solutions with the derivatives of the equations that they
solve, whatever the solver does. Names, arguments and errors are JAX's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from transpile import tree
from transpile.functional.differentiate import linear_transpose, linearize
from transpile.ir.graph import Graph
from transpile.ir.source_info import user_source
from transpile.lax.control.bodies import (
    Body,
    Leaves,
    as_atom,
    merged,
    outside,
    returned,
    trace_body,
)
from transpile.primitives.control.calls import custom_jvp_call
from transpile.primitives.linalg.linear_solve import custom_linear_solve as linear_solve_row
from transpile.primitives.rules import bind_call, zeros
from transpile.trace.bytecode.call_resolution import resolved
from transpile.trace.call_signature import function_name
from transpile.trace.trace import current_trace
from transpile.trace.tracebacks import api_boundary
from transpile.transforms.closed import apply
from transpile.transforms.jvp import push
from transpile.util.frozen_records import dataclass

__all__ = ["custom_linear_solve", "custom_root"]

Function = Callable[..., Any]
Solve = Callable[[Function, Any], Any]


def _check_tree(
    name: str, expected: str, given: tree.TreeDef, wanted: tree.TreeDef, has_aux: bool
) -> None:
    """Raise JAX's error for a function whose result is of another structure."""
    if has_aux:
        parts = given.children()
        if given.node is None or len(parts) != 2:
            raise ValueError(
                f"{user_source()}: {name}() produced a pytree with structure {given}, but a pytree "
                f"tuple with auxiliary output was expected because has_aux was set to True."
            )
        given = parts[0]
    if given != wanted:
        raise TypeError(
            f"{user_source()}: {name}() output pytree structure must match {expected}, got {given} "
            f"and {wanted}."
        )


def _check_shapes(name: str, result: Any, expected: Leaves) -> None:
    actual = [np.shape(x) for x in tree.leaves(result)]
    wanted = [kind.shape for kind in expected.types]
    if actual != wanted:
        raise ValueError(
            f"{user_source()}: {name}() output shapes must match b, got {actual} and {wanted}"
        )


def _traced(function: Function, *arguments: Leaves) -> Body:
    kinds = [kind for part in arguments for kind in part.types]
    return trace_body(function, [part.tree for part in arguments], kinds)


# ------------------------------------------------------------------------------------ custom_root


@api_boundary
def custom_root(
    f: Function,
    initial_guess: Any,
    solve: Solve,
    tangent_solve: Solve,
    has_aux: bool = False,
) -> Any:
    """A root of `f`, computed by `solve`, with the derivative by the implicit function theorem with
    respect to what `f` closes over.

    f              a pytree of arrays -> one like it
    initial_guess  a guess of the root, which has no derivative
    solve          (f, initial_guess) -> the root; with `has_aux` a pair, the root and anything else
    tangent_solve  (g, y) -> the solution x of g(x) = y, for a linear function g: for numbers
                   `lambda g, y: y / g(1.0)`. It must be differentiable

    Raises TypeError for functions whose results do not have the structure of `initial_guess`.
    """

    def custom_root(initial_guess: Any) -> Any:
        return _root(f, Leaves.of(initial_guess, "initial_guess"), solve, tangent_solve, has_aux)

    if current_trace() is None:
        return outside(custom_root, initial_guess)
    return custom_root(initial_guess)


def _root(f: Function, guess: Leaves, solve: Solve, tangent_solve: Solve, has_aux: bool) -> Any:
    """In the trace under way."""

    def linearized(x: Any, y: Any) -> Any:
        return resolved(tangent_solve)(linearize(f, x)[1], y)

    equation = _traced(f, guess)
    _check_tree("f", "initial_guess", equation.out_tree, guess.tree, False)
    solver = _traced(lambda x: resolved(solve)(f, x), guess)
    _check_tree("solve", "initial_guess", solver.out_tree, guess.tree, has_aux)
    solution = Leaves(guess.values, solver.types[: len(guess.types)], guess.tree)
    tangent = _traced(linearized, solution, solution)
    _check_tree("tangent_solve", "x", tangent.out_tree, guess.tree, False)
    (of_f, of_solve, of_tangent), captured = merged([equation, solver, tangent])
    rule = RootRule(of_f, of_tangent, of_solve, len(captured))
    results = rule.solution([*captured, *map(as_atom, guess.values)])
    return returned(results, solver.out_tree)


@dataclass(frozen=True, eq=False)
class RootRule:
    """The derivative of a root u(m) of F(m, u): the solution of dF/du u' = -dF/dm m'.

    Operands are (*consts, *guess): what the functions close over, and the guess.
    """

    function: Graph  # (*consts, *u) -> F
    tangent: Graph  # (*consts, *u, *y) -> the solution x of dF/du x = y
    solve: Graph  # (*consts, *guess) -> (*u, *further results)
    consts: int

    @property
    def __name__(self) -> str:
        return "custom_root"

    def solution(self, operands: Sequence[Any]) -> list[Any]:
        """The root and the further results."""
        return bind_call(custom_jvp_call, *operands, graph=self.solve, jvp=self, name="custom_root")

    def __call__(
        self, operands: Sequence[Any], tangents: Sequence[Any]
    ) -> tuple[list[Any], list[Any]]:
        """The results and their tangents. The guess changes nothing, nor do further results."""
        results = self.solution(operands)
        count = len(operands) - self.consts
        fixed, root = operands[: self.consts], results[:count]
        moving = [*tangents[: self.consts], *[None] * count]
        _, moved = push(self.function, [*fixed, *root], moving)
        if all(t is None for t in moved):
            return results, [None] * len(results)
        kinds = [a.type.strong for a in self.function.outputs]
        right = [zeros(kind) if t is None else t for t, kind in zip(moved, kinds, strict=True)]
        changes = [-x for x in apply(self.tangent, [*fixed, *root, *right])]
        return results, [*changes, *[None] * (len(results) - count)]


# ---------------------------------------------------------------------------- custom_linear_solve


@api_boundary
def custom_linear_solve(
    matvec: Function,
    b: Any,
    solve: Solve,
    transpose_solve: Solve | None = None,
    symmetric: bool = False,
    has_aux: bool = False,
) -> Any:
    """The solution x of matvec(x) = b, computed by `solve`, with the derivative of that equation
    with respect to `b` and to what `matvec` closes over.

    matvec           a linear function of pytrees of arrays, with a derivative
    b                the right-hand side
    solve            (matvec, b) -> the solution; with `has_aux` a pair, the solution and anything
                     else
    transpose_solve  (vecmat, b) -> the solution of the transposed system, needed for reverse mode
    symmetric        `matvec` is its own transpose: `solve` serves for both

    Raises TypeError or ValueError for functions whose results are not like `b`.
    """

    def custom_linear_solve(b: Any) -> Any:
        right = Leaves.of(b, "b")
        backwards = solve if transpose_solve is None and symmetric else transpose_solve
        return _linear_solve(matvec, right, (solve, backwards), symmetric, has_aux)

    if current_trace() is None:
        return outside(custom_linear_solve, b)
    return custom_linear_solve(b)


def _linear_solve(
    matvec: Function,
    b: Leaves,
    solves: tuple[Solve, Solve | None],
    symmetric: bool,
    has_aux: bool,
) -> Any:
    """In the trace under way."""
    forwards = _solver(matvec, b, solves[0], "solve", has_aux)
    bodies = [_product(matvec, b, "matvec"), forwards]
    if solves[1] is not None:
        vecmat = matvec if symmetric else _transposed(matvec, b)
        bodies.append(_product(vecmat, b, "vecmat"))
        bodies.append(_solver(vecmat, b, solves[1], "transpose_solve", has_aux))
    graphs, captured = merged(bodies)
    results = bind_call(
        linear_solve_row,
        *captured,
        *map(as_atom, b.values),
        graph=graphs[1],
        matvec=graphs[0],
        vecmat=graphs[2] if len(graphs) > 2 else None,
        transpose_solve=graphs[3] if len(graphs) > 2 else None,
        consts=len(captured),
    )
    return returned(results, forwards.out_tree)


def _product(matvec: Function, b: Leaves, name: str) -> Body:
    """The linear function."""

    def product(x: Any) -> Any:
        result = resolved(matvec)(x)
        _check_shapes(name, result, b)
        return result

    body = _traced(product, b)
    _check_tree(name, "b", body.out_tree, b.tree, False)
    return body


def _solver(matvec: Function, b: Leaves, solve: Solve, name: str, has_aux: bool) -> Body:
    """The solution as a function of the right side."""

    def solver(x: Any) -> Any:
        result = resolved(solve)(matvec, x)
        pair = isinstance(result, tuple | list) and len(result) == 2
        _check_shapes(name, result[0] if has_aux and pair else result, b)
        return result

    solver.__name__ = function_name(solve)
    body = _traced(solver, b)
    _check_tree(name, "b", body.out_tree, b.tree, has_aux)
    return body


def _transposed(matvec: Function, b: Leaves) -> Function:
    """The transpose of the linear function."""
    example = b.tree.unflatten(b.types)
    transposed = linear_transpose(matvec, example)

    def vecmat(x: Any) -> Any:
        (result,) = transposed(x)
        return result

    return vecmat
