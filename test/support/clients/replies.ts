import { describe, expect, it } from '@jest/globals';
import { type Message, textOf } from '../../../src/canonical.ts';
import { until } from '../until.ts';
import { rolledText } from './client.ts';
import type { ClientHouse } from './house.ts';

const question = 'Why do rivers bend?';
/** Everything that encoders and splitters get wrong. */
const delicate = 'Grüße, 漢字, 🦀🇨🇭.\n\n\t"quoted" \\n </think> <b>&amp;</b> data: [DONE]\n  end ';

/** The tests of what goes well: the client shows exactly what the upstream said, whole and streamed, or rejects it as its row says. */
export function showsReplies(house: ClientHouse): void {
  const { facts } = house;

  if (facts.reply) describe('a whole reply', () => wholeReplies(house));
  else it('rejects a whole reply with reasoning', () => rejects(house, 'reply'));

  if (facts.stream) describe('a stream', () => streams(house));
  else it('rejects a stream with reasoning', () => rejects(house, 'stream'));

  const ways = [...(facts.reply ? [false] : []), ...(facts.stream ? [true] : [])];
  if (ways.length > 0) describe.each(ways)('the client (stream: %s)', streamed => turns(house, streamed));
}

/** What has no reasoning it takes. */
async function rejects({ client }: ClientHouse, ask: 'reply' | 'stream'): Promise<void> {
  await expect(client[ask](question)).rejects.toThrow();
  const { text } = await client[ask]('Hello [[sim:reasoning=none say=Good day.]]');
  expect(text).toBe('Good day.');
}

function wholeReplies(house: ClientHouse): void {
  const { reasoning: place } = house.facts;

  it('has the text and the usage of the upstream', async () => {
    const { text, usage } = await house.client.reply(question);
    const truth = await house.truth();
    expect(text).toBe(truth.text);
    expect(text).not.toBe('');
    expect(usage).toEqual(truth.usage);
  });

  it(place ? 'has the reasoning' : 'has its reasoning where the client does not look', async () => {
    const { reasoning } = await house.client.reply(question);
    expect(reasoning || undefined).toBe(place && (await house.truth()).reasoning);
  });

  it('has every character as it was', async () => {
    expect((await house.client.reply(`Hello [[sim:say=${delicate}]]`)).text).toBe(delicate);
  });
}

function streams(house: ClientHouse): void {
  const { reasoning: place } = house.facts;

  it('has the text of the upstream, piece by piece and in the end, and its usage', async () => {
    const { text, final, pieces, usage } = await house.client.stream(question);
    const truth = await house.truth();
    expect(text).toBe(truth.text);
    expect(final).toBe(truth.text);
    expect(pieces).toBeGreaterThan(5);
    expect(usage).toEqual(truth.usage);
  });

  it(place ? 'has the reasoning' : 'has its reasoning where the client does not look', async () => {
    const { reasoning } = await house.client.stream(question);
    expect(reasoning || undefined).toBe(place && (await house.truth()).reasoning);
  });

  it('has every character as it was', async () => {
    const { text, final } = await house.client.stream(`Hello [[sim:chunk=1 say=${delicate}]]`);
    expect({ text, final }).toEqual({ text: delicate, final: delicate });
  });

  it('shows the last usage where there is one on every chunk', async () => {
    const { usage } = await house.client.stream(question, { continuous: true });
    expect(usage).toEqual((await house.truth()).usage);
  });

  leaves(house);
}

/** The test of a client that leaves in the middle of a stream with running usage. */
export function leaves(house: ClientHouse): void {
  const { running_usage } = house.facts;

  it(`is aborted upstream when the client leaves, which ${running_usage ? 'knows' : 'does not know'} what it has used`, async () => {
    const { aborted } = house.simulator.stats;
    const used = await house.client.leave('Hello [[sim:tokens=endless tps=100 chunk=1]]');
    expect(used === undefined ? used : used > 5).toBe(running_usage || undefined);
    await until(() => house.simulator.stats.aborted === aborted + 1);
    expect(house.simulator.stats.open).toBe(0);
  });
}

function turns(house: ClientHouse, streamed: boolean): void {
  const ask = streamed ? 'stream' : 'reply';
  const capped = house.facts.capped?.[ask];

  it(`${capped ? 'fails' : 'shows an empty text'} after a cap that is reached while reasoning`, async () => {
    const running = house.client[ask]('Hello', { max_tokens: 5 });
    if (capped) return expect(running).rejects.toThrow(capped);
    const { text, usage } = await running;
    expect(text).toBe('');
    expect(usage.output).toBe(5);
  });

  it('goes on with what was said', async () => {
    const text = await house.client.goOn('Hello [[sim:say=Good day.]]', 'And you?', streamed);
    const sent = (house.asked.messages as Message[]).map(({ role, content }) => ({
      role,
      content: textOf(content),
    }));
    expect(sent).toEqual([
      { role: 'user', content: 'Hello [[sim:say=Good day.]]' },
      { role: 'assistant', content: 'Good day.' },
      { role: 'user', content: 'And you?' },
    ]);
    expect(text).toBe((await house.truth()).text);
  });

  it('calls a tool, answers it, and has it spoken of', async () => {
    const { answer, calls } = await house.client.roll('Roll. [[sim:tool]]', streamed);
    expect(calls).toEqual([{ sides: expect.any(Number) }]);
    expect(answer).toContain(rolledText);
    expect(answer).toBe((await house.truth()).text);
  });

  it('calls several tools at once', async () => {
    const { answer, calls } = await house.client.roll('Roll. [[sim:tool calls=3]]', streamed);
    expect(calls).toHaveLength(3);
    expect(answer).toContain(rolledText);
  });
}
