"""How many letters to insert, delete or replace to make one word of another."""

import numpy as np

import transpile


@transpile.jit
def edit_distance(a, b):
    costs = np.arange(len(b) + 1)
    for i in range(len(a)):
        corner = costs[0]
        costs[0] = i + 1
        for j in range(len(b)):
            replaced = corner + (a[i] != b[j])
            corner = costs[j + 1]
            costs[j + 1] = min(replaced, corner + 1, costs[j] + 1)
    return costs[len(b)]


def letters(word):
    return np.frombuffer(word.encode(), np.uint8)


def example():
    return letters("a tracing compiler for numerical functions"), letters("numbers in C")


if __name__ == "__main__":
    print(edit_distance(*example()))
