import { ok } from 'node:assert/strict';
import { eventsOf } from '../../../support/gateway-under-test.ts';

/** The reply as far as it was received. */
export interface Reply {
  /** 0: nothing came. */
  readonly status: number;
  readonly text: string;
  /** Its end came too. */
  readonly complete: boolean;
  /** What went wrong with the connection, unless it was the client that ended it. */
  readonly fault: string | undefined;
}

/** Throws what is wrong with a reply. */
export type Check = (reply: Reply) => void;

interface ReplyBody {
  readonly error?: { readonly type?: string };
  readonly usage?: { readonly completion_tokens?: number; readonly total_tokens?: number };
  readonly choices?: readonly {
    readonly finish_reason?: string;
    readonly message?: { readonly content?: string | null };
  }[];
}

/** What the check finds wrong, with the beginning and the end of the reply. */
export function faultIn(check: Check | undefined, reply: Reply): string | undefined {
  try {
    check?.(reply);
    return undefined;
  } catch (thrown) {
    const { status, text } = reply;
    const shown = text.length > 600 ? `${text.slice(0, 300)} … ${text.slice(-300)}` : text;
    return `${(thrown as Error).message}; status ${status}: ${shown}`;
  }
}

/** An error with its status and envelope. */
export const isRefusal =
  (status: number, type = 'invalid_request_error'): Check =>
  reply => {
    ok(reply.status === status, `not status ${status}`);
    ok(bodyOf(reply.text).error?.type === type, `not an error of type ${type}`);
  };

/** A reply of the gateway in place of an upstream's that it cannot use. */
export const isInvalid = isRefusal(502, 'provider_error');

/** A stream that began and reported its error, or an error before that. */
export const isBroken: Check = reply => {
  if (reply.status !== 200) return isInvalid(reply);
  const [error, done] = eventsOf(reply.text).slice(-2);
  const ends = error?.json.error?.type === 'provider_error' && done?.data === '[DONE]';
  ok(ends, 'a broken stream without its error at the end');
};

/** A whole reply or a stream in good order, whose text ends with `answer`; `finish` is its finish reason. */
export const isAnswer =
  (answer: string, finish = 'stop'): Check =>
  reply => {
    ok(reply.status === 200, 'not status 200');
    const contents = isStream(reply) ? streamContents(reply, finish) : wholeContents(reply, finish);
    ok(contents.length > 0 && contents.every(text => text.endsWith(answer)), 'not the expected answer');
  };

/** The answer, or a stream of it that broke after its text had begun and reported that: no failover can cover those. */
export const isAnswerOrCut =
  (answer: string): Check =>
  reply => {
    if (reply.status !== 200 || !isStream(reply) || !reply.text.includes('"error":'))
      return isAnswer(answer)(reply);
    isBroken(reply);
    const choices = eventsOf(reply.text).flatMap(({ json }) => json.choices ?? []);
    const text = choices.map(({ delta }) => (delta.reasoning ?? '') + (delta.content ?? '')).join('');
    ok(text !== '' && answer.startsWith(text), 'not the beginning of the expected answer');
  };

/** Usage on every chunk, never less than before the last one. */
export const hasRunningUsage: Check = reply => {
  let before = 0;
  for (const { data, json } of eventsOf(reply.text).slice(0, -2)) {
    const tokens = json.usage?.completion_tokens ?? Number.NaN;
    ok(tokens >= before, `running usage ${before}, then ${data}`);
    before = tokens;
  }
};

/** Answered with a 4xx, or disconnected without a reply. */
export const isRejected: Check = ({ status }) =>
  ok(status === 0 || (status >= 400 && status < 500), 'not rejected');

/** The completion tokens that a complete reply reports at its end. */
export function tokensIn({ text, status, complete }: Reply): number | undefined {
  // What a client that left had not read may have contained the end all the same.
  if (status !== 200 || !complete || (isStream({ text }) && !text.endsWith('[DONE]\n\n'))) return undefined;
  const last = isStream({ text })
    ? text
        .split('\n\n')
        .at(-3)
        ?.replace(/^data: /, '')
    : text;
  return bodyOf(last ?? '').usage?.completion_tokens;
}

const isStream = ({ text }: Pick<Reply, 'text'>): boolean => /^(data|:)/.test(text);

function bodyOf(text: string): ReplyBody {
  try {
    return JSON.parse(text) as ReplyBody;
  } catch {
    return {};
  }
}

function wholeContents({ text }: Reply, finish: string): string[] {
  const { choices = [], usage } = bodyOf(text);
  ok(usage?.total_tokens, 'no usage');
  const isFinished = choices.every(choice => choice.finish_reason === finish);
  ok(isFinished, `not finished with ${finish}`);
  return choices.map(({ message }) => message?.content ?? '');
}

function streamContents({ text }: Reply, finish: string): string[] {
  const events = eventsOf(text);
  const contents: string[] = [];
  for (const { index, delta } of events.flatMap(({ json }) => json.choices ?? []))
    contents[index] = (contents[index] ?? '') + (delta.content ?? '');
  const [last, done] = events.slice(-2);
  const ends = done?.data === '[DONE]' && last?.json.choices?.[0]?.finish_reason === finish;
  ok(ends && last.json.usage, `a stream that does not end with ${finish}, usage and [DONE]`);
  return contents;
}
