#!/usr/bin/env python3
"""Judges samples that were measured in turns, as docs/verdicts.md says it, without Tacho.

    tacho ab A B --format samples | python3 verdict.py
    tacho compare A B --format samples | python3 verdict.py

Reads the exported samples and prints a line per metric and test case: the number of pairs, the estimate of b/a - 1, its
interval, the p-value, that after the correction, and the verdict. Only the standard library is used.
"""
import argparse
import csv
import itertools
import math
import sys
from collections import defaultdict

MAX_WEIGHT = 8


def strata_of(pairs):
    """Two neighbouring pairs are a stratum, and so is one that is left over."""
    cut = [pairs[i : i + 2] for i in range(0, len(pairs), 2)]
    return [([a for a, _ in s], [b for _, b in s]) for s in cut]


def median(values):
    """The middle; halved before it is added, so that the sum of huge values stays finite."""
    values, n = sorted(values), len(values)
    return values[n // 2] if n % 2 else values[n // 2 - 1] / 2 + values[n // 2] / 2


def spread(a, b):
    """How far apart the values are, relative to their middle, which may be zero for values that are nearly so."""
    values, widest = a + b, sys.float_info.max
    if min(values) == max(values):
        return 0.0
    middle = median(values)
    return min((max(values) - min(values)) / middle, widest) if middle else widest


def weights_of(strata):
    """The inverse of the spread of the neighbours, from 1 to 8, beside the quiet quarter."""
    spreads = [spread(a, b) for a, b in strata]
    around = []
    for i in range(len(strata)):
        near = spreads[max(0, i - 1) : i] + spreads[i + 1 : i + 2]
        around.append(median(near) if near else 0.0)
    quiet = sorted(around)[len(around) // 4]
    # math.floor(x + 0.5) rounds halves up, as Go's math.Round does for positive numbers.
    return [MAX_WEIGHT if s <= 0 else math.floor(min(max(quiet / s * MAX_WEIGHT, 1), MAX_WEIGHT) + 0.5) for s in around]


def wins(a, b):
    """Twice the number of times in which b is larger; a tie counts once."""
    return sum(1 + (y > x) - (y < x) for x in a for y in b)


def ways(a, b):
    """wins for each way in which the values could have fallen to the sides."""
    values = a + b
    for chosen in itertools.combinations(range(len(values)), len(b)):
        yield wins([v for i, v in enumerate(values) if i not in chosen], [values[i] for i in chosen])


def distribution(strata, weights, outcomes):
    """The probability of each distance of the weighted sum of wins from its middle."""
    at = {0: 1.0}
    for (a, b), w in zip(strata, weights):
        following = defaultdict(float)
        possible = list(outcomes(a, b))
        for d, p in at.items():
            for n in possible:
                following[d + w * (n - len(a) * len(b))] += p / len(possible)
        at = following
    return at


def tail(at, d):
    return min(1.0, sum(p for x, p in at.items() if abs(x) >= d))


def untied(a, b):
    return [0, 2] if len(a) == 1 else [0, 2, 4, 4, 6, 8]


def test(pairs, level):
    """Returns the estimate of b/a - 1, its interval, and the p-value of van Elteren's test."""
    strata = strata_of(pairs)
    weights = weights_of(strata)
    shifts = sorted((y / x, w) for (a, b), w in zip(strata, weights) for x in a for y in b)
    total = sum(w for _, w in shifts)
    below = list(itertools.accumulate(w for _, w in shifts))
    at = next(i for i, s in enumerate(below) if 2 * s >= total)
    ratio = shifts[at][0]
    if 2 * below[at] == total:
        ratio = (ratio + shifts[at + 1][0]) / 2
    free = distribution(strata, weights, untied)
    critical = next((d for d in range(total + 1) if tail(free, d) <= level), None)
    if critical is None:
        return ratio - 1, None, None
    first = next(i for i, s in enumerate(below) if total - 2 * s < critical)
    last = first
    while last + 1 < len(shifts) and abs(total - 2 * below[last]) < critical:
        last += 1
    seen = abs(sum(w * (wins(a, b) - len(a) * len(b)) for (a, b), w in zip(strata, weights)))
    p = tail(distribution(strata, weights, ways), seen)
    return ratio - 1, (shifts[first][0] - 1, shifts[last][0] - 1), p


def corrected(ps):
    """Benjamini and Hochberg (1995)."""
    order = sorted(range(len(ps)), key=lambda i: ps[i])
    out, smallest = [1.0] * len(ps), 1.0
    for rank in range(len(ps), 0, -1):
        i = order[rank - 1]
        smallest = min(smallest, ps[i] * len(ps) / rank)
        out[i] = smallest
    return out


def judge_one(pairs, threshold, count, level):
    """Returns change, interval, p and the verdict; the verdict is None where the test decides."""
    pairs = [(a, b) for a, b in pairs if math.isfinite(a) and math.isfinite(b) and a >= 0 and b >= 0]
    if not pairs:
        return None, None, None, "inconclusive"
    a, b = [x for x, _ in pairs], [y for _, y in pairs]
    if len(pairs) >= 2 and len(set(a + b)) == 1:
        return 0.0, (0.0, 0.0), None, "unchanged"
    if min(a + b) <= 0:
        return None, None, None, "inconclusive"
    if count and len(pairs) >= 2 and all((max(s) - min(s)) / min(s) <= threshold for s in (a, b)):
        change = min(b) / min(a) - 1
        same = change == 0 or abs(change) < threshold
        return change, (change, change), None, "unchanged" if same else "higher" if change > 0 else "lower"
    change, interval, p = test(pairs, level)
    return change, interval, p, None if p is not None else "inconclusive"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--level", type=float, default=0.0025, help="what the look may spend (0.0025: one look that nobody planned)")
    parser.add_argument("--count", action="append", default=["instructions", "instructions:u"], help="a metric that counts")
    parser.add_argument("--threshold", type=float, help="the relative change that is worth a word (0.01 for times, 0.0005 for counts)")
    args = parser.parse_args()
    cases = defaultdict(list)
    for row in csv.DictReader(sys.stdin):
        name = tuple(row[k] for k in ("metric", "benchmark", "profile", "scenario", "backend", "target"))
        cases[name].append((float(row["a"]), float(row["b"])))
    judged = {}
    for name, pairs in cases.items():
        count = name[0] in args.count
        threshold = args.threshold or (0.0005 if count else 0.01)
        judged[name] = (threshold, *judge_one(pairs, threshold, count, args.level))
    out = csv.writer(sys.stdout)
    out.writerow(["metric", "benchmark", "profile", "scenario", "backend", "target", "pairs", "change", "low", "high", "p", "p_corrected", "verdict"])
    for metric in dict.fromkeys(name[0] for name in cases):
        tested = [name for name in cases if name[0] == metric and judged[name][4] is None and judged[name][3] is not None]
        adjusted = dict(zip(tested, corrected([judged[name][3] for name in tested])))
        for name in (n for n in cases if n[0] == metric):
            threshold, change, interval, p, verdict = judged[name]
            if verdict is None:
                verdict = "inconclusive"
                if -threshold < interval[0] and interval[1] < threshold:
                    verdict = "unchanged"
                elif adjusted[name] <= args.level and abs(change) >= threshold:
                    verdict = "higher" if change > 0 else "lower"
            low, high = interval or ("", "")
            out.writerow([*name, len(cases[name]), "" if change is None else change, low, high, "" if p is None else p, adjusted.get(name, ""), verdict])


if __name__ == "__main__":
    main()
