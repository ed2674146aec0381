import { openAICompatible } from '@genkit-ai/compat-oai';
import { genkit, z } from 'genkit';
import { addition, isAskedOnce, key, model as name, question, say, sum, url } from './driver.mjs';

const ai = genkit({
  plugins: [openAICompatible({ name: 'sluice', apiKey: key, baseURL: url, maxRetries: 1 })],
});
const model = `sluice/${name}`;
const add = ai.defineTool(
  {
    name: addition.name,
    description: addition.description,
    inputSchema: z.object({ left: z.number(), right: z.number() }),
    outputSchema: z.string(),
  },
  async wanted => addition.execute(wanted),
);

const whole = await ai.generate({ model, prompt: question ?? 'Why do rivers bend?' });
say('text', whole.text);
say('reasoning', whole.reasoning);
say('usage', whole.usage);
if (!isAskedOnce) {
  const { response } = ai.generateStream({ model, prompt: 'Why do rivers bend?' });
  say('streamed', (await response).text);
  say('answer', (await ai.generate({ model, prompt: sum, tools: [add] })).text);
}
