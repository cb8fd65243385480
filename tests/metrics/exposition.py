# SPDX-License-Identifier: Apache-2.0
"""A strict reader of Prometheus's text format 0.0.4, written from its description: what it does not
allow is an error here, and so is what its conventions advise against."""

import math
import re

NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*\Z")
LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*\Z")
NUMBER = re.compile(r"(?:[0-9]+(?:\.[0-9]+)?|\+Inf)\Z")
ESCAPES = {"\\": "\\", '"': '"', "n": "\n"}
SUFFIXES = {"histogram": ("_bucket", "_sum", "_count"), "counter": ("",), "gauge": ("",)}


class Family:
    def __init__(self, name, kind, text):
        self.name, self.kind, self.help = name, kind, text
        self.samples = {}  # (suffix, labels as a sorted tuple of pairs): value


def read_labels(text):
    """'a="1",b="2"}...': the labels, and what follows the bracket."""
    labels, at = {}, 0
    while text[at] != "}":
        end = text.index("=", at)
        name = text[at:end]
        assert LABEL.match(name) and not name.startswith("__"), f"{name!r} is no label"
        assert name not in labels, f"{name} twice in {text!r}"
        assert text[end + 1] == '"', text
        at, value = end + 2, ""
        while text[at] != '"':
            if text[at] == "\\":
                at += 1
                value += ESCAPES[text[at]]
            else:
                value += text[at]
            at += 1
        labels[name] = value
        at += 1
        if text[at] == ",":
            at += 1
            assert text[at] != "}", text
    return labels, text[at + 1:]


def read_sample(line, family):
    name = re.match(r"[a-zA-Z0-9_:]+", line).group()
    assert name.startswith(family.name), f"{name} stands among {family.name}"
    suffix, rest = name[len(family.name):], line[len(name):]
    assert suffix in SUFFIXES[family.kind], f"{name} is no sample of a {family.kind}"
    labels = {}
    if rest.startswith("{"):
        labels, rest = read_labels(rest[1:])
    assert rest.startswith(" ") and NUMBER.match(rest[1:]), f"{rest!r} is no value"
    key = suffix, tuple(sorted(labels.items()))
    assert key not in family.samples, f"{line!r} is there twice"
    family.samples[key] = math.inf if rest[1:] == "+Inf" else float(rest[1:])


def check_conventions(family):
    assert family.help and not family.help.startswith(family.name), family.name
    assert family.name.islower(), family.name
    assert family.name.endswith("_total") == (family.kind == "counter"), family.name
    for unit in ("_ms", "_us", "_milliseconds", "_kb", "_mb"):
        assert unit not in re.findall("_[a-z]+", family.name), f"{family.name} is in no base unit"


def check_histogram(family):
    """Buckets of each row grow, end with +Inf, and that is the count."""
    rows = {}
    for (suffix, labels), value in family.samples.items():
        bound = dict(labels).get("le")
        rest = tuple(pair for pair in labels if pair[0] != "le")
        assert (bound is not None) == (suffix == "_bucket"), labels
        row = rows.setdefault(rest, {"buckets": []})
        if bound is None:
            row[suffix] = value
        else:
            row["buckets"].append((float(bound.replace("+Inf", "inf")), value))
    for labels, row in rows.items():
        bounds, counts = zip(*row["buckets"])
        assert list(bounds) == sorted(set(bounds)) and bounds[-1] == math.inf, labels
        assert list(counts) == sorted(counts), labels
        assert counts[-1] == row["_count"], labels
        assert (row["_sum"] > 0) == (row["_count"] > 0), labels


def parse(text):
    """Families by name."""
    assert text.endswith("\n"), "the last line has no end"
    families, family, told = {}, None, None
    for line in text[:-1].split("\n"):
        if line.startswith("# HELP "):
            name, text_of = line[7:].split(" ", 1)
            assert NAME.match(name) and name not in families, f"{name} is there twice"
            told = name, text_of
        elif line.startswith("# TYPE "):
            name, kind = line[7:].split(" ")
            assert told and told[0] == name and kind in SUFFIXES, line
            family = families[name] = Family(name, kind, told[1])
            told = None
        else:
            assert line and not line.startswith("#") and family and not told, f"{line!r}"
            read_sample(line, family)
    for family in families.values():
        check_conventions(family)
        if family.kind == "histogram":
            check_histogram(family)
    return families


def value(families, name, suffix="", **labels):
    """One sample; 0 if there is none."""
    return families[name].samples.get((suffix, tuple(sorted(labels.items()))), 0)


def total(families, name, suffix="", **labels):
    """All samples with these labels, whatever others they have."""
    wanted = set(labels.items())
    return sum(amount for (its, pairs), amount in families[name].samples.items()
               if its == suffix and wanted <= set(pairs))
