"""The planner: choose the equations of a graph that become calls of library routines."""

from __future__ import annotations

from collections.abc import Mapping

from transpile.ir.graph import Equation, Graph
from transpile.library.collectives import plan_exchange
from transpile.library.convolution import plan_convolution
from transpile.library.fft import plan_transform
from transpile.library.matmul import is_library_product, plan_product
from transpile.library.plan import CallPlan, Views
from transpile.library.routines import plan_routine
from transpile.library.scan import is_library_sum, plan_sum
from transpile.library.search import plan_search
from transpile.library.sort import plan_sort
from transpile.machine import Machine


def plan_calls(graph: Graph, views: Views, machine: Machine) -> Mapping[Equation, CallPlan]:
    """The calls of those equations that are some, and have elements."""
    plans: dict[Equation, CallPlan] = {}
    for equation in graph.equations:
        plan = _plan(equation, views, machine)
        if plan is not None:
            plans[equation] = plan
    return plans


def _plan(equation: Equation, views: Views, machine: Machine) -> CallPlan | None:
    if all(v.type.size == 0 for v in equation.outputs):
        return None
    match equation.primitive.kind:
        case "communicate":
            return plan_exchange(equation)
        case "search":
            return plan_search(equation, views)
        case "routine":
            return plan_routine(equation)
        case "fft":
            return plan_transform(equation, views, machine)
        case "convolve":
            return plan_convolution(equation, views, machine)
        case "sort":
            return plan_sort(equation, views, machine)
        case "contract" if is_library_product(equation, machine):
            return plan_product(equation, views, machine)
        case "scan" if is_library_sum(equation, machine):
            return plan_sum(equation, views)
        case _:
            return None
