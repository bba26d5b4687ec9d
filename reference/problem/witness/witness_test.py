"""Opens witnesses the way a Python user does: with the standard library, and with `safetensors` if it is installed.

usage: witness_test.py DIRECTORY   (the output of write_samples)
"""

import json
import struct
import sys
from pathlib import Path

SIZES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "F8_E4M3": 1, "F8_E5M2": 1}


def read(path):
    """Metadata, {name: (dtype, shape, bytes)}; asserts what the format demands of every file."""
    raw = path.read_bytes()
    (length,) = struct.unpack_from("<Q", raw)
    assert length % 8 == 0, "the data must begin at a multiple of 8"
    assert raw[8:9] == b"{", "the header must begin with the object"

    def no_key_twice(pairs):
        assert len(dict(pairs)) == len(pairs), pairs
        return dict(pairs)

    header = json.loads(raw[8 : 8 + length].decode("utf-8"), object_pairs_hook=no_key_twice)
    metadata = header.pop("__metadata__")
    assert all(isinstance(v, str) for v in metadata.values())
    data, tensors, ranges = raw[8 + length :], {}, []
    for name, entry in header.items():
        assert set(entry) == {"dtype", "shape", "data_offsets"}, entry
        size = SIZES[entry["dtype"]]
        begin, end = entry["data_offsets"]
        assert begin % size == 0, f"{name} is not aligned"
        for extent in entry["shape"]:
            size *= extent
        assert end - begin == size, name
        ranges.append((begin, end))
        tensors[name] = (entry["dtype"], entry["shape"], data[begin:end])
    position = 0
    for begin, end in sorted(ranges):
        assert begin == position, "gap or overlap"
        position = end
    assert position == len(data)
    return metadata, tensors


def bf16(raw):
    words = struct.unpack(f"<{len(raw) // 2}H", raw)
    return [struct.unpack("<f", struct.pack("<I", w << 16))[0] for w in words]


def check_softmax(metadata, tensors):
    assert metadata["flashproof"] == "witness 1"
    assert metadata["case"] == "softmax:sample:1:cols=5,rows=3"
    assert metadata["row_length"] == "5,0,2" and metadata["stride.x"] == "8,1"
    assert metadata["note.kernel"] == "softmax.online_block.hardened"
    dtype, shape, raw = tensors.pop("x")
    assert (dtype, shape) == ("F16", [3, 5]), "logical shape, dense, whatever the strides were"
    x = struct.unpack("<15e", raw)
    assert x[0] == 0.0 and x[1] == float("-inf") and x[9] != x[9] and x[10] == 2.0**-24
    assert all(x[i] == i / 4 for i in range(15) if i not in (1, 9, 10))


def check_merge(metadata, tensors):
    assert metadata["form"] == "concat" and metadata["order"] == "1,0"
    assert metadata["stride.lse"] == "1,0", "the broadcast is kept"
    assert "joins" not in metadata and "l" not in tensors, "the plain form has no such field"
    assert metadata["note.verdict"] == 'fail(exceeds_bound)\n"\u00e9"'
    dtype, shape, raw = tensors.pop("o")
    assert (dtype, shape) == ("F32", [2, 3, 4])
    assert list(struct.unpack("<24f", raw)) == [i - 10.5 for i in range(24)]
    dtype, shape, raw = tensors.pop("lse")
    assert (dtype, shape) == ("F32", [2, 3])
    assert list(struct.unpack("<6f", raw)) == [float("-inf")] * 3 + [1.5] * 3


def check_merge_states(metadata, tensors):
    assert metadata["form"] == "sum" and metadata["order"] == "2,0,3,1"
    assert metadata["joins"] == "3,1,0,2,5,4", "three pairs of nodes"
    assert metadata["stride.l"] == "3,0", "the broadcast is kept"
    dtype, shape, raw = tensors.pop("l")
    l = struct.unpack("<8f", raw)
    assert (dtype, shape) == ("F32", [4, 2]) and l[2:4] == (0.0, 0.0) and min(l[:2] + l[4:]) >= 1
    assert tensors.pop("o")[:2] == ("BF16", [4, 2, 3])
    assert tensors.pop("lse")[:2] == ("F32", [4, 2])


def check_attention(metadata, tensors):
    scale = struct.unpack("<f", struct.pack("<f", 0.1))[0]
    assert float.fromhex(metadata["scale"]) == scale, "bit for bit"
    assert metadata["causal"] == "true" and metadata["key_length"] == "5,3"
    assert metadata["plan.boundary"] == "0,2,4,5" and metadata["plan.order"] == "2,0,1"
    for absent in ("window", "softcap", "q_start", "k_start", "page_table"):
        assert absent not in metadata, "the plain form has no such field"
    for name, shape in (("q", [2, 2, 3, 4]), ("k", [2, 1, 5, 4]), ("v", [2, 1, 5, 2])):
        dtype, found, raw = tensors.pop(name)
        assert (dtype, found) == ("BF16", shape), name
        values = bf16(raw)
        assert all(-2 <= x <= 2 for x in values) and len(set(values)) > 5, name
        if name == "k":
            assert raw[: len(raw) // 2] == raw[len(raw) // 2 :], "one k for both batches"
    dtype, shape, raw = tensors.pop("bias")
    bias = struct.unpack("<60f", raw)
    assert (dtype, shape) == ("F32", [2, 2, 3, 5])
    assert [i for i, x in enumerate(bias) if x == float("-inf")] == [(2 * 3 + 2) * 5 + 3]


def check_attention_packed(metadata, tensors):
    assert metadata["q_start"] == "0,2,2,3,4" and metadata["k_start"] == "0,3,4,4,5"
    assert metadata["window"] == "1,0" and float.fromhex(metadata["softcap"]) == 30.0
    assert "page_table" not in metadata and "bias" not in tensors
    dtype, shape, raw = tensors.pop("alibi")
    assert (dtype, shape, struct.unpack("<8f", raw)) == ("F32", [4, 2], (0.5, -0.25) * 4)
    assert metadata["stride.alibi"] == "0,1" and metadata["storage.alibi"] == "8"
    dtype, shape, raw = tensors.pop("sink")
    assert (dtype, shape, struct.unpack("<2f", raw)) == ("F32", [2], (1.5, float("-inf")))
    for name, shape in (("q", [1, 2, 4, 3]), ("k", [1, 1, 6, 3]), ("v", [1, 1, 6, 2])):
        assert tensors.pop(name)[:2] == ("F16", shape), name


def check_attention_paged(metadata, tensors):
    assert metadata["page_table"] == "2,0,2,-1,-2147483648,2147483647" and metadata["key_length"] == "3,1,0"
    assert metadata["window"] == "-1,0"
    for absent in ("softcap", "q_start", "k_start"):
        assert absent not in metadata, absent
    for name, shape in (("q", [3, 2, 1, 2]), ("k", [4, 2, 2, 2]), ("v", [4, 2, 2, 1]), ("bias", [3, 2, 1, 4])):
        assert tensors.pop(name)[:2] == ("F32", shape), name


def check_attention_descaled(metadata, tensors):
    assert "q_descale" not in tensors, "absent is 1"
    for name, strides, size, values in (
        ("k_descale", "1,1", "8", (0.375, -(2.0**-149))),
        ("v_descale", "0,1", "4", (float.fromhex("0x1.fffffep+127"),) * 2),
    ):
        dtype, shape, raw = tensors.pop(name)
        assert (dtype, shape, struct.unpack("<2f", raw)) == ("F32", [2, 1], values), name
        assert (metadata["stride." + name], metadata["storage." + name]) == (strides, size), name
    assert tensors.pop("q")[:2] == ("BF16", [2, 2, 2, 4])
    assert tensors.pop("k")[:2] == ("F8_E4M3", [2, 1, 3, 4])
    dtype, shape, raw = tensors.pop("v")
    assert (dtype, shape, raw[11]) == ("F8_E4M3", [2, 1, 3, 2], 0x7F), "the NaN of e4m3fn"


def check_attention_backward(metadata, tensors):
    assert metadata["case"] == "attention_backward:sample:12:format=f16,mode=gradient"
    assert metadata["problem"] == "attention_backward" and metadata["mode"] == "gradient"
    assert metadata["window"] == "1,-1" and metadata["stride.o"] == "16,8,4,2" and metadata["stride.lse"] == "4,1,2"
    for name, dtype, shape in (
        ("q", "F16", [1, 2, 2, 3]),
        ("k", "F16", [1, 1, 4, 3]),
        ("v", "F16", [1, 1, 4, 2]),
        ("d_out", "F16", [1, 2, 2, 2]),
        ("o", "F32", [1, 2, 2, 2]),
    ):
        assert tensors.pop(name)[:2] == (dtype, shape), name
    dtype, shape, raw = tensors.pop("alibi")
    assert (dtype, shape, struct.unpack("<2f", raw)) == ("F32", [1, 2], (0.25, 0.5))
    dtype, shape, raw = tensors.pop("lse")
    lse = struct.unpack("<4f", raw)
    assert (dtype, shape) == ("F32", [1, 2, 2]) and lse[3] == float("-inf") and all(-1 <= x <= 1 for x in lse[:3])


def check_with_package(path, tensors):
    """The reference implementation must accept the file and see the same bytes."""
    try:
        import safetensors
    except ImportError:
        return False
    for name, entry in safetensors.deserialize(path.read_bytes()):
        dtype, shape, raw = tensors[name]
        assert (entry["dtype"], list(entry["shape"]), bytes(entry["data"])) == (dtype, shape, raw), name
    return True


def main():
    directory = Path(sys.argv[1])
    checks = (check_softmax, check_merge, check_merge_states)
    checks += (check_attention, check_attention_packed, check_attention_paged, check_attention_descaled)
    checks += (check_attention_backward,)
    for check in checks:
        path = directory / (check.__name__.removeprefix("check_") + ".safetensors")
        metadata, tensors = read(path)
        package = check_with_package(path, tensors)
        check(metadata, tensors)
        assert not tensors, f"unexpected {sorted(tensors)}"
        print(path.name, "ok;", "safetensors package agrees" if package else "safetensors package not installed")


if __name__ == "__main__":
    main()
