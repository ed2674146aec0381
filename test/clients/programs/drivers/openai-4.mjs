import OpenAI from 'openai';
import { addition, isAskedOnce, key, model, question, say, sum, url } from './driver.mjs';

const client = new OpenAI({ apiKey: key, baseURL: url, maxRetries: 1 });
const messages = [{ role: 'user', content: question ?? 'Why do rivers bend?' }];

const whole = await client.chat.completions.create({ model, messages });
say('text', whole.choices[0].message.content);
if (!isAskedOnce) {
  const stream = await client.chat.completions.create({
    model,
    messages,
    stream: true,
    stream_options: { include_usage: true },
  });
  let reasoning = '';
  for await (const { choices, usage } of stream) {
    reasoning += choices[0]?.delta.reasoning ?? '';
    if (usage) say('usage', usage);
  }
  say('reasoning', reasoning);

  const number = { type: 'number' };
  const parameters = { type: 'object', properties: { left: number, right: number } };
  const { name, description, execute } = addition;
  const tool = { name, description, parameters, parse: JSON.parse, function: execute };
  const run = client.beta.chat.completions.runTools({
    model,
    messages: [{ role: 'user', content: sum }],
    tools: [{ type: 'function', function: tool }],
  });
  say('answer', await run.finalContent());
}
