from pathlib import Path

from browsed import found, read_listing

SAMPLE_LOG = Path(__file__).parents[2] / "data" / "sample_log"
FIRST_SEGMENT = SAMPLE_LOG / "orders-0" / "00000000000000000000.log"


def test_batches_of_a_log() -> None:
    listing = read_listing(SAMPLE_LOG)
    assert listing.count == 12
    assert list(listing.cells(2)) == ["3", "orders-0", "10-14", "5", "223", "v2 gzip", "2023-11-14 22:27"]
    assert found(listing, "offset=12") == [3, 9]
    assert found(listing, "offset=12 partition=orders-1") == [9]
    assert found(listing, "offset=24-") == [5, 6, 11, 12]
    assert found(listing, "-codec=none partition=orders-0") == [3, 6]
    assert found(listing, "is=control") == []
    assert listing.explain(2).explained.failure == ""


def test_damaged_batch_and_trailing_bytes(tmp_path: Path) -> None:
    data = bytearray(FIRST_SEGMENT.read_bytes())
    data[400] ^= 1
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(bytes(data) + b"\x01" * 40)
    listing = read_listing(path)
    assert listing.count == 7
    assert found(listing, "is=error") == [2, 7]
    assert list(listing.cells(6))[:3] == ["7", path.name, "not a batch"]
    assert listing.explain(1).explained.failure != "" and listing.explain(6).explained.failure != ""


def test_a_log_is_followed(tmp_path: Path) -> None:
    data = FIRST_SEGMENT.read_bytes()
    folder = tmp_path / "orders-0"
    folder.mkdir()
    path = folder / "00000000000000000000.log"
    path.write_bytes(data[:500])
    listing = read_listing(folder, follows=True)
    assert (listing.count, listing.is_done) == (1, False)
    path.write_bytes(data)
    listing.read_all()
    assert listing.count == 6
    (folder / "00000000000000000030.log").write_bytes(data[:375] + bytes(500))  # a preallocated file
    listing.read_all()
    assert listing.count == 7
