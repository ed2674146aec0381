import { Agent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { z } from 'zod';
import { addition, isAskedOnce, key, model, question, say, sum, url } from './driver.mjs';

const add = createTool({
  id: addition.name,
  description: addition.description,
  inputSchema: z.object({ left: z.number(), right: z.number() }),
  execute: async wanted => addition.execute(wanted),
});
const settings = { instructions: 'Answer.', model: { id: `sluice/${model}`, url, apiKey: key } };
const plain = new Agent({ id: 'plain', name: 'plain', ...settings });
const calling = new Agent({ id: 'calling', name: 'calling', ...settings, tools: { add } });

const whole = await plain.generate(question ?? 'Why do rivers bend?');
say('text', whole.text);
say('reasoning', whole.reasoningText);
say('usage', whole.usage);
if (!isAskedOnce) {
  say('streamed', await (await plain.stream('Why do rivers bend?')).text);
  say('answer', (await calling.generate(sum)).text);
}
