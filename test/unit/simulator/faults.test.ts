import { afterEach, describe, expect, it } from '@jest/globals';
import { until } from '../../support/until.ts';
import { ask, closeAll, events, post, rawPost, simulate } from './client.ts';

afterEach(closeAll);

const stream = (content: string): object => ask(`Hello [[sim:reasoning=none]] ${content}`, { stream: true });
const count = (text: string): number => text.split('"object":"chat.completion.chunk"').length - 1;

describe('stream faults on the socket', () => {
  it('reset the connection before the headers with reset', async () => {
    const simulator = await simulate();
    expect(await rawPost(simulator, stream('[[sim:reset]]'))).toEqual({ text: '', ending: 'ECONNRESET' });
    await until(() => simulator.stats.open === 0);
    expect(simulator.stats).toMatchObject({ failed: 1, aborted: 0 });
  });

  it.each<[string, number, string]>([
    ['reset=0', 0, 'ECONNRESET'],
    ['reset=5', 5, 'ECONNRESET'],
    ['cut=3', 3, 'end'],
    ['stall', 0, 'still open'],
    ['stall=2', 2, 'still open'],
  ])('break off or stop after that many chunks with %s', async (directive, chunks, ending) => {
    const simulator = await simulate();
    const wait_ms = ending === 'still open' ? 400 : undefined;
    const reply = await rawPost(simulator, stream(`[[sim:${directive}]]`), wait_ms);
    expect(reply.text).toContain('HTTP/1.1 200 OK');
    expect([count(reply.text), reply.ending]).toEqual([chunks, ending]);
    expect(reply.text).not.toContain('\r\n0\r\n\r\n');
    await until(() => simulator.stats.open === 0);
    expect(simulator.stats).toMatchObject(wait_ms ? { aborted: 1, failed: 0 } : { aborted: 0, failed: 1 });
  });

  it('end cleanly without finish_reason and [DONE] with truncate=K', async () => {
    const response = await post(await simulate(), stream('[[sim:truncate=4]]'));
    const text = await response.text();
    expect(count(text)).toBe(4);
    expect(text).not.toContain('[DONE]');
    expect(text).not.toMatch(/"finish_reason":"/);
  });

  it('omit only [DONE] when they lie behind the last chunk', async () => {
    for (const directive of ['truncate=9999', 'no_done']) {
      const text = await (await post(await simulate(), stream(`[[sim:${directive}]]`))).text();
      expect(text).toContain('"finish_reason":"stop"');
      expect(text).not.toContain('[DONE]');
    }
  });

  it('send one malformed event, then the rest, with garbage=K', async () => {
    const data = events(await (await post(await simulate(), stream('[[sim:garbage=2]]'))).text());
    expect(() => JSON.parse(data[2] ?? '{}')).toThrow();
    for (const good of [data[1], data[3], data.at(-2)]) expect(() => JSON.parse(good ?? '')).not.toThrow();
    expect(data.at(-1)).toBe('[DONE]');
  });

  it('send an error event, then [DONE] as vLLM does, with error=K', async () => {
    const simulator = await simulate();
    const data = events(await (await post(simulator, stream('[[sim:error=2 say=Out of memory]]'))).text());
    expect(data).toHaveLength(4);
    expect(JSON.parse(data[2] ?? '')).toEqual({
      error: { message: 'Out of memory', type: 'InternalServerError', param: null, code: 500 },
    });
    expect(data[3]).toBe('[DONE]');
    await until(() => simulator.stats.open === 0);
    expect(simulator.stats.failed).toBe(1);
  });

  it.each([
    [
      'body=openrouter status=429',
      /^data: \{"id":.*"error":\{"message":.*"code":429.*"finish_reason":"error"\}\]\}$/,
    ],
    ['body=anthropic', /^event: error\ndata: \{"type":"error","error":\{"type":"api_error"/],
    ['body=llama_cpp', /^error: \{"code":500,"message":".*"\}$/],
    ['body=string', /^data: \{"error":"Simulated failure/],
  ])('send an error with %s in the form of that server', async (more, form) => {
    const text = await (await post(await simulate(), stream(`[[sim:error=2 ${more}]]`))).text();
    expect(text.split('\n\n')[2]).toMatch(form);
  });

  it('send a body that is no stream with html and json', async () => {
    const simulator = await simulate();
    const page = await post(simulator, stream('[[sim:html]]'));
    const plain = await post(simulator, stream('[[sim:json]]'));
    expect(page.status).toBe(200);
    expect(page.headers.get('content-type')).toMatch(/^text\/html/);
    expect(plain.headers.get('content-type')).toBe('application/json');
    expect(await plain.json()).toMatchObject({ object: 'chat.completion' });
  });
});

describe('simulated error replies', () => {
  it('have the body of vLLM and a Retry-After header, streamed or not', async () => {
    const simulator = await simulate();
    for (const more of [{}, { stream: true }]) {
      const response = await post(simulator, ask('[[sim:status=503 retry_after=3]]', more));
      expect(response.status).toBe(503);
      expect(response.headers.get('retry-after')).toBe('3');
      expect(await response.json()).toEqual({
        error: {
          message: 'Simulated failure with status 503.',
          type: 'ServiceUnavailableError',
          param: null,
          code: 503,
        },
      });
    }
    expect(simulator.stats.failed).toBe(2);
  });

  it.each([
    ['object', { object: 'error', message: 'No.', code: 429 }],
    ['string', { error: 'No.' }],
    ['fastapi', { detail: 'No.' }],
    ['openrouter', { error: { message: 'No.', code: 429 } }],
    ['anthropic', { type: 'error', error: { type: 'rate_limit_error', message: 'No.' } }],
    ['llama_cpp', { error: { code: 429, message: 'No.' } }],
  ])('have the form of body=%s', async (shape, body) => {
    const response = await post(await simulate(), ask(`[[sim:status=429 body=${shape} say=No.]]`));
    expect(await response.json()).toMatchObject(body);
  });

  it('are not JSON with body=html, text and empty', async () => {
    const simulator = await simulate();
    const reply = async (shape: string): Promise<string> => {
      const response = await post(simulator, ask(`[[sim:status=502 body=${shape} say=Bad Gateway]]`));
      return `${response.headers.get('content-type')} ${await response.text()}`;
    };
    expect(await reply('html')).toMatch(/^text\/html <html>[\s\S]*502 Bad Gateway/);
    expect(await reply('text')).toBe('text/plain; charset=utf-8 Bad Gateway');
    expect(await reply('empty')).toBe('text/plain ');
  });

  it('have status 200 with error200', async () => {
    const response = await post(await simulate(), ask('[[sim:error200 body=openrouter]]', { stream: true }));
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ error: { code: 502 } });
  });
});

describe('faults of a plain completion', () => {
  it.each([
    ['reset=1', 'ECONNRESET'],
    ['cut=1', 'end'],
  ])('break the connection in the middle of the body with %s', async (directive, expected) => {
    const { text, ending } = await rawPost(await simulate(), ask(`[[sim:${directive}]]`));
    const length = Number(/content-length: (\d+)/.exec(text)?.[1]);
    expect(text.split('\r\n\r\n')[1]?.length).toBe(Math.floor(length / 2));
    expect(ending).toBe(expected);
  });

  it('send half a body as if it were whole with garbage and truncate', async () => {
    for (const directive of ['garbage', 'truncate']) {
      const response = await post(await simulate(), ask(`[[sim:${directive}]]`));
      await expect(response.json()).rejects.toThrow();
    }
  });

  it('answer 500 with error', async () => {
    expect((await post(await simulate(), ask('[[sim:error=3]]'))).status).toBe(500);
  });
});

describe('the fail rate', () => {
  const statuses = async (seed: number): Promise<number[]> => {
    const simulator = await simulate({ fail_rate: 0.3, fail: 'status=429 retry_after=3', seed });
    const list: number[] = [];
    for (let i = 0; i < 60; i++) list.push((await post(simulator, ask('Hello'))).status);
    return list;
  };

  it('is met, repeats for the same seed and differs for another', async () => {
    const first = await statuses(1);
    const failed = first.filter(status => status === 429).length;
    expect(failed).toBeGreaterThan(8);
    expect(failed).toBeLessThan(30);
    expect(await statuses(1)).toEqual(first);
    expect(await statuses(2)).not.toEqual(first);
  });

  it('can be changed while the server runs', async () => {
    const simulator = await simulate({ fail_rate: 1 });
    const { url } = simulator;
    expect((await post(simulator, ask('Hello'))).status).toBe(503);
    simulator.configure({ fail_rate: 0 });
    expect((await post(simulator, ask('Hello'))).status).toBe(200);
    expect(simulator.url).toBe(url);
  });
});
