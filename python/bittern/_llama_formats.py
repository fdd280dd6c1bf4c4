# SPDX-License-Identifier: Apache-2.0
"""Chat templates under llama-cpp-python's names of formats."""
from __future__ import annotations

from typing import Dict

_CHATML = ("{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}"
           "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}")
_LLAMA_2 = ("{% set ns = namespace(system='') %}{% for message in messages %}"
            "{% if message['role'] == 'system' %}"
            "{% set ns.system = '<<SYS>>\n' + message['content'] + '\n<</SYS>>\n\n' %}"
            "{% elif message['role'] == 'user' %}"
            "{{ bos_token }}[INST] {{ ns.system }}{{ message['content'] }} [/INST]"
            "{% set ns.system = '' %}"
            "{% else %} {{ message['content'] }} {{ eos_token }}{% endif %}{% endfor %}")
_LLAMA_3 = ("{{ bos_token }}{% for message in messages %}<|start_header_id|>{{ message['role'] }}"
            "<|end_header_id|>\n\n{{ message['content'] }}<|eot_id|>{% endfor %}"
            "{% if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>\n\n{% endif %}")

FORMATS: Dict[str, str] = {"chatml": _CHATML, "chatml-function-calling": _CHATML,
                           "llama-2": _LLAMA_2, "llama-3": _LLAMA_3}
