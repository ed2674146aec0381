import { expect, it } from '@jest/globals';
import { rolledText } from './client.ts';
import type { ClientHouse } from './house.ts';
import { leaves } from './replies.ts';

const question = 'Why do rivers bend? [[sim:tokens=30 reasoning_tokens=10]]';

/** What every client must do, in few tests: for a client that shares its provider or its SDK with one that is tested in full. */
export function showsEssentials(house: ClientHouse): void {
  const { reasoning: place } = house.facts;

  it.each(['reply', 'stream'] as const)('shows text, reasoning and usage of the upstream (%s)', async ask => {
    const { text, reasoning, usage } = await house.client[ask](question);
    const truth = await house.truth();
    expect(text).toBe(truth.text);
    expect(reasoning || undefined).toBe(place && truth.reasoning);
    expect(usage).toEqual(truth.usage);
  });

  it.each([false, true])('calls a tool, answers it and has it spoken of (stream: %s)', async streamed => {
    const { answer, calls } = await house.client.roll('Roll. [[sim:tool calls=2]]', streamed);
    expect(calls).toEqual([{ sides: expect.any(Number) }, { sides: expect.any(Number) }]);
    expect(answer).toContain(rolledText);
    expect(answer).toBe((await house.truth()).text);
  });

  leaves(house);

  it('raises a refusal with its message', async () => {
    const running = house.client.reply('Hello', { model: 'aion-labs/aion-9' });
    await expect(running).rejects.toThrow(/unknown model 'aion-labs\/aion-9'/);
  });

  it('raises the message of a stream that breaks in the answer', async () => {
    const running = house.client.stream('Hello [[sim:reset=40 reasoning_tokens=4 tokens=80]]');
    await expect(running).rejects.toThrow(/closed the stream unexpectedly/);
  });
}
