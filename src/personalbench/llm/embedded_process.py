"""The process of an embedded server; run as a script by :mod:`personalbench.llm.embedded`.

Reads its settings as one line of JSON, answers with one line that says where it
listens, and ends when its standard input does: with its parent, however that ends.
It imports nothing of this package, so that it starts in a fraction of a second.
"""

import json
import shutil
import sys

import xllamacpp


def main() -> None:
    """Serve until standard input is closed."""
    settings = json.loads(sys.stdin.readline())
    try:
        params = xllamacpp.CommonParams()
        params.model.path = settings["path"]
        params.model_alias = {settings["name"]}  # else answers name the file, with its path
        if settings["chat_template"] is not None:
            params.chat_template = settings["chat_template"]
        if settings["adapter"] is not None:
            params.lora_adapters = [xllamacpp.CommonAdapterLoraInfo(settings["adapter"], 1.0)]
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
        # A model with a sliding window (Gemma) forgets what it has read unless all is kept:
        # no common beginning of two prompts could be used again.
        params.swa_full = True
        # Over the 1,300 tokens of a few-shot prompt it costs a third of the speed here.
        params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
        # After a long prompt most of a token's time goes into products with the keys; in 8 bits
        # they are a tenth cheaper.
        params.cache_type_k = xllamacpp.ggml_type.GGML_TYPE_Q8_0
        params.slot_save_path = f"{settings['states']}/"
        params.ui = False
        params.verbosity = 0
        server = xllamacpp.Server(params)
        print(f"{server.listening_address}/v1", flush=True)
        sys.stdin.read()
        del server
    finally:
        # The parent does this too, unless it was killed.
        shutil.rmtree(settings["states"], ignore_errors=True)


if __name__ == "__main__":
    main()
