"""`scipy.integrate` for traced functions: integrals of samples and of functions, and initial value
problems."""

from transpile.scipy.integrate.adjoints import odeint
from transpile.scipy.integrate.initial_values import OdeResult, solve_ivp
from transpile.scipy.integrate.quadrature import dblquad, quad, quad_vec
from transpile.scipy.integrate.samples import trapezoid

__all__ = ["OdeResult", "dblquad", "odeint", "quad", "quad_vec", "solve_ivp", "trapezoid"]
