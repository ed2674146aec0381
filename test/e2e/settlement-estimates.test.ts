import { afterEach, describe, expect, it } from '@jest/globals';
import { countTokens, decode, encode } from 'gpt-tokenizer/encoding/o200k_base';
import { estimateTexts } from '../support/estimate-texts.ts';
import { completion, finished, said } from '../support/hostile-setting.ts';
import { events, streamed, whole } from '../support/scripted-upstream.ts';
import { closeBalanced, openBooks } from '../support/settlement.ts';
import { doneSeen, expectNear } from '../support/settlement-answer.ts';

afterEach(closeBalanced);

const texts = (['English', 'TypeScript', 'Russian', 'Chinese'] as const).map(
  name => estimateTexts[name]![0]!,
);
const english = texts[0]!;

/** Pieces that are tokens, as those of inference servers are; those whose bytes end within a character go together. */
function tokensOf(text: string): string[] {
  const pieces: string[] = [];
  let pending: number[] = [];
  for (const token of encode(text)) {
    pending.push(token);
    const piece = decode(pending);
    if (piece.includes('\uFFFD')) continue;
    pieces.push(piece);
    pending = [];
  }
  return pieces;
}

const open = (estimator: 'characters' | 'gpt-tokenizer') =>
  openBooks({ adapter: 'openai', config: { usage: { estimator } } });
const unbilled = (text: string) => whole(200, completion(text, {}, { usage: undefined }));
const inTokens = (text: string) => streamed(events(...tokensOf(text).map(said), finished(), '[DONE]'));

it.each([
  ['characters', false],
  ['characters', true],
  ['gpt-tokenizer', false],
  ['gpt-tokenizer', true],
] as const)(
  'the estimator %s bills and tells within 15 %% what an upstream without usage has generated, stream: %s',
  async (estimator, stream) => {
    const books = await open(estimator);
    for (const text of texts) {
      books.upstream.reply(stream ? inTokens(text) : unbilled(text));
      const asked = books.ask({ stream, messages: [{ role: 'user', content: text }] });
      await asked.connection.received(stream ? doneSeen : /\}$/);
      const { usage } = await asked.settled();
      expect(usage).toMatchObject({ cached_tokens: 0, estimated: true });
      expectNear(usage.completion_tokens, countTokens(text));
      expectNear(usage.prompt_tokens, countTokens(text) + 4);
      if (estimator === 'gpt-tokenizer') expect(usage.completion_tokens).toBe(countTokens(text));
      expect(asked.connection.text).toContain(`"completion_tokens":${usage.completion_tokens},`);
    }
  },
);

describe('the estimator gpt-tokenizer', () => {
  it('counts what was sent to a client that leaves', async () => {
    const books = await open('gpt-tokenizer');
    const pieces = [...tokensOf(english).slice(0, 99), ' number99'];
    books.upstream.reply(streamed(events(...pieces.map(said))).subarray(0, -5));
    const asked = books.ask({ stream: true });
    await asked.connection.received(/" number99"/);
    asked.connection.destroy();
    const { usage, end_reason } = await asked.settled();
    expect({ end_reason, tokens: usage.completion_tokens }).toEqual({
      end_reason: 'client_gone',
      tokens: countTokens(pieces.join('')),
    });
  });

  it('treats what looks like a control token as text', async () => {
    const books = await open('gpt-tokenizer');
    const text = `${english}It ends with <|endoftext|> and begins with <|im_start|>.`;
    const continuous = { stream: true, stream_options: { continuous_usage_stats: true } };
    for (const more of [{}, { stream: true }, continuous]) {
      books.upstream.reply(
        'stream' in more ? streamed(events(said(text), finished(), '[DONE]')) : unbilled(text),
      );
      const { usage, end_reason } = await books
        .ask({ ...more, messages: [{ role: 'user', content: text }] })
        .settled();
      expect(end_reason).toBe('completed');
      expectNear(usage.completion_tokens, countTokens(english) + 15);
      expectNear(usage.prompt_tokens, countTokens(english) + 19);
    }
  });

  it('stays fast on text without spaces', async () => {
    const books = await open('gpt-tokenizer');
    books.upstream.reply(unbilled('Yes.'));
    const asked = books.ask({ messages: [{ role: 'user', content: 'a'.repeat(200_000) }] });
    const { usage, timings } = await asked.settled();
    expectNear(usage.prompt_tokens, 25_000);
    expect(timings.duration_ms).toBeLessThan(5000);
  });
});
