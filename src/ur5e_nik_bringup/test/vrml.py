"""Reads the VRML of a Webots world: enough to hold it against tables."""

import re
from dataclasses import dataclass, field

TOKEN = re.compile(r'#[^\n]*|"(?:[^"\\]|\\.)*"|[{}\[\]]|[^\s{}\[\]"#]+')


@dataclass
class Node:
    kind: str
    fields: dict = field(default_factory=dict)

    def __getitem__(self, name):
        return self.fields[name]

    def walk(self):
        """Yield the node and all nodes in it."""
        yield self
        for value in self.fields.values():
            for item in value if isinstance(value, list) else [value]:
                if isinstance(item, Node):
                    yield from item.walk()


def parse(text):
    """The EXTERNPROTO addresses and the nodes of a world."""
    tokens = [token for token in TOKEN.findall(text) if not token.startswith("#")]
    protos, nodes = [], []
    at = 0
    while at < len(tokens):
        if tokens[at] == "EXTERNPROTO":
            protos.append(_plain(tokens[at + 1]))
            at += 2
        else:
            node, at = _node(tokens, at)
            nodes.append(node)
    return protos, nodes


def _node(tokens, at):
    assert re.fullmatch(r"[A-Z]\w*", tokens[at]), f"{tokens[at]} names no node"
    assert tokens[at + 1] == "{", f"{tokens[at]} is not followed by {{"
    node, at = Node(tokens[at]), at + 2
    while tokens[at] != "}":
        name = tokens[at]
        assert re.fullmatch(r"[a-z]\w*", name), f"{name} names no field of {node.kind}"
        assert name not in node.fields, f"{node.kind} has {name} twice"
        node.fields[name], at = _value(tokens, at + 1)
    return node, at + 1


def _value(tokens, at):
    if tokens[at] == "[":
        items, at = [], at + 1
        while tokens[at] != "]":
            item, at = _item(tokens, at)
            items.append(item)
        return items, at + 1
    items = []
    while tokens[at] not in "}]" and not (items and re.fullmatch(r"[a-z]\w*", tokens[at])):
        item, at = _item(tokens, at)
        items.append(item)
        if not isinstance(item, float):
            break
    return (items[0] if len(items) == 1 else items), at


def _item(tokens, at):
    if re.match(r"[A-Z]", tokens[at]) and tokens[at] not in ("TRUE", "FALSE"):
        return _node(tokens, at)
    return _plain(tokens[at]), at + 1


def _plain(token):
    if token.startswith('"'):
        return token[1:-1]
    return {"TRUE": True, "FALSE": False}[token] if token in ("TRUE", "FALSE") else float(token)
