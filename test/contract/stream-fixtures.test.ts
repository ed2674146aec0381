import { describe, expect, it } from '@jest/globals';
import { errorEnvelope } from '../../plugins/index.ts';
import { OpenAiStreamDecoder } from '../../src/gateway/upstream/openai/openai-stream-decoder.ts';
import { readFixture } from '../../src/testing/arrivals.ts';
import { checkStage, type StreamFixture, streamFixtures } from '../../src/testing/index.ts';
import { readStream } from '../unit/read-stream.ts';

/** The chunks of a wire that arrives in these parts, with one id for all calls to which the decoder gave one. */
function decoded(parts: readonly Buffer[]): string {
  const { chunks, fault } = readStream(new OpenAiStreamDecoder(), parts);
  if (fault !== undefined) throw fault;
  return JSON.stringify(chunks).replaceAll(/call_[0-9a-f]{24}/g, 'call_made_up');
}

describe('the stream fixtures', () => {
  it('have unique names and a description each', () => {
    const names = streamFixtures.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(names.filter(name => !/^[a-z]+(-[a-z]+)*$/.test(name))).toEqual([]);
    expect(streamFixtures.filter(({ about }) => about.length < 10)).toEqual([]);
  });

  it('are small enough to run every cut', () => {
    expect(streamFixtures.filter(({ wire }) => wire.length > 3000)).toEqual([]);
  });

  it.each<[string, Partial<Record<'reasoning' | 'content' | 'refusal', string>>, string]>([
    ['plain-text', { content: 'Rivers bend because water is lazy.' }, 'stop'],
    ['multi-byte', { content: '河流弯曲，naïve café 👩‍🚀🇫🇷 end 🎉' }, 'stop'],
    ['escaped-characters', { content: '河 🎉' }, 'stop'],
    ['reasoning-field', { reasoning: 'The user greets me.', content: 'Hello there.' }, 'stop'],
    ['reasoning-content-field', { reasoning: 'A greeting.\nBe kind.', content: 'Hello.' }, 'stop'],
    ['reasoning-details', { reasoning: 'Hm. A greeting.', content: 'Hello.' }, 'stop'],
    ['thinking-parts', { reasoning: 'A greeting.', content: 'Hello.' }, 'stop'],
    ['refusal', { content: '', refusal: "I'm sorry, no." }, 'stop'],
    ['length-finish', { content: 'It was a dark and sto' }, 'length'],
    ['crlf', { content: 'Héllo.' }, 'stop'],
    ['cr', { content: 'Héllo.' }, 'stop'],
    ['comments', { content: 'Héllo.' }, 'stop'],
    ['data-lines', { content: 'Héllo.' }, 'stop'],
    ['last-line-open', { content: 'Héllo.' }, 'stop'],
  ])('contain what their description says: %s', (name, message, finish_reason) => {
    const { reply } = readFixture(streamFixtures.find(fixture => fixture.name === name)!);
    expect(reply?.choices).toMatchObject([{ message, finish_reason }]);
  });

  it('are cut between all chunks and inside every text', () => {
    const { whole, cuts } = readFixture(streamFixtures[0]!);
    const chunks = whole.chunks();
    const text = 'Rivers bend because water is lazy.';
    const wire = cuts.filter(({ cut }) => cut.startsWith('wire at byte'));
    const inText = cuts.filter(({ cut }) => cut.startsWith('content of chunk'));
    // Before the first and after each chunk; between the pieces of the text the server has cut it already.
    expect(wire).toHaveLength(chunks.length + 1);
    expect(inText).toHaveLength(text.length - 3);
    expect(cuts.at(-1)!.cut).toBe('all in one chunk');
  });

  it.each(streamFixtures.map(({ name, wire }) => [name, Buffer.from(wire)] as const))(
    'are decoded alike when the wire comes byte by byte: %s',
    (_, bytes) => {
      const single = [...bytes.keys()].map(at => bytes.subarray(at, at + 1));
      expect(decoded(single)).toBe(decoded([bytes]));
    },
  );

  it.each<[string, string]>([
    ['breaks off', 'data: {"choices":[{"index":0,"delta":{"content":"Hel"}}]}\n\n'],
    ['is no JSON', 'data: hello\n\n'],
  ])('reject a custom fixture that %s', async (_, wire) => {
    const fixture: StreamFixture = { name: 'mine', about: 'no whole stream', wire };
    await expect(checkStage(errorEnvelope(), { fixtures: [fixture] })).rejects.toThrow(
      "the fixture mine is not a whole stream in OpenAI's format",
    );
  });
});
