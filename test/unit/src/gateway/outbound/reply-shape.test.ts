import { expect, it } from '@jest/globals';
import { type Choice, usageOf } from '../../../../../src/gateway/exchange/canonical.ts';
import { identityOf, shapeReply, shownUsage } from '../../../../../src/gateway/outbound/reply-shape.ts';
import { sampleExchange } from '../../../sample-exchange.ts';

const exchange = sampleExchange({ request: {} });
const shaped = (message: Partial<Choice['message']>, usage = usageOf(1, 2)) =>
  shapeReply(exchange, {
    choices: [{ index: 0, message: { role: 'assistant', content: null, ...message }, finish_reason: 'stop' }],
    usage,
  });

it('gives a reply content that is null beside calls only, and the total of its usage', () => {
  const tool_calls = [{ id: 'a', type: 'function' as const, function: { name: 'f', arguments: '{}' } }];
  const contents = [{}, { tool_calls: [] }, { tool_calls }, { content: 'Hi', tool_calls }].map(
    message => shaped(message).choices[0]!.message.content,
  );
  expect(contents).toEqual(['', '', null, 'Hi']);
  expect(shaped({}, { ...usageOf(1, 2), total_tokens: 9 }).usage).toEqual(usageOf(1, 2));
});

it('shows all figures of the usage, and times in seconds', () => {
  const figures = { prompt_tokens: 9, completion_tokens: 5, cached_tokens: 2, cache_creation_tokens: 3 };
  const usage = { ...exchange.usage, ...figures, completion_details: { reasoning_tokens: 4 } };
  expect(shownUsage({ usage })).toEqual(usageOf(9, 5, 2, { reasoning_tokens: 4 }, 3));
  const { created, now_s } = identityOf(exchange);
  for (const time of [created, now_s()]) expect(Math.abs(time - Date.now() / 1000)).toBeLessThan(60);
});
