import { expect, it } from '@jest/globals';
import { responses } from '../../../../../plugins/dialects/responses/index.ts';
import type { ReplyForm } from '../../../../../plugins/dialects/responses/reply-form.ts';
import { answerBySummary } from '../../../../../plugins/dialects/responses/store/compaction.ts';
import { type ChatRequest, usageOf } from '../../../../../src/gateway/exchange/canonical.ts';
import { chunkOf } from '../../../chunk-stream.ts';

const dialect = responses.create({ reasoning_placement: 'auto' }, { models: [] });
const context = { path: '/v1/responses', headers: {}, account_id: undefined };
const hello = { role: 'user', content: 'Why do rivers bend?' };
const trigger = { type: 'compaction_trigger' };
const parse = (input: object[], more: object = {}): ChatRequest =>
  dialect.parse({ model: 'a/b', input, ...more }, context);
const identityOf = (request: ChatRequest) => ({
  key: '5f2',
  created: 1_795_132_800,
  model: 'a/b',
  request,
  now_s: () => 1_795_132_801,
});
const message = { role: 'assistant' as const, content: 'About silt.', reasoning: 'So far …' };
const usage = usageOf(9, 4);

interface Compacted {
  readonly status: string;
  readonly output: readonly { readonly type: string; readonly encrypted_content: string }[];
}

function replies(request: ChatRequest): { whole: Compacted; streamed: Compacted; events: string[] } {
  const identity = identityOf(request);
  const whole = dialect.renderReply(identity, {
    choices: [{ index: 0, message, finish_reason: 'stop' }],
    usage,
  });
  const stream = dialect.renderStream(identity);
  const text = [
    stream.chunk(chunkOf({ role: 'assistant', content: '' })),
    stream.chunk(chunkOf({ reasoning: message.reasoning })),
    stream.chunk(chunkOf({ content: 'About ' })),
    stream.chunk(chunkOf({ content: 'silt.' })),
    stream.chunk({ ...chunkOf({}, 'stop'), usage }),
    stream.end(),
  ].join('');
  const events = [...text.matchAll(/^event: (.+)$/gm)].map(([, type]) => type!);
  const [last] = [...text.matchAll(/^data: (\{.+)$/gm)].slice(-1).map(([, data]) => JSON.parse(data!));
  return { whole: JSON.parse(whole), streamed: last.response, events };
}

it('asks the model for a summary, of which the response has one item, whole and streamed alike', () => {
  const tool = { type: 'function', name: 'map' };
  const text = { format: { type: 'json_object' } };
  const request = parse([hello, trigger], { tools: [tool], tool_choice: 'required', text });
  expect(request.messages).toEqual([
    hello,
    { role: 'user', content: expect.stringMatching(/^Summarize the conversation/) },
  ]);
  expect(request.parameters).toMatchObject({ tool_choice: 'none' });
  expect(request.parameters.response_format).toBeUndefined();

  const { whole, streamed, events } = replies(request);
  const item = { type: 'compaction', id: 'cmp_5f2', encrypted_content: expect.any(String) };
  expect(whole).toMatchObject({ status: 'completed', output: [item], usage: { output_tokens: 4 } });
  expect(streamed.output).toEqual(whole.output);
  expect(events.slice(2)).toEqual([
    'response.output_item.added',
    'response.output_item.done',
    'response.completed',
  ]);
});

it('shows the model the summary when its item comes back, and ignores triggers of the past', () => {
  const { whole } = replies(parse([hello, trigger]));
  const { messages } = parse([trigger, ...whole.output, { role: 'user', content: 'Go on.' }]);
  expect(messages).toEqual([
    { role: 'user', content: expect.stringMatching(/^Summary of .*\n\nAbout silt\.$/s) },
    { role: 'user', content: 'Go on.' },
  ]);
  expect(replies(parse([trigger, hello])).whole.output.map(({ type }) => type)).not.toContain('compaction');
});

it('is sealed once, so that the response that is stored is the one that is sent', () => {
  const request = parse([hello, trigger]);
  let sealed = 0;
  answerBySummary(request, summary => `${summary} ${++sealed}`);
  const { seal } = request.client!.kept as ReplyForm;
  expect([seal!('Silt.'), seal!('Silt.')]).toEqual(['Silt. 1', 'Silt. 1']);
});
