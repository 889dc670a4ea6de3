"""The tags of texts: what each language defines and uses, and that no text is too strange."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outrider.workspace.repository_map import tags
from outrider.workspace.repository_map.tags import NONE, TONGUES, Tagger, tongue_of

LANGUAGES = [
    (
        "a.py",
        ("import x\nfrom x import helper as h\nLIMIT = 3\n\n@deco\nclass Car(Base, m.Other):\n    def drive(self, by: Person) -> list[Road]:\n"
        "        def inner(): pass\n        return go(self.turn())\n\ndef free(): pass\n"),
        ["constant LIMIT", "class Car", "Car.method drive", "function free"],
        ["Base", "Other", "deco", "helper", "go", ".turn", "Person", "Road"],
    ),
    (
        "a.js",
        ("import { thing } from './t';\nconst TABLE = { a: 1 };\nexport class Car extends Base {\n  drive() { return go(this.turn()); }\n}\n"
        "export const make = () => new Wheel();\nfunction free() { function inner() {} }\nconst App = () => <Panel />;\n"),
        ["constant TABLE", "class Car", "Car.method drive", "function make", "function free", "function App"],
        ["thing", "Base", "go", ".turn", "Wheel", "Panel"],
    ),
    (
        "a.ts",
        ("import { thing } from './t';\nexport interface Shape { area(): number }\ntype Id = string;\nenum Color { Red }\n"
        "abstract class Car extends Base implements Shape {\n  private wheel: Wheel;\n  area(): number { return go(this.turn()); }\n}\n"
        "export const make = (one: Part): Promise<Result> => new Car();\n"),
        ["interface Shape", "Shape.method area", "type Id", "enum Color", "class Car", "Car.method area", "function make"],
        ["thing", "Base", "Shape", "Wheel", "go", ".turn", "Part", "Result", "Car"],
    ),
    (
        "a.tsx",
        "export function App(props: Props) { return <Panel><Item /></Panel>; }\n",
        ["function App"],
        ["Props", "Panel", "Item"],
    ),
    (
        "a.go",
        ("package p\nconst Max = 3\ntype Car struct { w Wheel }\ntype Shape interface { Area() int }\ntype Id string\n"
        "func (c *Car) Drive(p Person) Road { return go1(c.turn()) }\nfunc Free() {}\n"),
        ["constant Max", "struct Car", "interface Shape", "Shape.method Area", "type Id", "method Drive", "function Free"],
        ["Wheel", "Person", "Road", "go1", ".turn"],
    ),
    (
        "a.rs",
        ("use crate::x::{helper};\nconst MAX: u8 = 3;\npub struct Car { w: Wheel }\nenum Color { Red }\ntrait Shape { fn area(&self) -> u8; }\n"
        "impl Shape for Car { fn area(&self) -> u8 { go(self.turn()) } }\nimpl<T> Tank<T> { fn new() -> Self { Wheel::make() } }\n"
        "mod inner { fn deep() {} }\nmacro_rules! mac { () => {} }\nfn free(p: &Person) { mac!(); }\n"),
        ["constant MAX", "struct Car", "enum Color", "trait Shape", "Shape.method area", "impl Car", "Car.method area", "impl Tank",
         "Tank.method new", "module inner", "inner.function deep", "macro mac", "function free"],
        ["helper", "Wheel", "Shape", "go", ".turn", "make", "Person", "mac"],
    ),
    (
        "a.java",
        ("import a.b.Helper;\n@Marked\npublic class Car extends Base implements Shape {\n  Wheel w;\n  Car() {}\n"
        "  Road drive(Person p) { return go(new Engine()); }\n}\ninterface Shape { int area(); }\nenum Color { RED }\nrecord Point(int x) {}\n"),
        ["class Car", "Car.method Car", "Car.method drive", "interface Shape", "Shape.method area", "enum Color", "class Point"],
        ["Helper", "Marked", "Base", "Shape", "Wheel", "Road", "Person", ".go", "Engine"],
    ),
    (
        "a.c",
        ("#define MAX 3\nstruct car { int w; };\ntypedef struct car car_t;\nenum color { RED };\nstatic car_t *make(person_t *p) { return go(p->turn(1)); }\n"
        "int main(void) { return 0; }\n"),
        ["macro MAX", "struct car", "type car_t", "enum color", "function make", "function main"],
        ["car_t", "person_t", "go", ".turn"],
    ),
    (
        "a.hpp",
        ("namespace ns {\nclass Car : public Base {\n public:\n  void drive(Person p);\n  int area() { return go(w.turn()); }\n};\n}\n"
        "void ns::Car::drive(Person p) { Helper::run(); }\ntemplate <class T> T make() { return new Wheel(); }\nusing Id = int;\n"),
        ["module ns", "ns.class Car", "Car.method drive", "Car.method area", "method drive", "function make", "type Id"],
        ["Base", "Person", "go", ".turn", "run", "Wheel"],
    ),
    (
        "a.cs",
        ("namespace N {\n[Marked]\npublic class Car : Base {\n  public int Size { get; set; }\n  Wheel w;\n  Road Drive(Person p) { return Go(w.Turn(new Engine())); }\n}\n"
        "interface IShape { int Area(); }\nenum Color { Red }\nstruct P { }\nrecord R(int X);\n}\n"),
        ["class Car", "Car.property Size", "Car.method Drive", "interface IShape", "IShape.method Area", "enum Color", "struct P", "class R"],
        ["Marked", "Base", "Wheel", "Road", "Person", "Go", ".Turn", "Engine"],
    ),
    (
        "a.rb",
        "module Garage\n  MAX = 3\n  class Car < Base\n    def drive\n      go(Wheel.new)\n    end\n    def self.make; end\n  end\nend\ndef free; end\n",
        ["module Garage", "Garage.constant MAX", "Garage.class Car", "Car.method drive", "Car.method make", "method free"],
        ["Base", "go", "Wheel", ".new"],
    ),
    (
        "a.php",
        ("<?php\nuse A\\Helper;\nconst MAX = 3;\ninterface Shape { function area(); }\nclass Car extends Base implements Shape {\n  use Paint;\n"
        "  function area(Person $p): Road { return go($this->turn(new Wheel())) + Color::mix(); }\n}\ntrait Paint {}\nfunction free() {}\n"),
        ["constant MAX", "interface Shape", "Shape.method area", "class Car", "Car.method area", "trait Paint", "function free"],
        ["Helper", "Base", "Shape", "Paint", "Person", "Road", "go", ".turn", "Wheel", "mix", "Color"],
    ),
    (
        "a.lua",
        "local M = {}\nfunction M.make() return go(w:turn()) end\nfunction M:drive() end\nlocal function free() end\nM.later = function() end\n",
        ["function make", "method drive", "function free", "function later"],
        ["go", ".turn"],
    ),
    ("a.sh", "make() {\n  helper one\n}\nfunction other { :; }\nmake\n", ["function make", "function other"], ["helper", "make"]),
]  # fmt: skip


def names(found):
    """The definitions, each with its kind and what holds it."""
    ones = found.definitions
    return [
        f"{'' if one.within is None else ones[one.within].name + '.'}{one.kind} {one.name}" for one in ones
    ]


@pytest.fixture(scope="module")
def tagger():
    return Tagger()


@pytest.mark.parametrize(("name", "text", "defined", "used"), LANGUAGES, ids=lambda value: str(value)[:6])
def test_each_language_says_what_it_defines_and_uses(name, text, defined, used, tagger):
    found = tagger.tags_of(tongue_of(name), text.encode())
    assert names(found) == defined
    assert not set(used) - set(found.references)


def test_every_language_is_in_the_table():
    assert {tongue_of(name).name for name, *_ in LANGUAGES} == {tongue.name for tongue in TONGUES}


def test_lines_count_from_one(tagger):
    found = tagger.tags_of(tongue_of("a.py"), b"\n\ndef third(): pass\n")
    assert [(one.name, one.line) for one in found.definitions] == [("third", 3)]


@pytest.mark.parametrize(
    "source",
    [
        b"def a(): pass\n\0",
        b"def a(): pass\n" + b"x" * (tags.LONGEST_LINE + 1),
        b"def a(): pass\n" * (tags.MOST_BYTES // 14 + 1),
    ],
    ids=["binary", "a machine's line", "too long"],
)
def test_a_text_that_nobody_wrote_has_no_tags(source, tagger):
    assert tagger.tags_of(tongue_of("a.py"), source) == NONE


def test_names_are_bounded_in_length_and_number(tagger):
    many = "".join(f"def f{number}(): g{number}()\n" for number in range(3_000))
    found = tagger.tags_of(tongue_of("a.py"), many.encode())
    assert (len(found.definitions), len(found.references)) == (tags.MOST_DEFINITIONS, tags.MOST_REFERENCES)
    long = "x" * (tags.LONGEST_NAME + 1)
    assert tagger.tags_of(tongue_of("a.py"), f"def {long}(): {long}()\n".encode()) == NONE


SOURCES = {tongue_of(name).name: text for name, text, *_ in LANGUAGES}


@pytest.mark.parametrize("tongue", TONGUES, ids=lambda tongue: tongue.name)
@given(data=st.data())
def test_no_bytes_are_too_strange(tongue, data, tagger):
    source = data.draw(st.one_of(st.binary(max_size=200), cut_and_mixed(SOURCES[tongue.name].encode())))
    found = tagger.tags_of(tongue, source)
    lines = source.count(b"\n") + 1
    for number, one in enumerate(found.definitions):
        assert 1 <= one.line <= lines
        assert one.within is None or one.within < number


def cut_and_mixed(source):
    """A source of which a piece was taken out and put in again elsewhere, with some bytes."""
    places = st.integers(0, len(source))
    return st.tuples(places, places, places, st.binary(max_size=8)).map(
        lambda at: source[: at[0]] + at[3] + source[at[1] : at[2]] + source[at[0] :]
    )
