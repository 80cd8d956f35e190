"""Files that numpy writes."""
import numpy as np

from plumb_cli import InteropTest, of_numpy, random_array, run, show

DTYPES = ["f8", "f4", "f2", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?", "c8", "c16"]
SHAPES = [(), (0,), (1,), (7,), (3, 4), (2, 0, 3), (2, 3, 4, 5)]


class NumpyTest(InteropTest):
    def setUp(self):
        super().setUp()
        self.rng = np.random.default_rng(11)

    def save(self, array, version=(1, 0)):
        path = self.path("x.npy")
        with open(path, "wb") as out:
            np.lib.format.write_array(out, array, version=version)
        return path

    def assert_npy(self, array, version=(1, 0)):
        path = self.save(array, version)
        name = show(path)["tensors"][0]["name"]
        self.assert_reads(path, {name: of_numpy(array)})

    def test_dtypes_and_byte_orders(self):
        for dtype in DTYPES:
            for order in "<>":
                array = random_array(self.rng, dtype, (5, 3))
                self.assert_npy(array.astype(array.dtype.newbyteorder(order)))

    def test_shapes_and_orders(self):
        for shape in SHAPES:
            array = random_array(self.rng, "f4", shape)
            self.assert_npy(array)
            self.assert_npy(np.asfortranarray(array))

    def test_versions(self):
        for version in [(1, 0), (2, 0), (3, 0)]:
            self.assert_npy(random_array(self.rng, "f4", (4, 5)), version)

    def test_fortran_big_endian_complex(self):
        self.assert_npy(np.asfortranarray(random_array(self.rng, ">c16", (4, 5, 2))))

    def test_npz_stored_and_compressed(self):
        arrays = {f"layer{i}.{d.replace('?', 'b')}": random_array(self.rng, d, SHAPES[i % len(SHAPES)])
                  for i, d in enumerate(DTYPES)}
        arrays["fortran"] = np.asfortranarray(random_array(self.rng, "f4", (5, 6)))
        arrays["big"] = np.zeros((700, 300), np.float32)
        arrays["big"][5, 7] = 3
        for save in np.savez, np.savez_compressed:
            path = self.path("x.npz")
            save(path, **arrays)
            self.assert_reads(path, {k: of_numpy(v) for k, v in arrays.items()})

    def test_object_array_is_not_silent(self):
        path = self.path("o.npy")
        np.save(path, np.array([{"a": 1}, None], dtype=object), allow_pickle=True)
        done = run("show", path, status=None)
        self.assertIn(done.returncode, (0, 2))
        self.assertIn("o.npy", (done.stdout + done.stderr).decode())
