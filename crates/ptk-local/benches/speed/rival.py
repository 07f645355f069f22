"""Answers with llama-cpp-python: a line of JSON in, one out."""

import json
import sys
import time

import llama_cpp
from llama_cpp.llama_chat_format import Jinja2ChatFormatter

file, window, threads, reply = sys.argv[1], *map(int, sys.argv[2:])
model = llama_cpp.Llama(
    model_path=file, n_ctx=window, n_threads=threads, n_threads_batch=threads, verbose=False
)
template = Jinja2ChatFormatter(
    template=model.metadata["tokenizer.chat_template"], bos_token="", eos_token=""
)


def now():
    return time.perf_counter(), time.process_time()


def took(tokens, begin, end):
    return {"tokens": tokens, "clock": end[0] - begin[0], "cpu": end[1] - begin[1]}


def answer(prompt, grammar):
    grammar = grammar and llama_cpp.LlamaGrammar.from_string(grammar, verbose=False)
    model.reset()
    begin = now()
    messages = [{"role": "system", "content": ""}, {"role": "user", "content": prompt}]
    text = template(messages=messages).prompt
    tokens = model.tokenize(text.encode(), add_bos=False, special=True)
    first, count = None, 0
    for token in model.generate(tokens, temp=0.0, grammar=grammar):
        if llama_cpp.llama_vocab_is_eog(llama_cpp.llama_model_get_vocab(model.model), token):
            break
        model.detokenize([token])
        first = first or now()
        count += 1
        if count == reply:
            break
    return {
        "reading": took(len(tokens), begin, first),
        "writing": took(count - 1, first, now()),
    }


for line in sys.stdin:
    asked = json.loads(line)
    print(json.dumps(answer(asked["prompt"], asked["grammar"])), flush=True)
