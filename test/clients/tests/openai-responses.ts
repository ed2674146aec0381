import { expect } from 'expect';
import OpenAI from 'openai';
import type {
  FunctionTool,
  Response,
  ResponseFunctionToolCall,
  ResponseInputItem,
  ResponseStreamEvent,
} from 'openai/resources/responses/responses';
import { clientKey } from '../../support/gateway-under-test.ts';
import { gatewayWith, listOf, truth } from '../place.ts';
import { type Cases, triedOf } from '../tried.ts';

const model = 'aion-labs/aion-3.5';
const question = 'Why do rivers bend?';
type Input = string | ResponseInputItem[];

/** Names and texts of an output, wherever they stand. */
function textsOf({ output }: Pick<Response, 'output'>) {
  const contents = output.map(item => ('content' in item ? (item.content ?? []) : []));
  const parts = contents.flat() as { type: string; text: string }[];
  const joined = (kind: RegExp) => parts.map(({ type, text }) => (kind.test(type) ? text : '')).join('');
  return { reasoning: joined(/^reasoning/), text: joined(/^output_text$/) };
}
const callsIn = ({ output }: Pick<Response, 'output'>): ResponseFunctionToolCall[] =>
  output.filter(item => item.type === 'function_call');
const essenceOf = (response: Pick<Response, 'output'>) =>
  callsIn(response).map(({ name, arguments: text, status }) => ({ name, text, status }));

const toolOf = (name: string): FunctionTool => ({
  type: 'function',
  name,
  description: `Calls ${name}.`,
  parameters: { type: 'object', properties: { sides: { type: 'integer' } }, required: ['sides'] },
  strict: false,
});
const tools = [toolOf('roll'), toolOf('toss')];

for (const placement of ['message', 'item'] as const) {
  const gateway = await gatewayWith({ config: { responses: { reasoning_placement: placement } } });
  const openai = new OpenAI({ apiKey: clientKey, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
  const create = (input: Input, more: object = {}) => openai.responses.create({ model, input, ...more });
  const eventsOf = async (input: Input, more: object = {}): Promise<ResponseStreamEvent[]> =>
    listOf(await openai.responses.create({ model, input, stream: true, ...more }));
  const final = async (input: Input, more: object = {}) =>
    (await openai.responses.stream({ model, input, ...more }).finalResponse()) as Response;

  const cases = (all: Cases<() => Promise<unknown>>) =>
    Object.fromEntries(
      Object.entries(all).map(([title, test]) => [`${title} (reasoning in the ${placement})`, test]),
    );

  triedOf(
    'whole replies',
    'openAiResponses',
    cases({
      'have text, reasoning and usage of the upstream': async () => {
        const response = await create(question);
        const { usage, ...said } = await truth();
        expect(textsOf(response)).toEqual(said);
        expect(response).toMatchObject({ object: 'response', model, status: 'completed', error: null });
        expect(response.id).toMatch(/^resp_./);
        expect(response.output_text).toBe(said.text);
        expect(response.usage).toEqual({
          input_tokens: usage.input,
          output_tokens: usage.output,
          total_tokens: usage.total,
          input_tokens_details: { cached_tokens: usage.cached },
          output_tokens_details: { reasoning_tokens: usage.reasoning },
        });
        const types = placement === 'item' ? ['reasoning', 'message'] : ['message'];
        expect(response.output.map(({ type }) => type)).toEqual(types);
      },
    }),
  );

  triedOf(
    'streams',
    'openAiResponses',
    cases({
      'end with the same response as a request without one': async () => {
        const events = await eventsOf(question);
        const last = events.at(-1);
        if (last?.type !== 'response.completed') throw new Error(`ended with ${last?.type}`);
        const plain = (response: Response) => {
          const id = response.id.slice(response.id.indexOf('_') + 1);
          const same = JSON.parse(JSON.stringify(response).replaceAll(id, 'x')) as object;
          return { ...same, created_at: 0, completed_at: 0, output_text: undefined };
        };
        expect(plain(last.response)).toEqual(plain(await create(question)));
        expect(events.map(event => event.sequence_number)).toEqual(events.map((_, at) => at));
      },
      'are assembled by the stream helper': async () => {
        const runner = openai.responses.stream({ model, input: question });
        let text = '';
        runner.on('response.output_text.delta', ({ delta, snapshot }) => {
          text += delta;
          expect(snapshot).toBe(text);
        });
        const assembled = await runner.finalResponse();
        const whole = await create(question);
        expect(text).toBe(whole.output_text);
        expect(textsOf(assembled)).toEqual(textsOf(whole));
        expect(assembled.usage).toEqual(whole.usage);
      },
    }),
  );

  triedOf(
    'cap and split',
    'openAiResponses',
    cases({
      'are incomplete when the cap is reached in the answer': async () => {
        const asked = 'Hello [[sim:tokens=50 reasoning_tokens=10]]';
        const more = { max_output_tokens: 30 };
        const whole = await create(asked, more);
        const details = { reason: 'max_output_tokens' };
        expect(whole).toMatchObject({ status: 'incomplete', incomplete_details: details, ...more });
        expect(whole.output.at(-1)).toMatchObject({ type: 'message', status: 'incomplete' });
        expect((await eventsOf(asked, more)).at(-1)?.type).toBe('response.incomplete');
        const { status, output_text } = await final(asked, more);
        expect({ status, output_text }).toEqual({ status: 'incomplete', output_text: whole.output_text });
      },
      'are incomplete when the cap is reached in the reasoning': async () => {
        const more = { max_output_tokens: 5 };
        const whole = await create(question, more);
        expect({ status: whole.status, text: whole.output_text }).toEqual({ status: 'incomplete', text: '' });
        expect(textsOf(whole).reasoning).not.toBe('');
        const events = await eventsOf(question, more);
        const done = events.filter(event => event.type === 'response.output_item.done');
        expect(done.map(({ item }) => [item.type, 'status' in item && item.status])).toEqual([
          ['reasoning', 'incomplete'],
          ['message', 'incomplete'],
        ]);
        expect(textsOf(await final(question, more))).toEqual(textsOf(whole));
      },
    }),
  );

  triedOf(
    'calls',
    'openAiResponses',
    cases({
      'are incomplete when the cap cuts them off, in the helper as well': async () => {
        const asked = 'Roll. [[sim:tool reasoning_tokens=10]]';
        for (const max_output_tokens of [12, 14]) {
          const whole = await create(asked, { tools, max_output_tokens });
          expect(whole.status).toBe('incomplete');
          expect(whole.output.at(-1)).toMatchObject({ status: 'incomplete' });
          const assembled = await final(asked, { tools, max_output_tokens });
          expect(assembled.status).toBe('incomplete');
          expect(essenceOf(assembled)).toEqual(essenceOf(whole));
        }
      },
    }),
  );
}
