import { describe, expect, it } from '@jest/globals';
import {
  type PlacementOptions,
  type PlacementSetting,
  placementOf,
} from '../../../../../plugins/dialects/responses/reply-form.ts';

const context = { path: '/v1/responses', headers: {}, account_id: undefined };
const automatic: PlacementOptions = { reasoning_placement: 'auto' };

describe('the place of reasoning in a response', () => {
  it.each([
    { input: 'Hello' },
    { messages: [], instructions: 'Be brief.', metadata: {}, temperature: 1, max_output_tokens: 5 },
    { reasoning_effort: 'high', reasoning_split: true, stream: true, stream_options: {} },
    { include: null, store: null, tools: null, text: undefined },
  ])('is the message for a request of the interface: %j', body => {
    expect(placementOf(body, context, automatic)).toBe('message');
  });

  it.each([
    { include: [] },
    { store: false },
    { reasoning: {} },
    { text: {} },
    { tools: [] },
    { parallel_tool_calls: false },
    { truncation: 'disabled' },
    { prompt_cache_key: '' },
  ])("is a summary for a request with a field of OpenAI's own: %j", body => {
    expect(placementOf(body, context, automatic)).toBe('summary');
  });

  it.each<[string, string]>([
    ['ai/7.0.173 ai-sdk-provider-utils/5.0.81 node.js/24', 'summary'],
    ['ai-sdk/openai/4.0.2 ai-sdk-provider-utils/5.0.81 node.js/24', 'summary'],
    ['ai-sdk/open-responses/2.0.36 ai-sdk-provider-utils/5.0.81 node.js/24', 'summary'],
    ['ai-sdk/openai-compatible/3.0.1', 'message'],
    ['openai/7.55 my-ai/1', 'message'],
    ['OpenAI/JS 7.55.0', 'message'],
  ])('is where a client shows it that only its user agent tells: %s', (agent, placement) => {
    const asked = { ...context, headers: { 'user-agent': agent } };
    expect(placementOf({ input: 'Hello' }, asked, automatic)).toBe(placement);
    expect(placementOf({ input: 'Hello' }, asked, { reasoning_placement: 'item' })).toBe('item');
  });

  it("is that of the header, else the account's, else the configuration's", () => {
    const of = (header: string | undefined, account_id: string | undefined, setting: PlacementSetting) =>
      placementOf(
        { tools: [] },
        { ...context, headers: { 'x-reasoning-placement': header }, account_id },
        {
          reasoning_placement: setting,
          reasoning_placement_by_account: { team: 'item', other: 'auto' },
        },
      );
    expect(of('message', 'team', 'summary')).toBe('message');
    expect(of(undefined, 'team', 'message')).toBe('item');
    expect(of(undefined, 'other', 'message')).toBe('summary');
    expect(of(undefined, 'unnamed', 'message')).toBe('message');
    expect(of(undefined, 'toString', 'message')).toBe('message');
    expect(of(undefined, undefined, 'item')).toBe('item');
  });

  it.each(['auto', '', 'Message', 'message, item'])('is not taken from a header of %j', header => {
    const asked = { ...context, headers: { 'x-reasoning-placement': header } };
    expect(() => placementOf({}, asked, automatic)).toThrow(
      `x-reasoning-placement: must be one of: message, item, summary, not '${header}'`,
    );
  });
});
