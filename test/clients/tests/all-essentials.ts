import { expect } from 'expect';
import { type Message, textOf } from '../../../src/gateway/exchange/canonical.ts';
import { clientFacts } from '../facts.ts';
import { type Client, rolledText } from '../libraries/client.ts';
import { asked, expectAborted, simulator, truth } from '../place.ts';
import { names, type Tried, tried, triedBothWays } from '../tried.ts';

const question = 'Why do rivers bend?';
/** Everything that encoders and splitters get wrong. */
const delicate = 'Grüße, 漢字, 🦀🇨🇭.\n\n\t"quoted" \\n </think> <b>&amp;</b> data: [DONE]\n  end ';

triedBothWays('text, reasoning, usage', async ({ client, facts }, way) => {
  const { text, reasoning, usage, ...stream } = await client[way](question);
  const { text: said, reasoning: thought, usage: counted } = await truth();
  expect(said).not.toBe('');
  expect({ text, usage }).toEqual({ text: said, usage: counted });
  expect(reasoning || undefined).toBe(facts.reasoning && thought);
  if (way === 'stream') expect(stream).toEqual({ final: said, pieces: expect.any(Number) });
  if ('pieces' in stream) expect(stream.pieces).toBeGreaterThan(5);
});

triedBothWays('characters', async ({ client }, way) => {
  const { text, ...stream } = await client[way](`Hello [[sim:chunk=1 say=${delicate}]]`);
  expect(text).toBe(delicate);
  if ('final' in stream) expect(stream.final).toBe(delicate);
});

tried('running usage', { 'shows the last one': question }, async ({ client }, asks) => {
  const { usage } = await client.stream(asks, { continuous: true });
  expect(usage).toEqual((await truth()).usage);
});

tried('leaving', { 'aborts the upstream': 'tokens=endless tps=400 chunk=1' }, async (one, endless) => {
  const used = await expectAborted(() => one.client.leave(`Hello [[sim:${endless}]]`));
  expect(used === undefined ? used : used > 5).toBe(one.facts.running_usage || undefined);
});

triedBothWays('cap', async ({ client, facts }, way) => {
  const running = client[way]('Hello', { max_tokens: 5 });
  const capped = facts.capped?.[way];
  if (capped) return expect(running).rejects.toThrow(capped);
  const { text, usage } = await running;
  expect({ text, output: usage.output }).toEqual({ text: '', output: 5 });
});

triedBothWays('turns', async ({ client }, way) => {
  const first = 'Hello [[sim:say=Good day.]]';
  const text = await client.goOn(first, 'And you?', way === 'stream');
  const sent = (asked().messages as Message[]).map(({ role, content }) => [role, textOf(content)]);
  expect(sent).toEqual([
    ['user', first],
    ['assistant', 'Good day.'],
    ['user', 'And you?'],
  ]);
  expect(text).toBe((await truth()).text);
});

triedBothWays('tools', async ({ client }, way) => {
  for (const count of [1, 3]) {
    const { answer, calls } = await client.roll(`Roll. [[sim:tool calls=${count}]]`, way === 'stream');
    expect(calls).toEqual(Array.from({ length: count }, () => ({ sides: expect.any(Number) })));
    expect(answer).toContain(rolledText);
    expect(answer).toBe((await truth()).text);
  }
});

/** Some reasoning models refuse the result of a call without the reasoning before it. */
const demanding = 'Roll. [[sim:tool require_reasoning=any]]';
const rolls = async ({ facts }: Tried, client: Client, streamed: boolean) => {
  const { refused } = simulator.stats;
  // The AI SDK ends a stream without an error after a step that failed.
  const answered = await client.roll(demanding, streamed).then(
    ({ answer }) => answer.includes(rolledText),
    () => false,
  );
  expect(answered).toBe(facts.returns_reasoning === true);
  expect(simulator.stats.refused - refused).toBe(answered ? 0 : 1);
};
triedBothWays('reasoning back', (one, way) => rolls(one, one.client, way === 'stream'));
tried(
  'reasoning back',
  { 'stream without the gateway': simulator.url },
  (one, url) => rolls(one, one.connect({ url }), true),
  { who: names.filter(name => clientFacts[name].endpoint !== '/v1/responses') },
);

/** `both` shows reasoning once to each client, `reasoning_content` only to those that read it. */
const readers = {
  both: ['openAiChat', 'vercelChat', 'langChainChat', 'agentsChat'],
  reasoning_content: ['vercelChat', 'langChainChat'],
} as const;
for (const [reasoning_key, shown] of Object.entries(readers))
  tried(
    'reasoning key',
    { [reasoning_key]: 'Hello [[sim:reasoning=tags]]' },
    async ({ name, client }, tagged) => {
      const [whole, streamed] = [await client.reply(tagged), await client.stream(tagged)];
      const expected = shown.some(reader => reader === name)
        ? expect.stringMatching(/^The user mentions "Hello"(?!.*The user)/s)
        : undefined;
      expect([whole.reasoning || undefined, streamed.reasoning || undefined]).toEqual([expected, expected]);
      expect(streamed.text).toBe(whole.text);
      expect(whole.text).toMatch(/^You asked about "Hello"/);
    },
    { who: readers.both, config: { chat_completions: { reasoning_key } } },
  );
