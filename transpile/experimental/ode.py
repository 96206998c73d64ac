"""`jax.experimental.ode`: initial value problems of ordinary differential equations."""

from transpile.scipy.integrate.adjoints import odeint

__all__ = ["odeint"]
