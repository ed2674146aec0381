import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { ReplyAssembler } from '../../../../../../src/gateway/exchange/assemble-reply.ts';
import type {
  Chunk,
  Completion,
  Delta,
  ReplyMessage,
} from '../../../../../../src/gateway/exchange/canonical.ts';
import { mapText, type Replacement } from '../../../../../../src/published.ts';
import { chunkOf, collected, cutAt, cuts, streamOf, transformed } from '../../../../chunk-stream.ts';
import { sampleRequest } from '../../../../sample-exchange.ts';

const email: Replacement = { pattern: /[\w.]+@[\w.]+\.[a-z]{2,}/i, replace: '[email]' };
const secret: Replacement = { pattern: /\bsecret\b/i, replace: 'a "quoted" \\ word' };
const number: Replacement = {
  pattern: /\b\d{3,}\b/,
  replace: match => (match.startsWith('9') ? undefined : `<${match.length}>`),
};
const all = mapText([email, secret, number], { window: 24 });

/** Texts of which many contain or nearly contain a match. */
const texts = fc
  .array(
    fc.constantFrom(...'a@b.co a @ b.co . secret SEC ret 123 9 0 😀 é " \\ \\u00'.split(' '), ' ', '\n'),
    { maxLength: 20 },
  )
  .map(parts => parts.join(''));

async function streamed(deltas: readonly Delta[], map = all): Promise<Chunk[]> {
  const chunks = [...deltas.map(delta => chunkOf(delta)), chunkOf({}, 'stop')];
  const { chunks: got, fault } = await collected(transformed(streamOf(chunks), map.stream()));
  expect(fault).toBeUndefined();
  return got;
}

function replyOf(chunks: readonly Chunk[]): Completion {
  const assembler = new ReplyAssembler();
  for (const chunk of chunks) assembler.add(chunk);
  return assembler.reply();
}

/** The one choice of a whole reply of this message, mapped. */
const mapped = (message: Partial<ReplyMessage>, logprobs?: unknown) => {
  const said = { role: 'assistant' as const, content: null, ...message };
  return all.reply({ choices: [{ index: 0, message: said, finish_reason: 'stop', logprobs }] }).choices[0]!;
};
const called = (name: string, json: string, id = 'c') => ({
  tool_calls: [{ id, type: 'function' as const, function: { name, arguments: json } }],
});
const messageOf = (chunks: readonly Chunk[]) => replyOf(chunks).choices[0]!.message;
const argumentsOf = (text: string, index = 0): Delta => ({
  tool_calls: [{ index, function: { arguments: text } }],
});

describe('mapText of a whole text', () => {
  it('replaces what JavaScript replaces, where no match could be longer', () => {
    const map = mapText([email, secret]);
    fc.assert(
      fc.property(texts, text => {
        expect(map.text(text)).toBe(
          text.replaceAll(/[\w.]+@[\w.]+\.[a-z]{2,}|\bsecret\b/gi, match =>
            match.toLowerCase() === 'secret' ? (secret.replace as string) : '[email]',
          ),
        );
      }),
    );
  });

  it.each<[RegExp, string, string]>([
    [/a|ab|abc/, 'abcd', '_d'],
    [/(?:ab)+c?/, 'xababcab', 'x__'],
    [/^a+$/, 'aaa', '_'],
    [/^a/, 'ba', 'ba'],
    [/[^a-c\]]{2}/, 'ab]xyz', 'ab]_z'],
    [/\x41\u0042\.\d\D\w\W\s\S/, 'AB.1xy. z', '_'],
    [/(?<name>x)y{2,}z{0,1}/, 'xy xyy xyyyz', 'xy _ _'],
    [/É[à-ü]/i, 'éÜ', '_'],
    [/a.b/s, 'a\nb', '_'],
    [/a.b/, 'a\nb', 'a\nb'],
    [/[\w-]+!/, 'a-b!', '_'],
    [/\Bb\B/, 'abc b', 'a_c b'],
    [/x{,2}/, 'x{,2}', '_'],
  ])('matches %s in %j', (pattern, text, expected) => {
    expect(mapText([{ pattern, replace: '_' }]).text(text)).toBe(expected);
  });

  it.each([/(?=a)b/, /(?<!a)b/, /(a)\1/, /a+?/, /a/u, /a/m, /\p{L}/u, /(?i:a)/, /a*/, /\b/, /(?:)/])(
    'refuses %s, which has no place in a stream',
    pattern => {
      expect(() => mapText([{ pattern, replace: '' }])).toThrow(String(pattern));
    },
  );

  it('refuses a pattern that would need too much memory, and a window that is none', () => {
    expect(() => mapText([{ pattern: /((x{1,500}){1,500}){1,500}/, replace: '' }])).toThrow(/too large/);
    expect(() => mapText([], { window: 0 })).toThrow(/window/);
    expect(() => mapText([{ pattern: /a{300}/, replace: '' }])).toThrow(/window of 256/);
  });

  it('replaces nothing that is longer than the window', () => {
    expect(mapText([{ pattern: /a+b/, replace: '_' }], { window: 4 }).text('aaaab aaab')).toBe('a_ _');
  });

  it('never cuts a character of two units in half', () => {
    expect(mapText([{ pattern: /x[^y]/, replace: '_' }]).text('x😀')).toBe('_');
  });
});

describe('mapText of a stream', () => {
  it.each(['content', 'reasoning', 'refusal'] as const)(
    'maps %s as in a whole reply, however it is cut',
    async kind => {
      await fc.assert(
        fc.asyncProperty(texts, cuts, async (text, at) => {
          const got = messageOf(await streamed(cutAt(text, at).map(piece => ({ [kind]: piece }))));
          expect(got[kind] ?? '').toBe(all.text(text));
        }),
      );
    },
  );

  it('keeps arguments JSON that says the same but for what is replaced, however they are cut', async () => {
    const spaced = fc.constantFrom(undefined, 1);
    await fc.assert(
      fc.asyncProperty(
        texts,
        texts,
        fc.integer({ min: 0, max: 99_999 }),
        spaced,
        cuts,
        async (key, value, count, space, at) => {
          const given = { [`k${key}`]: [value, { value }], count, yes: true };
          const json = JSON.stringify(given, undefined, space);
          const [call] = messageOf(await streamed(cutAt(json, at).map(piece => argumentsOf(piece))))
            .tool_calls!;
          const read = JSON.parse(call!.function.arguments);
          const text = all.text(value);
          const isReplaced = all.text(String(count)) !== String(count);
          expect(read).toEqual({
            [all.text(`k${key}`)]: [text, { value: text }],
            count: isReplaced ? all.text(String(count)) : count,
            yes: true,
          });
          const { message } = mapped(called('', json));
          expect(message.tool_calls![0]!.function.arguments).toBe(call!.function.arguments);
        },
      ),
    );
  });

  it.each([
    ['sees through escapes', String.raw`{"to":"\u0061\u0040b.co\n"}`, String.raw`{"to":"[email]\n"}`],
    ['leaves other escapes as they were', String.raw`{"a":"\u00fc\/\q"}`, String.raw`{"a":"\u00fc\/\q"}`],
    ['maps what is no JSON as text', 'mail a@b.co 123', 'mail [email] <3>'],
    ['maps what breaks off', '{"to":"a@b.co', '{"to":"[email]'],
    ['passes on an escape that breaks off', String.raw`{"a":"\u00`, String.raw`{"a":"\u00`],
    ['maps names that are no JSON', '{to: a@b.co, n: 1234}', '{to: "[email]", n: "<4>"}'],
    ['maps an endless number', `[${'1'.repeat(30)} a@b.co`, `[${'1'.repeat(30)} [email]`],
  ])('%s in arguments', async (_, given, expected) => {
    for (const pieces of [[given], [...given]]) {
      const [call] = messageOf(await streamed(pieces.map(piece => argumentsOf(piece)))).tool_calls!;
      expect(call!.function.arguments).toBe(expected);
    }
  });

  it('holds back no more than the window, and nothing that cannot become a match', async () => {
    await fc.assert(
      fc.asyncProperty(texts, async text => {
        const stream = all.stream();
        let [given, got] = [0, 0];
        const controller = {
          enqueue: ({ choices }: Chunk) => void (got += choices[0]?.delta.content?.length ?? 0),
          terminate() {},
          ready: () => undefined,
        };
        const plain = text.replaceAll(/[@\d]|secret/gi, '-');
        for (const character of plain) {
          stream.transform(chunkOf({ content: character }), controller);
          given += character.length;
          expect(given - got).toBeLessThanOrEqual(24);
        }
        stream.transform(chunkOf({ content: ' ' }), controller);
        expect(got).toBe(plain.length + 1);
      }),
    );
  });

  it('passes a chunk without text, or with text that needs no change, at once', async () => {
    const chunks = [
      chunkOf({ role: 'assistant', content: '' }),
      { choices: [] },
      chunkOf({ content: 'Hello. ' }),
    ];
    const { chunks: got } = await collected(transformed(streamOf(chunks), all.stream()));
    expect(got).toEqual(chunks);
    expect(got[0]).toBe(chunks[0]);
  });

  it('keeps the order of reasoning, content and tool calls, and maps choices and calls by themselves', async () => {
    const call = (index: number, text: string): Delta => ({
      tool_calls: called('f', text, `call_${index}`).tool_calls.map(call => ({ index, ...call })),
    });
    const chunks = [
      chunkOf({ reasoning: 'to a@' }),
      chunkOf({ content: 'b.co or a@' }),
      chunkOf({ content: 'other 12' }, null, 1),
      chunkOf({ content: 'b.co' }),
      chunkOf(call(0, '{"x":"a@')),
      chunkOf({ content: '3' }, 'stop', 1),
      chunkOf(argumentsOf('b.co"}')),
      chunkOf(call(1, '{"x":"a@')),
      chunkOf({ tool_calls: [{ index: 1, function: { arguments: 'b.co' } }] }, 'stop'),
    ];
    const { chunks: got } = await collected(transformed(streamOf(chunks), all.stream()));
    const reply = replyOf(got);
    expect(reply.choices.map(({ message }) => message)).toMatchObject([
      {
        reasoning: 'to a@',
        content: 'b.co or [email]',
        tool_calls: [
          { function: { arguments: '{"x":"[email]"}' } },
          { function: { arguments: '{"x":"[email]' } },
        ],
      },
      { content: 'other <3>' },
    ]);
    const kinds = got.flatMap(({ choices }) =>
      choices.filter(({ index }) => index === 0).flatMap(({ delta }) => Object.keys(delta)),
    );
    expect(kinds.filter((kind, at) => kind !== kinds[at - 1])).toEqual([
      'reasoning',
      'content',
      'tool_calls',
    ]);
    expect(got.at(-1)!.choices[0]!.finish_reason).toBe('stop');
  });
});

describe('mapText of log probabilities', () => {
  const tokenOf = (token: string, others: readonly string[] = []) => ({
    token,
    logprob: -0.1,
    bytes: [...Buffer.from(token)],
    top_logprobs: [token, ...others].map(other => ({ token: other, logprob: -1, bytes: null })),
  });
  const said = (tokens: readonly object[]) => ({ content: tokens, refusal: null });
  const spelled = (logprobs: unknown) =>
    (logprobs as { content: { token: string }[] }).content.map(({ token }) => token);

  it('drops the tokens of replaced text and no other, in streams and whole replies', async () => {
    const tokens = ['Mail', ' a', '@b', '.co', ' or', ' 12', '3', '.'];
    const chunks = tokens.map(token => {
      const [choice] = chunkOf({ content: token }).choices;
      return { choices: [{ ...choice!, logprobs: said([tokenOf(token)]) }] };
    });
    const { chunks: got } = await collected(
      transformed(streamOf([...chunks, chunkOf({}, 'stop')]), all.stream()),
    );
    const [choice] = replyOf(got).choices;
    expect(choice!.message.content).toBe('Mail [email] or <3>.');
    expect(spelled(choice!.logprobs)).toEqual(['Mail', ' or', '.']);
    const whole = mapped({ content: tokens.join('') }, said(tokens.map(token => tokenOf(token))));
    expect(spelled(whole.logprobs)).toEqual(['Mail', ' or', '.']);
  });

  it('spells no match in any cut of the tokens', async () => {
    await fc.assert(
      fc.asyncProperty(texts, cuts, cuts, async (text, textCuts, tokenCuts) => {
        const pieces = cutAt(text, textCuts);
        const tokens = cutAt(text, tokenCuts);
        const chunks = Array.from({ length: Math.max(pieces.length, tokens.length) }, (_, at) => {
          const [choice] = chunkOf({ content: pieces[at] ?? '' }).choices;
          return {
            choices: [{ ...choice!, logprobs: said(at < tokens.length ? [tokenOf(tokens[at]!)] : []) }],
          };
        });
        const { chunks: got } = await collected(
          transformed(streamOf([...chunks, chunkOf({}, 'stop')]), all.stream()),
        );
        const left = spelled(replyOf(got).choices[0]!.logprobs ?? said([])).join('\0');
        for (const match of text.match(/[\w.]+@[\w.]+\.[a-z]{2,}/gi) ?? [])
          if (match.length <= 24) expect(left).not.toContain(match);
        if (all.text(text) === text && !/\d|secret|@/i.test(text))
          expect(left.replaceAll('\0', '')).toBe(text);
      }),
    );
  });

  it('drops alternatives that contain a match, and forms of log probabilities that it cannot read', () => {
    const reply = (logprobs: unknown) => mapped({ content: 'Hi' }, logprobs).logprobs;
    expect(reply(said([tokenOf('Hi', ['a@b.co', 'Ho'])]))).toMatchObject({
      content: [{ token: 'Hi', top_logprobs: [{ token: 'Hi' }, { token: 'Ho' }] }],
    });
    for (const unread of [
      { tokens: ['a@b.co'], token_logprobs: [-1] },
      said([{ token: 'a@b.co', bytes: [] }, 'a@b.co' as never]),
    ])
      expect(reply(unread)).toEqual(said([]));
  });

  it('finds matches behind tokens that were too many to be held', async () => {
    const empty = Array.from({ length: 1000 }, () => tokenOf(''));
    const chunks = [said([tokenOf('unfinished'), ...empty]), said([tokenOf(' a@b.co')])].map(logprobs => {
      const [choice] = chunkOf({ content: '.' }).choices;
      return { choices: [{ ...choice!, logprobs }] };
    });
    const { chunks: got } = await collected(
      transformed(streamOf([...chunks, chunkOf({}, 'stop')]), all.stream()),
    );
    expect(JSON.stringify(got)).not.toContain('a@b.co');
  });
});

describe('mapText of a request', () => {
  it('maps strings, parts, across parts, reasoning and arguments, of every role', () => {
    const conversation = (system: string, [one, two]: [string, string], json: string, result: string) => [
      { role: 'system' as const, content: system },
      { role: 'user' as const, content: [one, two].map(text => ({ type: 'text' as const, text })) },
      { role: 'assistant' as const, content: null, reasoning: system, ...called('a@b.co', json) },
      { role: 'tool' as const, tool_call_id: 'c', content: result },
    ];
    const messages = conversation('I am a@b.co', ['to a@', 'b.co'], '{"to":"a@b.co"}', '123');
    const request = sampleRequest({ messages });
    all.request(request);
    expect(request.messages).toEqual(
      conversation('I am [email]', ['to ', '[email]'], '{"to":"[email]"}', '<3>'),
    );
  });

  it('leaves out an item in the form of another API that has a match, and keeps what it says in words', () => {
    const part = (query: string) => {
      const native = { format: 'anthropic', item: { type: 'server_tool_use', input: { query } } };
      const content = [{ type: 'text' as const, text: `[web search: ${query}]`, native }];
      const request = sampleRequest({ messages: [{ role: 'assistant', content }] });
      all.request(request);
      return [request.messages[0]!.content, content];
    };
    const [kept, given] = part('rivers');
    expect(kept).toEqual(given);
    expect(part('a@b.co')[0]).toEqual([{ type: 'text', text: '[web search: [email]]' }]);
  });
});
