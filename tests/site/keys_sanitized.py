"""Run by test_site_keys.py with sanitizers: fills tables by lot, and asks them."""

import ctypes
import sys
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from random import Random


def main(built: str) -> None:
    assert hasattr(ctypes.CDLL(None), "__asan_init"), "the sanitizer is not loaded"
    loader = ExtensionFileLoader("_keys", built)
    module = module_from_spec(spec_from_file_location("_keys", built, loader=loader))
    loader.exec_module(module)
    random = Random(12)
    met = 0
    for _ in range(40):
        urls = module.Urls()
        keys = [bytes(8), *(random.randbytes(8) for _ in range(random.randrange(300)))]
        for start in range(0, len(keys), 50):
            # Twice, so that URLs take the place of others.
            for _ in range(2):
                some = keys[start : start + 50]
                urls.add(b"".join(some), tuple(f"http://a.test/{random.random()}" for _ in some))
        urls.begin()
        for _ in range(50):
            asked = b"".join(random.choices([*keys, random.randbytes(8)], k=random.randrange(9)))
            new = urls.unmet(asked)
            assert set(new) <= set(urls.targets(asked)) == set(urls.met(asked))
            met += len(new)
            if random.random() < 0.1:
                urls.leave(asked)
        for wrong in (b"1234567", "12345678", None):
            for ask in (urls.targets, urls.unmet, urls.met, urls.leave):
                try:
                    ask(wrong)
                except (TypeError, ValueError):
                    met += 1
    print(met)


if __name__ == "__main__":
    main(sys.argv[1])
