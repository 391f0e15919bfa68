"""The process of an embedded server; run as a script by :mod:`personalbench.llm.embedded`.

Reads its settings as one line of JSON, answers with one line that says where it
listens, and ends when its standard input does: with its parent, however that ends.
It imports nothing of this package, so that it starts in a fraction of a second.
"""

import json
import sys
import tempfile

import xllamacpp


def main() -> None:
    """Serve until standard input is closed."""
    settings = json.loads(sys.stdin.readline())
    with tempfile.TemporaryDirectory(prefix="personalbench-") as states:
        params = xllamacpp.CommonParams()
        params.model.path = settings["path"]
        params.model_alias = {settings["name"]}  # else answers name the file, with its path
        if settings["chat_template"] is not None:
            params.chat_template = settings["chat_template"]
        params.hostnames = ["127.0.0.1"]
        params.port = 0
        params.api_keys = [settings["api_key"]]
        params.n_parallel = settings["slots"]
        params.n_ctx = settings["context"]
        params.n_gpu_layers = 0
        params.fit_params = False
        params.cpuparams.n_threads = settings["threads"]
        params.cpuparams_batch.n_threads = settings["threads"]
        params.cache_ram_mib = 0
        params.slot_save_path = f"{states}/"
        params.ui = False
        params.verbosity = 0
        server = xllamacpp.Server(params)
        answer = {"base_url": f"{server.listening_address}/v1", "states": states}
        print(json.dumps(answer), flush=True)
        sys.stdin.read()
        del server


if __name__ == "__main__":
    main()
