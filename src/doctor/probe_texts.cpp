// SPDX-License-Identifier: Apache-2.0
// Psalm 46 and Mark 4 of the King James Bible (copyright expired) are of the chapters
// that train/small.py leaves out; the questions are from train/questions-held-out.txt.
#include "doctor/probe_texts.hpp"

namespace bittern::doctor {

const std::array<std::string_view, kNumPlainTexts>& ProbeTexts() noexcept {
  static constexpr std::array<std::string_view, kNumPlainTexts> kTexts = {
      "God is our refuge and strength, a very present help in trouble. Therefore will not we "
      "fear, though the earth be removed, and though the mountains be carried into the midst "
      "of the sea; Though the waters thereof roar and be troubled, though the mountains shake"
      " with the swelling thereof. Selah. There is a river, the streams whereof shall make "
      "glad the city of God, the holy place of the tabernacles of the most High. God is in "
      "the midst of her; she shall not be moved: God shall help her, and that right early. "
      "The heathen raged, the kingdoms were moved: he uttered his voice, the earth melted. "
      "The LORD of hosts is with us; the God of Jacob is our refuge. Selah. Come, behold the "
      "works of the LORD, what desolations he hath made in the earth. He maketh wars to cease"
      " unto the end of the earth; he breaketh the bow, and cutteth the spear in sunder; he "
      "burneth the chariot in the fire. Be still, and know that I am God: I will be exalted "
      "among the heathen, I will be exalted in the earth. The LORD of hosts is with us; the "
      "God of Jacob is our refuge. Selah.",
      "A ladder is a frame of two long bars joined by steps, by which people climb. A kettle "
      "is a metal pot with a lid and a spout in which water is heated. Dusk is the time of "
      "the evening when the light fades. A bridge is a structure that carries a road over a "
      "river. To borrow is to take something that one means to give back. A quarrel is an "
      "angry dispute between people. Wool is the soft hair of sheep, from which cloth is "
      "made. A harbour is a sheltered place where ships may lie. Narrow means of small width."
      " A tailor is a person who makes clothes. A lantern is a lamp with a case that keeps "
      "the wind away. A riddle is a question that is asked to puzzle others.",
      "The train to the coast leaves at ten past seven every morning, and it is almost always"
      " late. My sister works in the small shop beside the station; she sells newspapers, tea"
      " and warm bread. \"You should have come earlier,\" she said when I opened the door. "
      "\"The bread is gone.\" I told her that I didn't mind, and that I had only come to say "
      "good morning. There are 12 months in a year and 24 hours in a day, but in 2023 it felt"
      " as if there were fewer of both. The water in the harbour was quiet, and two men were "
      "mending a boat."};
  return kTexts;
}

const std::array<std::string_view, kNumPlainTexts>& MoreProbeTexts() noexcept {
  static constexpr std::array<std::string_view, kNumPlainTexts> kTexts = {
      " Hearken; Behold, there went out a sower to sow: And it came to pass, as he sowed, "
      "some fell by the way side, and the fowls of the air came and devoured it up. And some "
      "fell on stony ground, where it had not much earth; and immediately it sprang up, "
      "because it had no depth of earth: But when the sun was up, it was scorched; and "
      "because it had no root, it withered away. And some fell among thorns, and the thorns "
      "grew up, and choked it, and it yielded no fruit. And other fell on good ground, and "
      "did yield fruit that sprang up and increased; and brought forth, some thirty, and some"
      " sixty, and some an hundred. And he said unto them, He that hath ears to hear, let him"
      " hear. And when he was alone, they that were about him with the twelve asked of him "
      "the parable. And he said unto them, Unto you it is given to know the mystery of the "
      "kingdom of God: but unto them that are without, all these things are done in parables:"
      " That seeing they may see, and not perceive; and hearing they may hear, and not "
      "understand; lest at any time they should be converted, and their sins should be "
      "forgiven them. And he said unto them, Know ye not this parable? and how then will ye "
      "know all parables? The sower soweth the word. And these are they by the way side, "
      "where the word is sown; but when they have heard, Satan cometh immediately, and taketh"
      " away the word that was sown in their hearts.",
      " A cellar is a room below a house in which food and wine are stored. An orchard is a "
      "piece of land on which fruit trees grow. To whisper is to speak very softly with the "
      "breath alone. A judge is a public officer who decides cases in a court of law. Honey "
      "is a sweet thick liquid that bees make from the juice of flowers. A wheel is a round "
      "frame that turns about its centre. A thief is a person who steals. Gentle means mild "
      "and kind in manner. A valley is low land between hills, often with a river running "
      "through it. An island is a piece of land with water all around it. A needle is a thin "
      "pointed piece of steel used for sewing. Winter is the coldest season of the year. A "
      "debt is a sum of money that is owed to another person. A shadow is a dark shape that "
      "falls where something keeps the light away. A drum is an instrument that is beaten "
      "with sticks.",
      " In the afternoon it began to rain, so we stayed in the kitchen and talked about the "
      "house that our parents had sold. It had three rooms, a red roof and a garden with an "
      "old apple tree. Nobody knows who lives there now. If you want to find out how a clock "
      "works, you must first take it apart; if you want it to work again, you had better "
      "remember where every piece belongs. He paid for the ticket, put the change in his "
      "pocket and looked for a seat near the window. The doctor told him to drink more water "
      "and to walk for an hour every day. When the children came home from school they were "
      "tired and hungry, and the dog was glad to see them."};
  return kTexts;
}

std::span<const Question> ProbeQuestions() noexcept {
  static constexpr Question kQuestions[] = {
      {"What is the antonym of hard?", "The opposite of hard is soft."},
      {"whats the capital of italy", "The capital of Italy is Rome."},
      {"What is the capital of Canada?", "The capital of Canada is Ottawa."},
      {"is a hammer a tool?", "Yes, a hammer is a tool."},
      {"is a bat a bird?", "No, a bat is not a bird."},
      {"Is a horse a fish?", "No, a horse is not a fish."},
      {"how many minutes are in an hour?", "An hour has sixty minutes."},
      {"how many months in a year", "A year has twelve months."},
      {"What month comes after May?", "June comes after May."},
      {"What is the atomic number of carbon?", "The atomic number of carbon is 6."},
      {"what is the symbol of oxygen", "The symbol of oxygen is O."},
      {"What is Mars?", "Mars is the fourth planet from the sun."},
      {"how many legs does a spider have?", "A spider has eight legs."},
      {"what color is blood", "Blood is red."},
      {"What is another word for happy?", "Another word for happy is glad."},
      {"What's the capital of Spain?", "The capital of Spain is Madrid."},
      {"What is the opposite of black?", "The opposite of black is white."},
      {"What comes after seven?", "Eight comes after seven."},
      {"what is a kilometer?", "A kilometer is a thousand meters."},
      {"is a whale a fish?", "No, a whale is not a fish."},
      {"what does sing mean?", "To sing is to make music with the voice."},
      {"what is football", "Football is a game played by two teams with a ball."}};
  return kQuestions;
}

}  // namespace bittern::doctor
