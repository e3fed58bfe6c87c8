import importlib.util
import inspect
import json
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from command import tagwire_result
from task_specs import KIND, STATE, TASK

from tagwire.errors import DecodeError, EncodeError
from tagwire.frames.message_index import UnknownMessageError
from tagwire.frames.registry import Registry
from tagwire.message import Message

SETTINGS = """
[[tool.tagwire.sets]]
specs = "{name}_specs"
package = "{name}"
output = "."
options = {{ dialect = "tagwire" }}
"""


def spec(name: str, kind: str, *fields: dict[str, Any], **more: Any) -> dict[str, Any]:
    head = {"name": name, "type": kind, "validVersions": "0-1", "flexibleVersions": "none"}
    return head | {"fields": [{"versions": "0+", **field} for field in fields]} | more


API = {"name": "RequestApiKey", "type": "int16"}, {"name": "RequestApiVersion", "type": "int16"}
TRACE = {"name": "TraceId", "type": "int64"}
REQUEST = spec("OrderRequest", "request", {"name": "Item", "type": "string"}, apiKey=9)
RESPONSE = spec("OrderResponse", "response", {"name": "Price", "type": "int32"}, apiKey=9)
STRUCT = spec("RequestHeader", "struct", *API)
ORDERS = [REQUEST, RESPONSE]
SPOT = spec("Spot", "struct", {"name": "Names", "type": "[]string", "nullableVersions": "1+"})
del SPOT["flexibleVersions"]
IMPORTS = [{"name": "Spot", "structVersions": {"0+": 0}}]
OPTIONAL = [{"name": "At", "type": "Spot"}, {"name": "Id", "type": "uuid", "nullableVersions": "1+"}]
ARRAYS = [{"name": f"F{n}", "type": each} for n, each in enumerate(["[]int8", "[]float64", "[][]string", "[][][]bool"])]
DATA = spec("ArrayData", "data", *ARRAYS, *OPTIONAL, flexibleVersions="1+", imports=IMPORTS)
PACKAGES: dict[str, list[dict[str, Any]]] = {
    # The header has additional fields, and all of Kafka's fields except the client ID.
    "traced": [
        *ORDERS,
        spec("RequestHeader", "header", *API, {"name": "CorrelationId", "type": "int32"}, TRACE),
        spec("ResponseHeader", "header", {"name": "CorrelationId", "type": "int32"}, {"name": "Node", "type": "int8"}),
    ],
    # A connection serves a single API, so headers need no API key.
    "nameless": [*ORDERS, spec("RequestHeader", "header", TRACE), spec("ResponseHeader", "header", TRACE)],
    # The API version comes before the API key.
    "turned": [*ORDERS, spec("RequestHeader", "header", *reversed(API))],
    # The request header has a required field. Responses have no header.
    "oneway": [REQUEST, RESPONSE, spec("RequestHeader", "header", *API, {**TRACE, "required": True})],
    "bare": ORDERS,
    # The generated registry also uses the names `RequestHeader` and `Any`.
    "namesakes": [
        {**REQUEST, "fields": [{**REQUEST["fields"][0], "type": "RequestHeader", "fields": REQUEST["fields"]}]},
        {**RESPONSE, "aliases": ["Any"]},
        spec("RequestHeader", "header", *API),
    ],
    "tasks": [TASK, STATE, KIND, SPOT, DATA],
}
ORDER = bytes.fromhex("0003 706965")
"""OrderRequest(item="pie"): an int16 length and three letters."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("headers")
    for name, specs in PACKAGES.items():
        (folder / f"{name}_specs").mkdir()
        for each in specs:
            (folder / f"{name}_specs" / f"{each['name']}.json").write_text(json.dumps(each))
    settings = [SETTINGS.format(name=name) for name in PACKAGES]
    (folder / "pyproject.toml").write_text("".join(['[tool.tagwire]\nformatter = "ruff"\n', *settings]))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.syspath_prepend(str(folder))
        tagwire_result("generate", code=0)
        yield folder


@pytest.fixture
def packages(folder: Path) -> dict[str, ModuleType]:
    return {name: importlib.import_module(name) for name in PACKAGES}


def test_a_header_with_fields_of_its_own(packages: dict[str, ModuleType]) -> None:
    traced = packages["traced"]
    order = traced.OrderRequest(item="pie")
    data = traced.registry.encode_request(order, 1, header=traced.RequestHeader(trace_id=5), correlation_id=7)
    assert data == bytes.fromhex("0009 0001 00000007 0000000000000005") + ORDER
    frame = traced.OrderRequest.decode_frame(data)
    assert (frame.header.trace_id, frame.header.request_api_key, frame.version) == (5, 9, 1)
    assert frame == traced.registry.decode_request(data) and type(frame.header) is traced.registry.request_header
    header = traced.ResponseHeader(node=3)
    answer = traced.registry.encode_response(traced.OrderResponse(price=2), 1, header=header, correlation_id=7)
    assert answer == bytes.fromhex("00000007 03 00000002")
    assert traced.OrderResponse.decode_frame(answer, 1).header == traced.ResponseHeader(node=3, correlation_id=7)


@pytest.mark.parametrize(("name", "header"), [("nameless", bytes(8)), ("turned", bytes.fromhex("0001 0009"))])
def test_a_header_that_does_not_begin_with_the_api(packages: dict[str, ModuleType], name: str, header: bytes) -> None:
    package = packages[name]
    order = package.OrderRequest(item="pie")
    data = package.registry.encode_request(order, 1)
    assert data == header + ORDER
    assert package.registry.encode_request(order, 1, header=package.RequestHeader()) == data
    for decode in (package.OrderRequest.decode_frame, package.registry.decode_request, package.registry.decode_header):
        with pytest.raises(DecodeError) as caught:
            decode(data)
        error = str(caught.value)
        assert "RequestHeader: byte 0: found a header without the API key and version of its request" in error
        assert "expected a header whose versions all begin with the int16 fields request_api_key" in error
    read, end = package.RequestHeader.decode_from(data, 0)
    assert package.OrderRequest.decode_from(data, 1, end) == (order, len(data))
    with pytest.raises(EncodeError, match="correlation_id is given, but the RequestHeader of this package has no such"):
        package.registry.encode_request(order, 1, correlation_id=7)
    with pytest.raises(EncodeError, match="correlation_id is given, but the RequestHeader has no such field"):
        package.registry.encode_request(order, 1, header=read, correlation_id=7)


def test_header_without_api_fields_has_responses(packages: dict[str, ModuleType]) -> None:
    nameless = packages["nameless"]
    header, answer = nameless.ResponseHeader(trace_id=4), nameless.OrderResponse(price=2)
    data = nameless.registry.encode_response(answer, 0, header=header)
    assert data == bytes.fromhex("0000000000000004 00000002")
    assert nameless.OrderResponse.decode_frame(data, 0).header == header


def test_a_header_that_requires_a_field(packages: dict[str, ModuleType]) -> None:
    oneway = packages["oneway"]
    order = oneway.OrderRequest(item="pie")
    reason = r"requires trace_id; set this field with header=RequestHeader\(\.\.\.\)"
    with pytest.raises(EncodeError, match=reason):
        oneway.registry.encode_request(order, 1)
    data = oneway.registry.encode_request(order, 1, header=oneway.RequestHeader(trace_id=5))
    assert data == bytes.fromhex("0009 0001 0000000000000005") + ORDER
    assert oneway.OrderRequest.decode_frame(data).header.trace_id == 5
    with pytest.raises(UnknownMessageError, match="oneway defines no ResponseHeader"):
        oneway.OrderResponse.decode_frame(b"", 0)


def test_a_package_without_headers(packages: dict[str, ModuleType]) -> None:
    with pytest.raises(UnknownMessageError, match="bare defines no RequestHeader, so it can't read or write frames"):
        packages["bare"].OrderRequest.decode_frame(b"")


def test_header_types_do_not_change_the_classes_at_run_time(packages: dict[str, ModuleType]) -> None:
    traced = packages["traced"]
    cls = traced.OrderRequest
    assert cls.__bases__ == (Message,) and isinstance(cls(), Message) and issubclass(cls, Message)
    assert str(inspect.signature(cls)).startswith("(*, item: 'str' = ")
    request = getattr(traced, "OrderRequest")(item="pie")  # noqa: B009 # its type is unknown to checkers
    assert pickle.loads(pickle.dumps(request)) == request
    assert pickle.loads(pickle.dumps(cls)) is cls
    assert not hasattr(cls(), "__dict__") and cls.__slots__ == ("item", "unknown_tags")
    assert "traced.request_header" not in getattr(cls, "__annotations__", {})
    assert isinstance(traced.registry, Registry) and type(traced.registry) is Registry

    class Larger(cls):  # type: ignore[misc, valid-type]
        __slots__ = ()

    assert Larger.decode(Larger(item="pie").encode(0), 0) == Larger(item="pie")  # pyright: ignore[reportCallIssue]


def test_generating_again_changes_nothing(folder: Path) -> None:
    tagwire_result("generate", "--check", "--no-cache", code=0)


def test_added_header_updates_cached_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    specs = tmp_path / "late_specs"
    specs.mkdir()
    (tmp_path / "pyproject.toml").write_text(SETTINGS.format(name="late"))
    for each in ORDERS:
        (specs / f"{each['name']}.json").write_text(json.dumps(each))
    header = specs / "OwnHeader.json"  # a file may have another name than its message
    module, stub = tmp_path / "late/order_request.py", tmp_path / "late/__init__.pyi"

    def seen() -> tuple[bool, bool]:
        tagwire_result("generate", code=0)
        found = 'class OrderRequest(Message["RequestHeader"], metaclass=data_class):' in module.read_text()
        return found, "registry: Registry[RequestHeader, Any]\n" in stub.read_text()

    assert seen() == (False, False)
    for header_spec, there in (
        (spec("RequestHeader", "header", *API), True),
        (spec("RequestHeader", "header", validVersions="none"), False),
        ({key: value for key, value in STRUCT.items() if key != "flexibleVersions"}, False),
    ):
        header.write_text("// a comment\n" + json.dumps(header_spec))
        assert seen() == (there, there)
    header.unlink()
    assert seen() == (False, False)


USE = """\
from typing import Any, assert_type

import bare
import nameless
import namesakes
import oneway
import tagwire
import traced

data = b""
Traced = tagwire.Frame[traced.OrderRequest, traced.RequestHeader]
assert_type(traced.registry, tagwire.Registry[traced.RequestHeader, traced.ResponseHeader])
assert_type(traced.registry.request_header, type[traced.RequestHeader])
assert_type(traced.OrderRequest.decode_frame(data), Traced)
assert_type(traced.registry.decode_request(data, traced.OrderRequest), Traced)
assert_type(traced.registry.decode_request(data), tagwire.Frame[Any, traced.RequestHeader])
assert_type(traced.OrderRequest.decode_frame(data).header.trace_id, int)
assert_type(traced.OrderResponse.decode_frame(data, 1).header.node, int)
order = traced.OrderRequest(item="pie")
traced.registry.encode_request(order, 1, header=traced.RequestHeader(trace_id=1), correlation_id=2)
traced.registry.encode_request(order, 1, header=traced.ResponseHeader())  # type: ignore[arg-type]
traced.OrderRequest.decode_frame(data).header.client_id  # type: ignore[attr-defined]

assert_type(nameless.registry.response_header, type[nameless.ResponseHeader])
assert_type(oneway.registry, tagwire.Registry[oneway.RequestHeader, Any])
assert_type(oneway.OrderRequest.decode_frame(data), tagwire.Frame[oneway.OrderRequest, oneway.RequestHeader])
assert_type(oneway.OrderResponse.decode_frame(data, 1), tagwire.Frame[oneway.OrderResponse])

assert_type(bare.registry, tagwire.Registry)
assert_type(bare.OrderRequest.decode_frame(data), tagwire.Frame[bare.OrderRequest])
assert_type(bare.registry.request_header, type[Any])
assert_type(bare.registry.decode_request(data, bare.OrderRequest), tagwire.Frame[bare.OrderRequest, Any])

assert_type(namesakes.OrderRequest.decode_frame(data).header, namesakes.RequestHeader)
assert_type(namesakes.registry, tagwire.Registry[namesakes.RequestHeader, Any])
assert_type(namesakes.Any(), namesakes.OrderResponse)
"""


@pytest.mark.slow
@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_type_checkers_know_the_header(folder: Path, checker: str) -> None:
    if importlib.util.find_spec(checker) is None:
        pytest.skip(f"{checker} is not installed")
    (folder / "use.py").write_text(USE)
    config = {"include": ["use.py"], "typeCheckingMode": "strict", "reportUnnecessaryTypeIgnoreComment": "error"}
    (folder / "pyrightconfig.json").write_text(json.dumps(config))
    words = {
        "mypy": ["--strict", "--config-file=", "use.py", *PACKAGES],
        "pyright": ["--pythonpath", sys.executable, "--project", "."],
    }[checker]
    done = subprocess.run([sys.executable, "-m", checker, *words], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
