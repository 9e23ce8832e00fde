"""Measures what `RecallMemory` puts before messages that memory has nothing for, and before questions that it answers.

    python -m tests.benchmarks.bench_recall

The memories are the messages of `bfcl/memory.dev.json`, in ADK's in-memory service, and some facts in six languages.
The floor was made while these messages were looked at. Other small talk leaks more.
"""

from __future__ import annotations

import asyncio
import json
import logging

from google.adk.agents import LlmAgent
from google.adk.memory.base_memory_service import SearchMemoryResponse
from google.adk.memory.in_memory_memory_service import InMemoryMemoryService
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.sessions.session import Session
from google.genai import types

from adk_context_pack import RecallMemory
from adk_context_pack.passes.recall_memory import BEGIN
from tests.support.events import user_said
from tests.support.scripted_model import ScriptedModel, recording
from tests.support.shared_data import shared_file

FACTS = {
    "Meine Krankenversicherung ist die Techniker, Mitgliedsnummer M-2291.": "Bei welcher Versicherung bin ich?",
    "Der Termin beim Zahnarzt Dr. Wolff ist am 14. März um 9 Uhr.": "Wann ist der Termin bei Dr. Wolff?",
    "Ma sœur Camille habite à Grenoble et travaille comme infirmière.": "Où habite Camille ?",
    "Nous avons réservé l'hôtel Beaurivage pour les vacances de juillet.": "Quel hôtel avons-nous réservé ?",
    "Mi hipoteca es con el banco Sabadell, al 2,1 % fijo.": "¿Con qué banco tengo la hipoteca?",
    "El perro se llama Bruno y toma pastillas para la alergia.": "¿Qué pastillas toma Bruno?",
    "Il contratto con Telecom scade a settembre.": "Quando scade il contratto Telecom?",
    "Moja siostra Kasia mieszka w Gdańsku.": "Gdzie mieszka Kasia?",
    "我对青霉素过敏。": "我对什么药过敏?",
    "我的护照号码是 E55210987。": "我的护照号码是多少?",
    "妹の結婚式は五月三日に京都であります。": "結婚式はどこですか?",
    "Dad takes metformin for diabetes, 500 mg twice a day.": "Which pills does Dad take for diabetes?",
    "Our mortgage with Halifax ends in 2031.": "When does the mortgage end?",
    "Anna flew to Lisbon with TAP.": "Which airline did Anna use?",
}
UNRELATED = """
Hello|Hi there!|Good morning, how are you today?|What is 2+2?|Thanks a lot, that was very helpful!|Tell me a joke
What's 15% of 80?|How's the weather?|Bye, see you tomorrow|You're great|Guten Morgen!|Wie geht es dir heute?
Danke, das war alles.|Was ist 17 mal 23?|Erzähl mir einen Witz|Bonjour, comment ça va ?|Merci beaucoup, bonne journée
Combien font 12 fois 12 ?|Raconte-moi une blague|Hola, ¿qué tal?|Muchas gracias por tu ayuda|¿Cuánto es 45 más 17?
Buenas noches, hasta mañana|Ciao, come stai?|Grazie mille!|Dzień dobry, co słychać?|Dziękuję bardzo|你好|谢谢你的帮助
今天天气怎么样?|こんにちは、元気ですか?
ありがとうございます|1024 / 16 = ?|Calculate the square root of 144|Ok, cool.
lol that's funny|I'm bored|Good night!|Can you help me?|What can you do?|Who are you?|What time is it?|Never mind
Write a haiku about autumn|What is the capital of France?|Please repeat that.|Yes please|No, that's fine, thank you
Happy new year!|Sorry, I was away for a minute
Hey, long time no see|Good afternoon to you|Much appreciated, have a nice weekend!|What does 9 times 8 make?|7*6
How many is 1200 divided by 25?|Do you like music?|Are you a robot?|That's awesome, you rock|Nice talking to you
I am so tired today|Let's start over|Hmm, let me think about it|What's up?|Sing me a song|Do you dream?
Hallo, schön dich zu sehen|Vielen Dank für deine Mühe|Wie viel ist 300 geteilt durch 12?|Schönes Wochenende!
Bist du ein Mensch?|Wie wird das Wetter morgen?|Salut, quoi de neuf ?|Je te remercie infiniment|Tu es un robot ?
Quelle heure est-il ?|Combien font 1000 moins 250 ?|Buenos días, ¿cómo estás?|Mil gracias, eres un sol|¿Qué hora es?
Cuéntame algo divertido|¿Cuánto son 8 por 9?|Buonasera, tutto bene?|Quanto fa 50 diviso 4?|Che tempo fa oggi?
Olá, tudo bem?|Muito obrigado pela ajuda|Goedemiddag, hoe gaat het met je?|Dank je wel!|Cześć, jak się masz?
Ile to jest 6 razy 7?|早上好,你吃饭了吗?|三加五等于几?|讲个笑话吧
おはようございます|今何時ですか?
안녕하세요, 잘 지내셨어요?|감사합니다|สวัสดีครับ สบายดีไหม|Привет, как дела?|Большое спасибо!
What's the meaning of life?|Translate 'cat' to Spanish|See you on Monday|Alles gut, kein Problem|Quel jour sommes-nous ?
""".strip().replace("\n", "|").split("|")  # fmt: skip


async def blocks_before(memory: InMemoryMemoryService, message: str) -> str:
    """Returns what the pass puts before a message."""
    sessions = InMemorySessionService()
    session = await sessions.create_session(app_name="app", user_id="user")
    agent = LlmAgent(name="a", model=ScriptedModel(answer=lambda _: "ok"), before_model_callback=[RecallMemory()])
    runner = Runner(app_name="app", agent=agent, session_service=sessions, memory_service=memory)
    with recording() as requests:
        async for _ in runner.run_async(user_id="user", session_id=session.id, new_message=types.UserContent(message)):
            pass
    texts = [part.text or "" for content in requests[-1].contents for part in content.parts or ()]
    return "\n".join(text for text in texts if BEGIN in text)


class Everything(InMemoryMemoryService):
    """Answers with all memories, as a service that finds by meaning may."""

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> object:
        """Returns all memories of the user."""
        entries = [MemoryEntry(content=types.UserContent(text), author="user") for text in self.texts]
        return SearchMemoryResponse(memories=entries)


async def main() -> None:
    """Prints how many messages get a passage, and how many questions get their answer."""
    logging.disable(logging.WARNING)
    data = json.loads(shared_file("bfcl/memory.dev.json").read_text(encoding="utf-8"))
    for kind in (InMemoryMemoryService, Everything):
        for name, part in (data | {"facts": {"messages": list(FACTS), "questions": []}}).items():
            memory = kind()
            memory.texts = part["messages"]
            session = Session(id="old", app_name="app", user_id="user")
            session.events = [user_said(text) for text in part["messages"]]
            await memory.add_session_to_memory(session)
            given = [message for message in UNRELATED if await blocks_before(memory, message)]
            questions = [(each["question"], each["answers"]) for each in part["questions"]]
            if name == "facts":
                questions = [(question, [fact]) for fact, question in FACTS.items()]
            lost = []
            for question, answers in questions:
                block = (await blocks_before(memory, question)).casefold()
                if not any(answer.casefold() in block for answer in answers):
                    lost.append(question)
            print(
                f"{kind.__name__}, {name}: a passage before {len(given)} of {len(UNRELATED)} unrelated messages,"
                f" {len(questions) - len(lost)} of {len(questions)} answers"
            )


if __name__ == "__main__":
    asyncio.run(main())
