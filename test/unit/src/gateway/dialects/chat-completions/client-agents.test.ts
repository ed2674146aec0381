import { describe, expect, it } from '@jest/globals';
import type { Identity } from '../../../../../../src/gateway/dialects/define-dialect.ts';
import { chatOf, identity } from '../renderings.ts';

const body = { model: 'a/b', messages: [{ role: 'user', content: 'Hello' }], max_completion_tokens: 9 };
const choice = { index: 0, finish_reason: 'stop' as const };
const reply = {
  choices: [{ ...choice, message: { role: 'assistant' as const, content: 'Hi.', reasoning: 'Hm.' } }],
};

/** The reply to a request of this agent, whole and streamed. */
function repliesTo(agent: string): string[] {
  const format = chatOf();
  const request = format.parse(body, { path: '/', headers: { 'user-agent': agent }, account_id: undefined });
  expect(request.client?.field_names).toEqual({ max_tokens: 'max_completion_tokens' });
  const asked: Identity = { ...identity(), request };
  const stream = format.renderStream(asked);
  return [
    format.renderReply(asked, reply),
    stream.chunk({ choices: [{ index: 0, delta: { reasoning: 'Hm.' }, finish_reason: null }] }),
  ];
}

describe('the name of reasoning in chat completions', () => {
  it('is the older one as well for clients that read no other, by their user agent', () => {
    for (const text of repliesTo('langchainjs-openai/1.0.0 ((node/v24.21.0; linux; x64))')) {
      expect(text).toContain('"reasoning":"Hm."');
      expect(text).toContain('"reasoning_content":"Hm."');
    }
    for (const agent of ['OpenAI/JS 7.55.0', 'my-langchainjs', ''])
      for (const text of repliesTo(agent)) expect(text).not.toContain('reasoning_content');
  });
});
