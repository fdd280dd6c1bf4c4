# SPDX-License-Identifier: Apache-2.0
"""How people ask for a word: {w} the word, {a} with its article, {p} its plural. All lower case,
because the chat template makes questions so; talk.py adds punctuation and noise.
"""
NOUN = (["what is {a}"] * 12 + ["{w}"] * 9 + ["what is {w}"] * 3 + ["define {w}"] * 4 + ["{p}"] * 3
        + ["what are {p}"] * 4 + ["what does {w} mean"] * 4 + ["what's {a}"] * 2 + [
    "define: {w}", "define:{w}", "meaning:{w}", "teh {w}", "explain {a} to a child", "explain {w} to a five year old",
    "define {a}", "define \"{w}\"", "definition of {w}", "{w} definition", "{w}: definition",
    "definition: {w}", "{w} meaning", "meaning of {w}", "meaning: {w}", "the meaning of {w}", "{w} means",
    "what is the meaning of {w}", "what's the meaning of {w}", "what is the definition of {w}",
    "what is the meaning of the word {w}", "give me the definition of {w}", "give me the meaning of {w}",
    "simple definition of {w}", "short definition of {w}", "definition for {w}", "explain {w}",
    "explain {a}", "explain what {a} is", "explain to me what {a} is", "please explain {w}",
    "can you explain {w}", "can you explain what {a} is", "explain the word {w}", "explain {w} to me",
    "explain {w} in simple words", "explain {w} like i am five", "{w} in simple words", "describe {a}",
    "describe {w}", "describe {a} to me", "tell me what {a} is", "tell me what {w} is",
    "tell me what {w} means", "tell me about {w}", "tell me about {p}", "tell me about {a}",
    "tell me something about {p}", "tell me everything about {p}", "{a}", "the {w}", "what's {w}",
    "whats {a}", "whats {w}", "what {w} is", "what {a} is", "what is the {w}", "what is {p}",
    "what exactly is {a}", "what is {a} exactly", "what is {a}, exactly", "so what is {a}", "and what is {a}",
    "what does the word {w} mean", "what does \"{w}\" mean", "what does '{w}' mean", "what is \"{w}\"",
    "what is '{w}'", "what is a \"{w}\"", "what is “{w}”", "what means {w}", "what does {w} stand for",
    "what does {a} mean", "what do {p} mean", "\"{w}\"", "'{w}'", "“{w}”", "({w})", "*{w}*", "`{w}`",
    "do you know what {a} is", "do you know what {w} means", "do you know {w}", "do you know the word {w}",
    "do you know {p}", "know what {a} is", "have you heard of {p}", "have you ever heard of {a}",
    "can you tell me what {a} is", "can you tell me what {w} means", "could you tell me what {a} is",
    "can you define {w}", "could you define {w}", "please define {w}", "can you describe {a}",
    "what do you know about {p}", "what do you know about {w}", "what can you tell me about {p}",
    "i want to know what {a} is", "i would like to know what {a} is", "i need the definition of {w}",
    "i don't know what {a} is", "i do not know what {w} means", "i wonder what {a} is", "i forgot what {a} is",
    "i want to know about {p}", "what in the world is {a}", "what the heck is {a}", "what on earth is {a}",
    "information about {p}", "info on {w}", "look up {w}", "look up the word {w}", "search {w}",
    "dictionary {w}", "word: {w}", "the word {w}", "the word \"{w}\"", "what about {a}", "about {p}",
    "{w}, what is that", "{w} - what is that", "{w} what is it", "{a} is", "{a} is what", "is {a} what",
    "what r {p}", "wat is {a}", "who or what is {a}", "what would you call {a}",
    "what do you mean by {w}", "what is meant by {w}", "what's a {w}", "whats a {w}", "what is a {w}",
    "what is an {w}", "how do you define {w}", "how would you describe {a}", "how would you explain {w}",
    "my teacher asked what {a} is", "a child asked me what {a} is", "{w} ...", "what is {w} in english",
    "what is this {w}", "what are the {p}", "can you tell me about {p}", "teach me about {p}",
    "in one sentence, what is {a}", "what is {a} in one sentence", "give me a definition of {a}",
    "{w} explained", "{w} please", "hello, what is {a}", "hi, what is {a}", "hey what is {a}"])
PERSON = ["who is {a}", "who are {p}", "what does {a} do", "what do {p} do", "who is called {a}"]
VERB = (["what does it mean to {w}"] * 4 + ["what does to {w} mean"] * 2 + ["to {w}"] * 3
        + ["define to {w}", "to {w} meaning", "what is to {w}", "meaning of to {w}", "explain to {w}",
           "what does \"to {w}\" mean", "what does it mean when you {w}", "what does it mean to {w} something",
           "explain what it means to {w}", "tell me what to {w} means", "definition of to {w}",
           "the verb {w}", "{w} (verb)", "what does the verb {w} mean", "what does the verb to {w} mean",
           "what do you do when you {w}", "what does someone who {s} do"])
ING = ["what is {g}"] * 5 + ["{g}"] * 4 + [
    "define {g}", "what does {g} mean", "meaning of {g}", "explain {g}", "{g} meaning", "tell me about {g}",
    "what is \"{g}\"", "what's {g}", "definition of {g}", "what does it mean to be {g}"]
INFLECTED = ["what does {g} mean"] * 4 + ["{g}"] * 4 + [
    "define {g}", "meaning of {g}", "explain {g}", "what is {g}", "{g} meaning", "what does \"{g}\" mean",
    "definition of {g}", "what does the word {g} mean"]
OTHER = (["what does {w} mean"] * 8 + ["{w}"] * 8 + ["define {w}"] * 4 + ["what is {w}"] * 4
         + ["meaning of {w}"] * 2 + [
    "{w} meaning", "{w} means", "explain {w}", "explain the word {w}", "can you explain {w}", "define: {w}",
    "what does \"{w}\" mean", "what does '{w}' mean", "definition of {w}", "{w} definition", "what is \"{w}\"",
    "what does the word {w} mean", "what does the word \"{w}\" mean", "what is the meaning of {w}",
    "what is the definition of {w}", "what's the meaning of {w}", "what's {w}", "whats {w}", "\"{w}\"",
    "'{w}'", "“{w}”", "tell me what {w} means", "do you know what {w} means", "do you know the word {w}",
    "can you tell me what {w} means", "please define {w}", "can you define {w}", "could you define {w}",
    "give me the definition of {w}", "i don't know what {w} means", "what means {w}", "the word {w}",
    "word: {w}", "look up {w}", "what do you mean by {w}", "{w} in simple words", "how do you define {w}",
    "what is meant by {w}", "describe {w}", "what exactly does {w} mean", "so what does {w} mean",
    "what does {w} mean exactly", "what does {w} mean in english", "tell me about {w}", "{w} please"])
ADJ = ["what does it mean to be {w}", "what does it mean if something is {w}", "what does being {w} mean",
       "what is something {w}", "when is something {w}", "what does it mean when someone is {w}"]
WRONG = ["opposite of {w}", "what is the opposite of {w}", "synonym for {w}", "what is the capital of {w}",
         "capital of {w}", "is {a} an animal", "what is the symbol for {w}", "another word for {w}",
         "parts of {a}", "is {a} a bird", "is {a} a plant", "how many legs does {a} have", "is {a} a tool",
         "use {w} in a sentence", "what color is {a}", "plural of {w}", "where is {w}", "is {w} a color",
         "what kind of animal is {a}", "name three {p}"]
MORE = ["tell me more", "more", "more about it", "tell me more about it", "what else", "anything else", "go on",
        "tell me more about that", "and", "say more", "continue", "what else do you know about it",
        "more please", "please tell me more", "more info", "keep going", "what more do you know"]
AGAIN = ["what is it", "what is that", "what is this", "what was that", "what is it again", "say that again",
         "repeat that", "repeat", "again", "what did you say", "once more", "define it", "what does it mean",
         "what does that mean", "what does this mean", "explain it", "explain that", "come again"]
EXAMPLE = ["use it in a sentence", "give me an example", "an example", "example", "for example",
           "make a sentence with it", "use that in a sentence", "in a sentence", "example sentence",
           "give me an example sentence", "use the word in a sentence", "can you use it in a sentence",
           "show me an example", "use it"]
UNKNOWN = ["is it dangerous", "is it big", "is it small", "why", "how", "where does it live", "where can i buy it",
           "how much is it", "is it good", "do you like it", "how old is it", "can i eat it", "who invented it",
           "how does it work", "what does it look like", "how big is it", "is it expensive",
           "what is it for", "how do you make it", "how is it made", "is it fast", "can it fly", "does it bite",
           "is it safe", "when was it invented", "can you draw it", "is it real", "how do you spell it",
           "where does it come from", "what does it eat", "how long does it live", "who made it",
           "what is it made of", "can you eat it", "is it healthy", "how heavy is it", "how fast is it",
           "can it swim", "does it have wings", "does it have teeth", "is it alive", "is it cold", "is it hot",
           "where can i find it", "how many are there", "who uses it", "why is it called that", "is it blue",
           "do i need it", "can i have one", "can you buy it", "does it make noise", "what sound does it make",
           "is it old", "is it useful", "how do i use it", "can i see it", "does it sleep", "is it free",
           "how tall is it", "what is it used for", "how long is it", "who has one", "is it bad", "is it true"]
HOW_NOT = ["why", "how so", "why not", "tell me more", "more", "what else", "and", "what does it mean",
           "is it an animal", "how many legs does it have", "what color is it", "what is it", "is it big",
           "use it in a sentence", "what is its symbol", "where is it", "is it a plant", "explain it"]
