/** A stream as a server sends it, to run stages over. */
export interface StreamFixture {
  /** kebab-case; named in every message. */
  readonly name: string;
  /** What is special about it, and which servers send it. */
  readonly about: string;
  /** Server-sent events in OpenAI's format, with their line ends. */
  readonly wire: string;
}

type Json = Readonly<Record<string, unknown>>;

/** A line as it is sent, or the one choice of a chunk: the fields of its delta, beside `index`, `finish_reason` and `logprobs`. */
type Event = string | Json;

/** Streams by name: what is special about each, then its events. */
type Streams = Readonly<Record<string, readonly [about: string, ...(Event | readonly Event[])[]]>>;

const envelope = { id: 'chatcmpl-7Yk', object: 'chat.completion.chunk', created: 1795132800, model: 'm' };

/** The line of a chunk with these choices. `more` are fields beside `choices`. */
export function line(choices: readonly Json[], more: Json = {}): string {
  const sent = choices.map(({ index = 0, finish_reason = null, logprobs, ...delta }) => ({
    index,
    delta,
    finish_reason,
    logprobs,
  }));
  return `data: ${JSON.stringify({ ...envelope, choices: sent, ...more })}`;
}

/** The first chunk, as OpenAI and vLLM send it. */
export const role = { role: 'assistant', content: '' };
/** The chunk that ends a choice. */
export const stop = { finish_reason: 'stop' };
export const done = 'data: [DONE]';

/** A chunk for each piece of content. */
export const content = (...pieces: string[]): Json[] => pieces.map(piece => ({ content: piece }));

/** A chunk for each piece of reasoning. */
export const reasoning = (...pieces: string[]): Json[] => pieces.map(piece => ({ reasoning: piece }));

/** Events with their blank lines. */
export const wireOf = (events: readonly Event[], lineEnd = '\n'): string =>
  events.map(event => `${typeof event === 'string' ? event : line([event])}${lineEnd}${lineEnd}`).join('');

/** A fixture of each stream, with `[DONE]` at its end. */
export const fixtures = (streams: Streams): StreamFixture[] =>
  Object.entries(streams).map(([name, [about, ...events]]) => ({
    name,
    about,
    wire: wireOf([...events.flat(), done]),
  }));

/** The same for the events between the role chunk and the finish reason `stop`. */
export const answers = (streams: Streams): StreamFixture[] =>
  Object.entries(streams).flatMap(([name, [about, ...events]]) =>
    fixtures({ [name]: [about, role, ...events, stop] }),
  );
