import { type ClientEvent, eventsOf } from '../../support/gateway-under-test.ts';
import type { Reply } from './errand.ts';

interface Told {
  readonly error?: { readonly type?: string };
  readonly usage?: { readonly completion_tokens?: number; readonly total_tokens?: number };
  readonly choices?: readonly {
    readonly finish_reason?: string;
    readonly message?: { readonly content?: string | null; readonly tool_calls?: readonly unknown[] };
  }[];
}

const shortened = (text: string): string => (text.length > 300 ? `${text.slice(0, 300)}…` : text);

/** An error with its status and envelope. */
export const isRefusal =
  (status: number, ...types: readonly string[]) =>
  (reply: Reply): string | undefined => {
    if (reply.status !== status)
      return `status ${reply.status} instead of ${status}: ${shortened(reply.text)}`;
    const type = told(reply.text)?.error?.type ?? '';
    return types.includes(type) ? undefined : `an error of type '${type}': ${shortened(reply.text)}`;
  };

/** A stream that was begun and told its error, or an error before that. */
export const isBroken = (reply: Reply): string | undefined => {
  if (reply.status !== 200) return isRefusal(502, 'provider_error')(reply);
  const events = readEvents(reply);
  if (typeof events === 'string') return events;
  return events.at(-2)?.json.error?.type === 'provider_error' && events.at(-1)?.data === '[DONE]'
    ? undefined
    : `a broken stream that ends otherwise: ${shortened(reply.text.slice(-300))}`;
};

/** A whole reply or a stream in good order, whose text ends with `answer`; `finish` is its finish reason. */
export const isAnswer =
  (answer: string, finish = 'stop') =>
  (reply: Reply): string | undefined => {
    if (reply.status !== 200) return `status ${reply.status}: ${shortened(reply.text)}`;
    return isStream(reply) ? streamFault(reply, answer, finish) : wholeFault(reply, answer, finish);
  };

/** The completion tokens that a complete reply told at its end. */
export function tokensTold({ text, status, complete }: Reply): number | undefined {
  // Of what a client that left had not read there may be an end all the same.
  if (status !== 200 || !complete || (isStream({ text }) && !text.endsWith('[DONE]\n\n'))) return undefined;
  const last = isStream({ text })
    ? text
        .split('\n\n')
        .at(-3)
        ?.replace(/^data: /, '')
    : text;
  return told(last ?? '')?.usage?.completion_tokens;
}

/** Usage on every chunk, never less than before the last one. */
export function runningFault(reply: Reply): string | undefined {
  const events = readEvents(reply);
  if (typeof events === 'string') return events;
  let before = 0;
  for (const { data, json } of events.slice(0, -2)) {
    const tokens = json.usage?.completion_tokens;
    if (tokens === undefined || tokens < before) return `running usage ${before}, then ${shortened(data)}`;
    before = tokens;
  }
  return undefined;
}

const isStream = ({ text }: { readonly text: string }): boolean => /^(data|:)/.test(text);

function told(text: string): Told | undefined {
  try {
    return JSON.parse(text) as Told;
  } catch {
    return undefined;
  }
}

function readEvents(reply: Reply): readonly ClientEvent[] | string {
  try {
    return eventsOf(reply.text);
  } catch (thrown) {
    return (thrown as Error).message;
  }
}

function wholeFault({ text }: Reply, answer: string, finish: string): string | undefined {
  const { choices, usage } = told(text) ?? {};
  const right = choices?.every(
    ({ message, finish_reason }) => (message?.content ?? '').endsWith(answer) && finish_reason === finish,
  );
  if (!right) return `not the answer that was asked for: ${shortened(text)}`;
  return usage?.total_tokens ? undefined : `a reply without usage: ${shortened(text)}`;
}

function streamFault(reply: Reply, answer: string, finish: string): string | undefined {
  const events = readEvents(reply);
  if (typeof events === 'string') return events;
  const contents: string[] = [];
  for (const { json } of events)
    for (const { index, delta } of json.choices ?? [])
      contents[index] = (contents[index] ?? '') + (delta.content ?? '');
  const last = events.at(-2)?.json;
  if (events.at(-1)?.data !== '[DONE]' || last?.choices?.[0]?.finish_reason !== finish || !last.usage)
    return `a stream that does not end as it should: ${shortened(reply.text.slice(-300))}`;
  const right = contents.length > 0 && contents.every(content => content.endsWith(answer));
  return right ? undefined : `not the answer that was asked for: ${shortened(contents.join(' | '))}`;
}

/** The answer, or a stream of it that broke after its text had begun and said so; nothing else can be done for those. */
export const isAnswerOrCut =
  (answer: string) =>
  (reply: Reply): string | undefined => {
    const wrong = isAnswer(answer)(reply);
    if (!wrong || reply.status !== 200 || !isStream(reply) || isBroken(reply)) return wrong;
    const said = eventsOf(reply.text)
      .flatMap(({ json }) => json.choices ?? [])
      .map(({ delta }) => (delta.reasoning ?? '') + (delta.content ?? ''));
    const content = said.join('');
    return content !== '' && answer.startsWith(content) ? undefined : wrong;
  };

/** Returns a fault unless the request was answered with a 4xx or cut without a reply. */
export const isTurnedAway = ({ status, text }: Reply): string | undefined =>
  status === 0 || (status >= 400 && status < 500) ? undefined : `status ${status}: ${shortened(text)}`;
