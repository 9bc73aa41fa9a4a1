"""The teacher's sentence vectors: all-MiniLM-L6-v2 from the package's safetensors file, run by onnxruntime.

    python teacher.py MODEL WORK

MODEL is the package's `model` folder. Writes WORK/sentences.npy (a row for each text) and WORK/tokens.npy (a row for
each token of the vocabulary, seen alone). Stops and goes on where it was: finished blocks are kept in WORK/blocks.

The sentence vectors are computed with 8-bit weights (half the time, cosine 0.99 to full precision), the tokens in
full precision.
"""

import json
import struct
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic
from tokenizers import Tokenizer

LAYERS, HEADS, WIDTH = 6, 12, 384
MOST_TOKENS = 96
BLOCK = 4096


def safetensors(path):
    """Tensors of a safetensors file (all of this model's are F32 or I64)."""
    raw = path.read_bytes()
    (n,) = struct.unpack("<Q", raw[:8])
    kinds = {"F32": np.float32, "I64": np.int64}
    out = {}
    for name, entry in json.loads(raw[8 : 8 + n]).items():
        if name != "__metadata__":
            start, end = entry["data_offsets"]
            flat = np.frombuffer(raw[8 + n + start : 8 + n + end], kinds[entry["dtype"]])
            out[name.removeprefix("bert.")] = flat.reshape(entry["shape"])
    return out


class Graph:
    """An ONNX graph being written: constants and nodes by name."""

    def __init__(self):
        self.constants, self.nodes, self.count = [], [], 0

    def constant(self, array):
        self.count += 1
        name = f"c{self.count}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def op(self, kind, *inputs, **attributes):
        self.count += 1
        name = f"n{self.count}"
        inputs = [i if isinstance(i, str) else self.constant(i) for i in inputs]
        self.nodes.append(helper.make_node(kind, inputs, [name], name, **attributes))
        return name


def bert(weights, path):
    """Writes the encoder, its mean pooling and the normalisation as one ONNX graph: ids, mask, positions → vectors."""
    g = Graph()

    def linear(x, name):
        return g.op("Add", g.op("MatMul", x, weights[name + ".weight"].T), weights[name + ".bias"])

    def layer_norm(x, name):
        return g.op(
            "LayerNormalization", x, weights[name + ".weight"], weights[name + ".bias"], axis=-1, epsilon=1e-12
        )

    def heads(x, order):
        split = g.op("Reshape", x, np.array([0, 0, HEADS, WIDTH // HEADS]))
        return g.op("Transpose", split, perm=order)

    places = weights["embeddings.position_embeddings.weight"] + weights["embeddings.token_type_embeddings.weight"][0]
    x = g.op(
        "Add",
        g.op("Gather", weights["embeddings.word_embeddings.weight"], "ids"),
        g.op("Gather", places, "positions"),
    )
    x = layer_norm(x, "embeddings.LayerNorm")
    mask = g.op("Cast", "mask", to=TensorProto.FLOAT)
    seen = g.op("Unsqueeze", mask, np.array([1, 2]))
    unseen = g.op("Mul", g.op("Sub", np.float32(1), seen), np.float32(-1e4))
    for n in range(LAYERS):
        layer = f"encoder.layer.{n}."
        q = heads(linear(x, layer + "attention.self.query"), [0, 2, 1, 3])
        k = heads(linear(x, layer + "attention.self.key"), [0, 2, 3, 1])
        v = heads(linear(x, layer + "attention.self.value"), [0, 2, 1, 3])
        scores = g.op("Mul", g.op("MatMul", q, k), np.float32((WIDTH // HEADS) ** -0.5))
        shares = g.op("Softmax", g.op("Add", scores, unseen), axis=-1)
        mixed = g.op("Transpose", g.op("MatMul", shares, v), perm=[0, 2, 1, 3])
        mixed = g.op("Reshape", mixed, np.array([0, 0, WIDTH]))
        x = layer_norm(
            g.op("Add", linear(mixed, layer + "attention.output.dense"), x), layer + "attention.output.LayerNorm"
        )
        inner = g.op("Gelu", linear(x, layer + "intermediate.dense"))
        x = layer_norm(g.op("Add", linear(inner, layer + "output.dense"), x), layer + "output.LayerNorm")
    column = g.op("Unsqueeze", mask, np.array([2]))
    total = g.op("ReduceSum", g.op("Mul", x, column), np.array([1]), keepdims=0)
    mean = g.op("Div", total, g.op("ReduceSum", column, np.array([1]), keepdims=0))
    length = g.op("ReduceL2", mean, np.array([1]), keepdims=1)
    out = g.op("Div", mean, length)
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        g.nodes,
        "minilm",
        [
            value("ids", TensorProto.INT64, ["texts", "tokens"]),
            value("mask", TensorProto.INT64, ["texts", "tokens"]),
            value("positions", TensorProto.INT64, ["tokens"]),
        ],
        [value(out, TensorProto.FLOAT, ["texts", WIDTH])],
        g.constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    onnx.checker.check_model(model)
    onnx.save(model, path)


class Teacher:
    def __init__(self, model, work, quantised):
        full, small = work / "teacher.onnx", work / "teacher-int8.onnx"
        if not full.exists():
            bert(safetensors(model / "model.safetensors"), full)
        if quantised and not small.exists():
            quantize_dynamic(full, small, op_types_to_quantize=["MatMul"], weight_type=QuantType.QInt8)
        options = ort.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self.session = ort.InferenceSession(small if quantised else full, options, providers=["CPUExecutionProvider"])
        self.tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(MOST_TOKENS)

    def rows(self, ids):
        length = max(map(len, ids))
        padded, mask = np.zeros((2, len(ids), length), np.int64)
        for row, row_mask, text in zip(padded, mask, ids):
            row[: len(text)] = text
            row_mask[: len(text)] = 1
        (out,) = self.session.run(None, {"ids": padded, "mask": mask, "positions": np.arange(length)})
        return out

    def encode(self, texts):
        ids = [e.ids for e in self.tokenizer.encode_batch(texts)]
        out = np.zeros((len(ids), WIDTH), np.float32)
        # Texts of one length go together, so that next to nothing is padding.
        order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
        start = 0
        while start < len(order):
            batch = order[start : start + max(1, 768 // len(ids[order[start]]))]
            out[batch] = self.rows([ids[i] for i in batch])
            start += len(batch)
        return out


def main(model, work):
    blocks = work / "blocks"
    blocks.mkdir(parents=True, exist_ok=True)
    texts = [json.loads(line)[1] for line in open(work / "texts.jsonl", encoding="utf-8")]
    if not (work / "tokens.npy").exists():
        teacher = Teacher(model, work, quantised=False)
        size = teacher.tokenizer.get_vocab_size()
        rows = [teacher.rows([[101, t, 102] for t in range(n, min(n + 256, size))]) for n in range(0, size, 256)]
        np.save(work / "tokens.npy", np.concatenate(rows))
        # The published example of the model's card, to see that the graph is the model.
        pair = teacher.encode(["This is an example sentence", "Each sentence is converted"])
        print("first numbers of the published example", np.round(pair[0][:4], 4), "cosine", float(pair[0] @ pair[1]))
    teacher = Teacher(model, work, quantised=True)
    for n in range(0, len(texts), BLOCK):
        block = blocks / f"{n:08}.npy"
        if not block.exists():
            half = teacher.encode(texts[n : n + BLOCK]).astype(np.float16)
            part = block.with_suffix(".part.npy")
            np.save(part, half)
            part.rename(block)
            print(f"{min(n + BLOCK, len(texts))} of {len(texts)} texts", flush=True)
    rows = [np.load(blocks / f"{n:08}.npy") for n in range(0, len(texts), BLOCK)]
    np.save(work / "sentences.npy", np.concatenate(rows))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:3]))
