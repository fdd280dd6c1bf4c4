# SPDX-License-Identifier: Apache-2.0
"""Unmodified Python clients against `bittern serve`: chat, stream, functions, a schema. The packages and their versions stand
in requirements.txt; run.sh makes an environment of them.

usage: clients.py BITTERN
"""
import enum
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import typing
import unittest

import pydantic

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from serve_client import Server  # noqa: E402

BITTERN = sys.argv.pop(1)
for name in ("LITELLM_LOCAL_MODEL_COST_MAP", "LANGSMITH_TRACING", "DO_NOT_TRACK"):
    os.environ[name] = "true" if name != "LANGSMITH_TRACING" else "false"
USER = [{"role": "user", "content": "What is a tern?"}]


class City(str, enum.Enum):
    oslo = "Oslo"
    rome = "Rome"


class Trip(pydantic.BaseModel):
    city: City
    days: typing.Literal[1, 2, 3]


PARAMETERS = {"type": "object", "properties": {"city": {"enum": ["Oslo", "Rome"]}, "days": {"type": "integer", "minimum": 1, "maximum": 3}},
              "required": ["city", "days"], "additionalProperties": False}
TOOL = {"type": "function", "function": {"name": "weather", "description": "The weather", "parameters": PARAMETERS}}


class Clients(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(BITTERN, "-np", "4", "-c", "4096")
        cls.url = f"http://127.0.0.1:{cls.server.port}"

    @classmethod
    def tearDownClass(cls):
        code = cls.server.stop()
        for line in cls.server.output().splitlines():
            if " 4" in line and "POST" in line:
                print("log:", line, file=sys.stderr)
        assert code == 0

    def check_trip(self, trip):
        trip = trip if isinstance(trip, dict) else json.loads(trip) if isinstance(trip, str) else trip.model_dump(mode="json")
        self.assertIn(trip["city"], ("Oslo", "Rome"))
        self.assertIn(trip["days"], (1, 2, 3))

    def test_openai(self):
        import openai
        client = openai.OpenAI(base_url=self.url + "/v1", api_key="x", max_retries=0)
        ask = {"model": "x", "messages": USER, "max_tokens": 60, "seed": 1}
        whole = client.chat.completions.create(**ask).choices[0].message.content
        parts = [chunk.choices[0].delta.content or "" for chunk in client.chat.completions.create(**ask, stream=True) if chunk.choices]
        self.assertEqual("".join(parts), whole)
        call = client.chat.completions.create(**ask, tools=[TOOL], tool_choice="required").choices[0].message.tool_calls[0]
        self.check_trip(call.function.arguments)
        self.check_trip(client.chat.completions.parse(**ask, response_format=Trip).choices[0].message.parsed)
        both = client.chat.completions.create(**ask, tools=[openai.pydantic_function_tool(Trip)], response_format={
            "type": "json_schema", "json_schema": {"name": "t", "schema": PARAMETERS, "strict": True}}).choices[0].message
        self.check_trip(both.content if both.content else both.tool_calls[0].function.arguments)
        answer = client.responses.create(model="x", input="Hello", max_output_tokens=20)
        self.assertTrue(answer.output_text)
        self.check_trip(client.responses.parse(model="x", input="Hello", text_format=Trip, max_output_tokens=40).output_parsed)
        with client.responses.stream(model="x", input="Hello", max_output_tokens=20) as stream:
            self.assertTrue("".join(e.delta for e in stream if e.type == "response.output_text.delta"))
        self.assertEqual(len(client.completions.create(model="x", prompt="A tern", max_tokens=5, logprobs=1).choices[0].logprobs.tokens), 5)

    def test_vectors(self):
        import langchain_openai
        import ollama
        import openai
        texts = ["a small bird", "a large bird", "the sea"]
        asked = openai.OpenAI(base_url=self.url + "/v1", api_key="x", max_retries=0).embeddings.create(model="x", input=texts)
        self.assertEqual([one.index for one in asked.data], [0, 1, 2])
        vectors = [one.embedding for one in asked.data]
        for vector in vectors:
            self.assertAlmostEqual(sum(value * value for value in vector), 1, 5)
        for one, other in zip(vectors, ollama.Client(host=self.url).embed(model="x", input=texts).embeddings):
            self.assertLess(max(abs(a - b) for a, b in zip(one, other)), 1e-7)
        # Without that argument it sends the ids of OpenAI's own vocabulary.
        chain = langchain_openai.OpenAIEmbeddings(base_url=self.url + "/v1", api_key="x", model="x", check_embedding_ctx_length=False)
        self.assertEqual(len(chain.embed_documents(texts)), 3)

    def test_anthropic(self):
        import anthropic
        client = anthropic.Anthropic(base_url=self.url, api_key="x", max_retries=0)
        ask = {"model": "x", "messages": USER, "max_tokens": 60}
        whole = client.messages.create(**ask, extra_body={"temperature": 0}).content[0].text
        with client.messages.stream(**ask, extra_body={"temperature": 0}) as stream:
            self.assertEqual("".join(stream.text_stream), whole)
        tool = {"name": "weather", "input_schema": PARAMETERS}
        for more in ({}, {"cache_control": {"type": "ephemeral"}}):
            message = client.messages.create(**ask, tools=[{**tool, **more}], tool_choice={"type": "any"})
            self.check_trip(message.content[0].input)
        result = [*USER, {"role": "assistant", "content": message.content},
                  {"role": "user", "content": [{"type": "tool_result", "tool_use_id": message.content[0].id, "content": "rain"}]}]
        self.assertTrue(client.messages.create(model="x", max_tokens=20, tools=[tool], messages=result).content)
        self.assertTrue(client.messages.count_tokens(model="x", messages=USER).input_tokens)
        begun = [*USER, {"role": "assistant", "content": "A tern is a small slender"}]
        self.assertTrue(client.messages.create(model="x", max_tokens=10, messages=begun).content[0].text)

        @anthropic.beta_tool
        def weather(city: typing.Literal["Oslo", "Rome"]) -> str:
            """The weather.

            Args:
                city: A city.
            """
            return f"rain in {city}"

        runner = client.beta.messages.tool_runner(model="x", max_tokens=60, tools=[weather], messages=USER, max_iterations=2)
        self.assertTrue(runner.until_done().content)

    def test_ollama(self):
        import ollama
        client = ollama.Client(host=self.url)
        ask = {"model": client.list().models[0].model, "messages": USER, "options": {"num_predict": 60, "seed": 1}}
        whole = client.chat(**ask).message.content
        self.assertEqual("".join(part.message.content for part in client.chat(**ask, stream=True)), whole)
        self.check_trip(client.chat(**ask, format=Trip.model_json_schema()).message.content)
        self.assertTrue(client.chat(**ask, tools=[TOOL]).message)
        self.assertTrue(client.generate(model="x", prompt="A tern is", options={"num_predict": 9}).response)
        self.assertTrue(client.show("x").modelinfo)

    def test_langchain(self):
        import langchain_anthropic
        import langchain_ollama
        import langchain_openai
        from langchain.agents import create_agent
        models = {
            "openai": langchain_openai.ChatOpenAI(base_url=self.url + "/v1", api_key="x", model="x", max_tokens=60, max_retries=0),
            "responses": langchain_openai.ChatOpenAI(base_url=self.url + "/v1", api_key="x", model="x", max_tokens=60, use_responses_api=True),
            "anthropic": langchain_anthropic.ChatAnthropic(base_url=self.url, api_key="x", model="x", max_tokens=60, max_retries=0),
            "ollama": langchain_ollama.ChatOllama(base_url=self.url, model="x", num_predict=60),
        }

        def weather(city: typing.Literal["Oslo", "Rome"]) -> str:
            """The weather of a city."""
            return f"rain in {city}"

        for name, model in models.items():
            with self.subTest(name):
                self.assertTrue(model.invoke("What is a tern?").content)
                self.assertTrue(list(model.stream("What is a tern?")))
                self.assertTrue(model.bind_tools([weather]).invoke("What is the weather in Oslo?"))
                method = {} if name == "anthropic" else {"method": "json_schema"}
                self.check_trip(model.with_structured_output(Trip, **method).invoke("A trip"))
                agent = create_agent(model, [weather])
                state = agent.invoke({"messages": [{"role": "user", "content": "Hello"}]}, {"recursion_limit": 8})
                self.assertTrue(state["messages"])

    def test_litellm(self):
        import litellm
        litellm.suppress_debug_info = True
        for model, base in (("openai/x", self.url + "/v1"), ("anthropic/x", self.url), ("ollama_chat/x", self.url)):
            with self.subTest(model):
                ask = {"model": model, "api_base": base, "api_key": "x", "messages": USER, "max_tokens": 60, "num_retries": 0}
                self.assertTrue(litellm.completion(**ask).choices[0].message.content)
                self.assertTrue("".join(c.choices[0].delta.content or "" for c in litellm.completion(**ask, stream=True)))
                call = litellm.completion(**ask, tools=[TOOL], tool_choice="required" if model != "ollama_chat/x" else "auto").choices[0].message
                if call.tool_calls:
                    self.check_trip(call.tool_calls[0].function.arguments)

    def test_llama_index(self):
        from llama_index.core.llms import ChatMessage
        from llama_index.core.tools import FunctionTool
        from llama_index.llms.ollama import Ollama
        from llama_index.llms.openai_like import OpenAILike

        def weather(city: typing.Literal["Oslo", "Rome"]) -> str:
            """The weather of a city."""
            return f"rain in {city}"

        for name, model in (("openai", OpenAILike(model="x", api_base=self.url + "/v1", api_key="x", is_chat_model=True, max_tokens=60,
                                                 is_function_calling_model=True, max_retries=0)),
                            ("ollama", Ollama(model="x", base_url=self.url, additional_kwargs={"num_predict": 60}, context_window=4096))):
            with self.subTest(name):
                self.assertTrue(model.chat([ChatMessage(role="user", content="What is a tern?")]).message)
                self.assertTrue(list(model.stream_chat([ChatMessage(role="user", content="What is a tern?")])))
                tools = [FunctionTool.from_defaults(weather)]
                self.assertTrue(model.chat_with_tools(tools, user_msg="The weather in Oslo?", tool_required=name == "openai"))
        self.check_trip(model.as_structured_llm(Trip).complete("A trip").raw)

    def test_instructor(self):
        import instructor
        import openai
        client = openai.OpenAI(base_url=self.url + "/v1", api_key="x", max_retries=0)
        for mode in (instructor.Mode.TOOLS, instructor.Mode.JSON_SCHEMA, instructor.Mode.TOOLS_STRICT):
            with self.subTest(mode):
                trip = instructor.from_openai(client, mode=mode).chat.completions.create(
                    model="x", messages=USER, response_model=Trip, max_tokens=60, max_retries=0)
                self.check_trip(trip)

    def test_lm_eval(self):
        """A task of two questions from a file, by log-likelihoods and by generation."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            (path / "data.jsonl").write_text("".join(json.dumps({"q": f"A {word} is", "a": " a bird", "b": " a stone"}) + "\n"
                                                     for word in ("tern", "gull")))
            head = f"dataset_path: json\ndataset_kwargs: {{data_files: {path}/data.jsonl}}\ntest_split: train\ndoc_to_text: '{{{{q}}}}'\n"
            (path / "choice.yaml").write_text(
                "task: t_choice\noutput_type: multiple_choice\n" + head + "doc_to_choice: ['{{a}}', '{{b}}']\ndoc_to_target: 0\n"
                "metric_list: [{metric: acc, aggregation: mean, higher_is_better: true}]\n")
            (path / "words.yaml").write_text(
                "task: t_words\noutput_type: generate_until\n" + head + "doc_to_target: '{{a}}'\n"
                "generation_kwargs: {until: ['.'], max_gen_toks: 12}\n"
                "metric_list: [{metric: exact_match, aggregation: mean, higher_is_better: true}]\n")
            for kind, url, task in (("local-completions", "/v1/completions", "t_choice"), ("local-completions", "/v1/completions", "t_words"),
                                    ("local-chat-completions", "/v1/chat/completions", "t_words")):
                with self.subTest((kind, task)):
                    command = [sys.executable, "-m", "lm_eval", "--model", kind, "--tasks", task, "--include_path", folder, "--model_args",
                               f"model=x,base_url={self.url}{url},num_concurrent=2,max_retries=1"]
                    if kind != "local-completions":
                        command.append("--apply_chat_template")
                    run = subprocess.run(command, capture_output=True, text=True, check=False, env={
                        **os.environ, "HF_HUB_OFFLINE": "1", "OPENAI_API_KEY": "x", "HF_DATASETS_CACHE": folder})
                    self.assertEqual(run.returncode, 0, run.stderr[-1500:])
                    self.assertIn(task, run.stdout)


if __name__ == "__main__":
    unittest.main()
