"""llama.cpp's own server for one model, from the package xllamacpp.

    serve.py MODEL.gguf PORT
"""

import sys
import threading

import xllamacpp

WINDOW = 8192

params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.port = int(sys.argv[2])
params.n_ctx = WINDOW
params.n_parallel = 1
# Its own tool calling: the model's template, and llama.cpp's reader.
params.use_jinja = True
params.sampling.temp = 0.0
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
threading.Event().wait()
