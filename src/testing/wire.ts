/** A stream as a server sends it, to run stages over. */
export interface StreamFixture {
  /** kebab-case; named in every message. */
  readonly name: string;
  /** What is special about it, and whose habit it is. */
  readonly about: string;
  /** Server-sent events in OpenAI's format, with their line ends. */
  readonly wire: string;
}

type Json = Readonly<Record<string, unknown>>;

const envelope = { id: 'chatcmpl-7Yk', object: 'chat.completion.chunk', created: 1795132800, model: 'm' };

/** The line of one chunk. `more` are fields beside `choices`. */
export const line = (choices: readonly Json[], more: Json = {}): string =>
  `data: ${JSON.stringify({ ...envelope, choices, ...more })}`;

/** The line of a chunk with one delta. `more` are fields of the choice. */
export const delta = (value: Json, more: Json = {}): string =>
  line([{ index: 0, delta: value, finish_reason: null, ...more }]);

/** The line of the chunk that ends a choice. */
export const finish = (finish_reason: string, index = 0): string =>
  line([{ index, delta: {}, finish_reason }]);

/** The line of the first chunk, as OpenAI and vLLM send it. */
export const role = (index = 0): string =>
  line([{ index, delta: { role: 'assistant', content: '' }, finish_reason: null }]);

export const done = 'data: [DONE]';

/** Events with their blank lines. */
export const wireOf = (events: readonly string[], lineEnd = '\n'): string =>
  events.map(event => `${event}${lineEnd}${lineEnd}`).join('');

/** A fixture of these events and `[DONE]`. */
export const fixture = (name: string, about: string, ...events: string[]): StreamFixture => ({
  name,
  about,
  wire: wireOf([...events, done]),
});

/** One choice's stream: a role chunk, these texts, its end. */
export const textFixture = (
  name: string,
  about: string,
  texts: readonly string[],
  finish_reason = 'stop',
): StreamFixture =>
  fixture(name, about, role(), ...texts.map(content => delta({ content })), finish(finish_reason));
