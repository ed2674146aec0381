import { describe, expect, it } from '@jest/globals';
import { loadGptCounter } from '../../../../../src/config/gpt-counter.ts';
import { TokenEstimator } from '../../../../../src/gateway/settlement/token-estimator.ts';
import { estimatePrompt } from '../../../../../src/gateway/settlement/usage-meter.ts';
import { sampleRequest } from '../../../sample-exchange.ts';

describe('the token estimate of a prompt', () => {
  const user = { role: 'user' as const, content: 'word word' };

  it('is that of its text plus four per message', () => {
    expect(estimatePrompt(sampleRequest({ messages: [user] }))).toBe(2 + 4);
    expect(estimatePrompt(sampleRequest({ messages: [user, user] }))).toBe(4 + 8);
    const parts = {
      role: 'user' as const,
      content: ['word ', 'word'].map(text => ({ type: 'text' as const, text })),
    };
    expect(estimatePrompt(sampleRequest({ messages: [parts] }))).toBe(2 + 4);
  });

  it('counts an image as 85 tokens, whichever counter is used', async () => {
    const newCounter = await loadGptCounter();
    const image = { type: 'image_url' as const, image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } };
    const text = { type: 'text' as const, text: 'word word' };
    for (const counter of [() => new TokenEstimator(), newCounter]) {
      const estimated = (content: (typeof image | typeof text)[]): number =>
        estimatePrompt(sampleRequest({ messages: [{ role: 'user', content }] }), counter());
      expect(estimated([text, image])).toBe(estimated([text]) + 85);
      expect(estimated([image, image])).toBe(estimated([]) + 170);
    }
  });

  it('includes tools and earlier tool calls', () => {
    const tools = [{ type: 'function' as const, function: { name: 'roll', description: 'x'.repeat(400) } }];
    const tool_calls = [
      { id: 'a', type: 'function' as const, function: { name: 'roll', arguments: 'x'.repeat(400) } },
    ];
    const plain = estimatePrompt(sampleRequest({ messages: [user] }));
    expect(estimatePrompt(sampleRequest({ messages: [user], tools }))).toBeGreaterThan(plain + 100);
    const calling = { role: 'assistant' as const, content: null, tool_calls };
    expect(estimatePrompt(sampleRequest({ messages: [user, calling] }))).toBeGreaterThan(plain + 100);
  });
});
