import { describe, expect, it } from '@jest/globals';

/** What the playground's script has; browsers are given it as it is, so it has no types of its own. */
interface Answer {
  readonly text: string;
  readonly state: string;
  readonly fault: Readonly<Record<string, unknown>> | undefined;
  take(event: string, data: string): void;
  end(): void;
  stopped(): void;
  messages(): readonly object[];
}
const file = '../../../../../plugins/dashboard/assets/playground-answer.js';
const { Answer } = (await import(file)) as { Answer: new () => Answer };

const reply = JSON.stringify({ status: 200, request_id: 'req_1' });
const chunk = (delta: object, finish_reason: string | null = null) =>
  JSON.stringify({ choices: [{ index: 0, delta, finish_reason }] });

function answered(...chunks: readonly string[]): Answer {
  const answer = new Answer();
  answer.take('reply', reply);
  for (const data of chunks) answer.take('chunk', data);
  return answer;
}

describe('an answer in the playground', () => {
  it('becomes a message without its reasoning', () => {
    const answer = answered(
      chunk({ reasoning: 'Hm.' }),
      chunk({ content: 'Yes' }),
      chunk({ content: '.' }, 'stop'),
    );
    answer.take('done', '[DONE]');
    answer.end();
    expect(answer.state).toBe('Complete.');
    expect(answer.messages()).toEqual([{ role: 'assistant', content: 'Yes.' }]);
  });

  it('that was stopped keeps its text', () => {
    const answer = answered(chunk({ content: 'I look.' }));
    answer.stopped();
    expect([answer.state, answer.messages()]).toEqual([
      'Stopped.',
      [{ role: 'assistant', content: 'I look.' }],
    ]);
  });

  it('keeps the error of a reply with its code and parameter, and has no message', () => {
    const error = { message: 'No.', type: 'invalid_request_error', param: 'tools', code: 'invalid_request' };
    const answer = new Answer();
    answer.take('reply', JSON.stringify({ status: 400, body: JSON.stringify({ error }) }));
    answer.end();
    expect([answer.state, answer.fault]).toEqual(['Not answered.', { ...error, status: 400 }]);
    expect(answer.messages()).toEqual([]);
  });

  it('takes a reply that is no stream', () => {
    const message = { role: 'assistant', content: 'Whole.' };
    const body = JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'stop' }] });
    const answer = new Answer();
    answer.take('reply', JSON.stringify({ status: 200, body }));
    answer.end();
    expect([answer.state, answer.text]).toEqual(['Complete.', 'Whole.']);
  });

  it('keeps the text before an error in the stream, and the error', () => {
    const answer = answered(chunk({ content: 'Half' }));
    const error = { message: 'The upstream provider closed the stream.', type: 'provider_error' };
    answer.take('fault', JSON.stringify({ error }));
    answer.take('done', '[DONE]');
    answer.end();
    expect([answer.state, answer.text, answer.fault]).toEqual(['Broken off.', 'Half', error]);
  });

  it('says that the connection broke off when the stream ends without its end', () => {
    const answer = answered(chunk({ content: 'Half' }));
    answer.end();
    expect([answer.state, answer.fault]).toEqual([
      'Broken off.',
      { message: 'The connection broke off before the answer was complete.' },
    ]);
  });
});
