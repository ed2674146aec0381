import { expect } from 'expect';
import OpenAI from 'openai';
import { clientKey } from '../../support/gateway-under-test.ts';
import { gateway, listOf } from '../place.ts';
import { triedOf } from '../tried.ts';

const model = 'aion-labs/aion-3.5';
const question = 'Why do rivers bend?';
const clientOf = (apiKey: string, headers = {}) =>
  new OpenAI({ apiKey, baseURL: `${gateway.url}/v1`, maxRetries: 0, defaultHeaders: headers });
const openai = clientOf(clientKey);

const requestOf = (content: string) => ({ model, messages: [{ role: 'user' as const, content }] });

triedOf('models', 'openAiChat', {
  'are listed for anybody, with ids, dates, prices and efforts': async () => {
    const { data } = await clientOf('sk-unknown').models.list();
    expect(data).toHaveLength(6);
    expect(data[0]).toMatchObject({
      object: 'model',
      created: 1_790_121_600,
      pricing: { input_cache_read: '0.00000075' },
      reasoning_effort: { supported: true, levels: ['low', 'high', 'max'], default: 'high' },
    });
    expect(await listOf(openai.models.list())).toEqual(data);
    expect(await openai.models.retrieve(model)).toEqual(data[0]);
  },
  'are 404 where they are unknown': async () => {
    const unknown = openai.models.retrieve('aion-labs/none');
    await expect(unknown).rejects.toMatchObject({ status: 404, type: 'invalid_request_error' });
  },
});

triedOf('whole replies', 'openAiChat', {
  'have all fields, and usage that adds up': async () => {
    const { data, request_id, response } = await openai.chat.completions
      .create(requestOf(question))
      .withResponse();
    expect(request_id).toMatch(/^req_./);
    expect(response.headers.get('x-request-id')).toBe(request_id);
    expect(data).toMatchObject({
      id: expect.stringMatching(/^chatcmpl-./),
      object: 'chat.completion',
      model,
      choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant' } }],
    });
    expect(Math.abs(data.created - Date.now() / 1000)).toBeLessThan(120);
    const { prompt_tokens, completion_tokens, total_tokens, prompt_tokens_details } = data.usage!;
    expect(completion_tokens).toBeGreaterThan(64);
    expect(total_tokens).toBe(prompt_tokens + completion_tokens);
    expect(prompt_tokens_details?.cached_tokens).toBe(Math.floor(prompt_tokens / 2));
  },
});
