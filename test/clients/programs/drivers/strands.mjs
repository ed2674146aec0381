import { Agent, tool } from '@strands-agents/sdk';
import { OpenAIModel } from '@strands-agents/sdk/models/openai';
import { z } from 'zod';
import { addition, api, isAskedOnce, key, model, question, say, sum, url } from './driver.mjs';

const clientConfig = { baseURL: url, maxRetries: 1 };
const settings = {
  model: new OpenAIModel({ api, modelId: model, apiKey: key, clientConfig }),
  printer: false,
};
const add = tool({
  name: addition.name,
  description: addition.description,
  inputSchema: z.object({ left: z.number(), right: z.number() }),
  callback: addition.execute,
});

const { lastMessage, metrics } = await new Agent(settings).invoke(question ?? 'Why do rivers bend?');
say('text', lastMessage.content.map(({ text = '' }) => text).join(''));
say('reasoning', lastMessage.content.map(({ reasoning }) => reasoning?.text ?? '').join(''));
say('usage', metrics?.accumulatedUsage);
if (!isAskedOnce) say('answer', String(await new Agent({ ...settings, tools: [add] }).invoke(sum)));
