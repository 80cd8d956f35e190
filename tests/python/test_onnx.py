"""Initializers of ONNX models."""
import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from plumb_cli import Expected, InteropTest, of_numpy, random_array

TYPES = {
    "f64": TensorProto.DOUBLE, "f32": TensorProto.FLOAT, "f16": TensorProto.FLOAT16, "bf16": TensorProto.BFLOAT16,
    "f8e4m3": TensorProto.FLOAT8E4M3FN, "f8e5m2": TensorProto.FLOAT8E5M2, "i8": TensorProto.INT8,
    "i16": TensorProto.INT16, "i32": TensorProto.INT32, "i64": TensorProto.INT64, "u8": TensorProto.UINT8,
    "u16": TensorProto.UINT16, "u32": TensorProto.UINT32, "u64": TensorProto.UINT64, "bool": TensorProto.BOOL,
    "c64": TensorProto.COMPLEX64, "c128": TensorProto.COMPLEX128,
}
NUMPY = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16,
         "f8e4m3": ml_dtypes.float8_e4m3fn, "f8e5m2": ml_dtypes.float8_e5m2, "i8": np.int8, "i16": np.int16,
         "i32": np.int32, "i64": np.int64, "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64,
         "bool": np.bool_, "c64": np.complex64, "c128": np.complex128}


def model(initializers):
    out = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    nodes = [helper.make_node("Identity", [initializers[0].name], ["y"])]
    return helper.make_model(helper.make_graph(nodes, "g", [], [out], initializer=initializers))


class OnnxTest(InteropTest):
    def setUp(self):
        super().setUp()
        self.rng = np.random.default_rng(21)

    def arrays(self):
        arrays = {}
        for name, dtype in NUMPY.items():
            if name in ("c64", "c128") or not (name.startswith("f") or name == "bf16"):
                arrays[name] = random_array(self.rng, np.bool_ if name == "bool" else dtype, (3, 4))
            else:
                arrays[name] = self.rng.standard_normal((3, 4)).astype(dtype)
        arrays["scalar"] = np.float32(2.5).reshape(())
        arrays["empty"] = np.zeros((0, 2), np.float32)
        return arrays

    def expected(self, arrays):
        return {k: Expected(list(v.shape), k if k in NUMPY else "f32", v.tobytes()) for k, v in arrays.items()}

    def test_raw_data(self):
        arrays = self.arrays()
        tensors = [helper.make_tensor(k, TYPES.get(k, TensorProto.FLOAT), v.shape, v.tobytes(), raw=True)
                   for k, v in arrays.items()]
        path = self.path("raw.onnx")
        onnx.save(model(tensors), path)
        self.assert_reads(path, self.expected(arrays))

    def test_typed_fields(self):
        arrays = self.arrays()
        tensors = [helper.make_tensor(k, TYPES.get(k, TensorProto.FLOAT), v.shape, v.ravel().tolist())
                   for k, v in arrays.items()]
        path = self.path("typed.onnx")
        onnx.save(model(tensors), path)
        self.assert_reads(path, self.expected(arrays))

    def test_external_data(self):
        arrays = {f"layer.{i}": random_array(self.rng, "f4", (40, 30)) for i in range(4)}
        arrays["small"] = random_array(self.rng, "i8", (3,))
        for one_file in True, False:
            path = self.path(f"external_{one_file}.onnx")
            onnx.save_model(model([numpy_helper.from_array(v, k) for k, v in arrays.items()]), path,
                            save_as_external_data=True, all_tensors_to_one_file=one_file,
                            location=f"data_{one_file}.bin" if one_file else None, size_threshold=1000)
            self.assert_reads(path, {k: of_numpy(v) for k, v in arrays.items()})

    def test_external_data_outside_is_refused(self):
        from plumb_cli import run

        with open(self.path("secret"), "wb") as out:
            out.write(b"\1" * 64)
        import os
        os.mkdir(self.path("inner"))
        for location in ("../secret", self.path("secret"), "a/../../secret"):
            tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[4])
            tensor.data_location = TensorProto.EXTERNAL
            for key, value in (("location", location), ("offset", "0"), ("length", "16")):
                entry = tensor.external_data.add()
                entry.key, entry.value = key, value
            path = self.path("inner/m.onnx")
            with open(path, "wb") as out:
                out.write(model([tensor]).SerializeToString())
            done = run("show", "--json", path, status=None)
            text = (done.stdout + done.stderr).decode()
            self.assertIn("w", text)
            self.assertTrue(done.returncode == 2 or '"warnings":[]' not in text.replace(" ", ""), text)
