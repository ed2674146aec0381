import { tool } from '@llamaindex/core/tools';
import { OpenAI } from '@llamaindex/openai';
import { agent } from '@llamaindex/workflow';
import { addition, isAskedOnce, key, model, question, say, sum, url } from './driver.mjs';

const llm = new OpenAI({ model, apiKey: key, baseURL: url, maxRetries: 1, supportToolCall: true });
const number = { type: 'number' };
const parameters = {
  type: 'object',
  properties: { left: number, right: number },
  required: ['left', 'right'],
};
const add = tool({ ...addition, parameters });
const asked = content => ({ messages: [{ role: 'user', content }] });

const { message, raw } = await llm.chat(asked(question ?? 'Why do rivers bend?'));
say('text', message.content);
say('usage', raw.usage);
if (!isAskedOnce) {
  let streamed = '';
  for await (const { delta } of await llm.chat({ ...asked('Why do rivers bend?'), stream: true }))
    streamed += delta;
  say('streamed', streamed);
  say('answer', (await agent({ llm, tools: [add] }).run(sum)).data.result);
}
