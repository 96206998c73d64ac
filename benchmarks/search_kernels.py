"""Kernels of `further_kernels.py` that walk through numbers and words."""

from __future__ import annotations

import numpy as np


def three_sum(a, target):
    """Triples of a sorted array that have a sum, by two indices that meet."""
    n = len(a)
    count = 0
    for i in range(n - 2):
        low = i + 1
        high = n - 1
        while low < high:
            s = a[i] + a[low] + a[high]
            if s < target:
                low += 1
            elif s > target:
                high -= 1
            else:
                count += 1
                low += 1
                high -= 1
    return count


def bit_counts(a, counts):
    """How many numbers have how many bits, by Wegner's loop (1960)."""
    for i in range(len(a)):
        x = a[i]
        n = 0
        while x != 0:
            x &= x - 1
            n += 1
        counts[n] += 1


def string_search(text, word):
    """Occurrences of a word, overlapping ones too (Knuth, Morris and Pratt 1977)."""
    m = len(word)
    border = np.zeros(m, np.int64)
    k = 0
    for i in range(1, m):
        while k > 0 and word[i] != word[k]:
            k = border[k - 1]
        if word[i] == word[k]:
            k += 1
        border[i] = k
    count = 0
    k = 0
    for i in range(len(text)):
        while k > 0 and text[i] != word[k]:
            k = border[k - 1]
        if text[i] == word[k]:
            k += 1
        if k == m:
            count += 1
            k = border[k - 1]
    return count


def rolling_hash(text, word):
    """Occurrences of a word by hashes, compared where these agree (Karp and Rabin 1987)."""
    m = len(word)
    wanted = 0
    own = 0
    power = 1
    for i in range(m):
        wanted = (wanted * 256 + word[i]) % 1000003
        own = (own * 256 + text[i]) % 1000003
        if i > 0:
            power = power * 256 % 1000003
    count = 0
    for i in range(len(text) - m + 1):
        if own == wanted:
            same = True
            for j in range(m):
                if text[i + j] != word[j]:
                    same = False
                    break
            if same:
                count += 1
        if i < len(text) - m:
            own = ((own - text[i] * power) * 256 + text[i + m]) % 1000003
    return count


def interpolation_search(a, queries):
    """How many numbers a sorted array has (Peterson 1957)."""
    hits = 0
    for q in range(len(queries)):
        key = queries[q]
        low = 0
        high = len(a) - 1
        while low <= high and a[low] <= key <= a[high]:
            if a[low] == a[high]:
                middle = low
            else:
                middle = low + (key - a[low]) * (high - low) // (a[high] - a[low])
            if a[middle] == key:
                hits += 1
                break
            if a[middle] < key:
                low = middle + 1
            else:
                high = middle - 1
    return hits


def collatz(n):
    """The number below n whose sequence is longest."""
    best = 0
    most = 0
    for i in range(1, n):
        x = i
        length = 1
        while x != 1:
            x = x // 2 if x % 2 == 0 else 3 * x + 1
            length += 1
        if length > most:
            most = length
            best = i
    return best, most


def pollard_rho(numbers):
    """A factor of each number (Pollard 1975)."""
    factors = np.zeros(len(numbers), np.int64)
    for k in range(len(numbers)):
        n = numbers[k]
        slow = 2
        fast = 2
        d = 1
        while d == 1:
            slow = (slow * slow + 1) % n
            fast = (fast * fast + 1) % n
            fast = (fast * fast + 1) % n
            x = abs(slow - fast)
            d = n
            while x != 0:
                d, x = x, d % x
        factors[k] = d
    return factors


def largest_part(a):
    """The consecutive elements whose sum is largest (Kadane; Bentley 1984)."""
    best = a[0]
    first = 0
    last = 0
    own = a[0]
    begin = 0
    for i in range(1, len(a)):
        if own < 0.0:
            own = a[i]
            begin = i
        else:
            own += a[i]
        if own > best:
            best = own
            first = begin
            last = i
    return best, first, last


def next_permutations(a, count):
    """Steps through permutations in lexicographic order (Narayana Pandita, 14th century)."""
    n = len(a)
    total = 0
    for _ in range(count):
        i = n - 2
        while i >= 0 and a[i] >= a[i + 1]:
            i -= 1
        if i < 0:
            break
        j = n - 1
        while a[j] <= a[i]:
            j -= 1
        a[i], a[j] = a[j], a[i]
        low = i + 1
        high = n - 1
        while low < high:
            a[low], a[high] = a[high], a[low]
            low += 1
            high -= 1
        total += a[n - 1]
    return total


def radix_sort(a, out):
    """In place, by bytes of 32 bits (Seward 1954); `out` has room for the array."""
    n = len(a)
    for shift in range(0, 32, 8):
        first = np.zeros(257, np.int64)
        for i in range(n):
            first[((a[i] >> shift) & 255) + 1] += 1
        for digit in range(256):
            first[digit + 1] += first[digit]
        for i in range(n):
            digit = (a[i] >> shift) & 255
            out[first[digit]] = a[i]
            first[digit] += 1
        for i in range(n):
            a[i] = out[i]
