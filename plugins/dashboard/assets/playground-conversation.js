import { AnswerCard } from './playground-card.js';
import { node } from './playground-nodes.js';
import { UserTurn } from './playground-user-turn.js';

/** Answers to the same messages: one, or two until one of them is taken on. */
class Round {
  element = node('li', { className: 'round' });
  cards;

  constructor(cards) {
    this.cards = cards;
    this.element.append(...cards.map(card => card.element));
  }

  /** Of two that are not decided on, none. */
  messages() {
    return this.cards.length === 1 ? this.cards[0].answer.messages() : [];
  }
}

/** The turns of a conversation, oldest first, and what is done with them. */
export class Conversation {
  #turns = [];
  #list = document.getElementById('turns');
  #options;
  #asker;

  /** `asker` gives the requests, and hears of changes and ends. */
  constructor(options, asker) {
    this.#options = options;
    this.#asker = asker;
  }

  get isEmpty() {
    return this.#turns.length === 0;
  }

  get isRunning() {
    return this.#cards().some(({ isRunning }) => isRunning);
  }

  /** Whether two answers stand beside each other, one of which is to be taken on. */
  get isUndecided() {
    const { cards = [] } = this.#turns.at(-1) ?? {};
    return cards.length > 1 && cards.some(({ answer }) => answer.messages().length > 0);
  }

  messages() {
    return this.#turns.flatMap(turn => turn.messages());
  }

  addPrompt(text) {
    // A failed answer has nothing to go on with.
    const last = this.#turns.at(-1);
    if (last?.cards && last.messages().length === 0) this.#cut(this.#turns.length - 1);
    this.#add(new UserTurn(text, this));
  }

  /** Asks `slots` models at once. */
  answer(slots) {
    const messages = this.messages();
    const cards = Array.from({ length: slots }, (_, slot) => new AnswerCard(slot, this.#options, this));
    this.#add(new Round(cards));
    for (const card of cards) this.#asker.start(card, messages);
    cards[0].element.scrollIntoView({ block: 'nearest' });
  }

  stop() {
    for (const card of this.#cards()) card.stop();
  }

  clear() {
    this.#cut(0);
    this.#asker.changed();
  }

  changed() {
    this.#asker.changed();
  }

  /** An answer has ended. */
  ended(card) {
    const round = this.#roundOf(card);
    if (round?.cards.length > 1) card.offer(true);
    this.#asker.ended(card);
  }

  taken(card) {
    const round = this.#roundOf(card);
    for (const other of round.cards) if (other !== card) other.remove();
    round.cards = [card];
    card.offer(false);
    this.#asker.changed();
    this.#asker.proceed();
  }

  /** Asks once more: what comes after a prompt or an answer gives way to the new answer. */
  retried(turn) {
    const at = this.#turns.indexOf(this.#roundOf(turn) ?? turn);
    this.#cut(at + 1);
    if (turn instanceof UserTurn) return this.#asker.ask();
    const before = this.#turns.slice(0, at).flatMap(one => one.messages());
    this.#asker.start(turn, before);
  }

  removed(turn) {
    const round = this.#roundOf(turn);
    if (round?.cards.length > 1) return this.taken(round.cards.find(card => card !== turn));
    this.#cut(this.#turns.indexOf(round ?? turn), 1);
    this.#asker.changed();
    this.#asker.proceed();
  }

  #add(turn) {
    this.#turns.push(turn);
    this.#list.append(turn.element);
  }

  #cut(at, count = this.#turns.length) {
    for (const { element, cards = [] } of this.#turns.splice(at, count)) {
      for (const card of cards) card.remove();
      element.remove();
    }
  }

  #cards() {
    return this.#turns.flatMap(({ cards = [] }) => cards);
  }

  #roundOf(card) {
    return this.#turns.find(({ cards }) => cards?.includes(card));
  }
}
