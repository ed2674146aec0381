import { describe, expect, it } from '@jest/globals';
import { fitted } from '../../../../../../src/gateway/upstream/attempt/fit-request.ts';
import { sampleRequest } from '../../../../sample-exchange.ts';

const messages = { fields: new Set<never>(), send_reasoning: 'tool_turns' as const };
const all = { parameters: new Set(['top_p', 'seed']), drop: [], extra: [], messages };

describe('a request fitted to its upstream', () => {
  const request = () =>
    sampleRequest({
      temperature: 0.5,
      stop: ['\n'],
      parameters: { top_p: 0.9, seed: 7, min_p: 0.1 },
      unknown: { top_k: 5, priority: 1 },
    });

  it('is the same object when it loses nothing', () => {
    const given = sampleRequest({ temperature: 0.5, parameters: { top_p: 0.9 } });
    expect(fitted(given, all)).toEqual({ request: given, ignored: [] });
    expect(fitted(given, all).request).toBe(given);
  });

  it('names the non-standard fields that this upstream is not sent', () => {
    expect(fitted(request(), all).ignored).toEqual(['top_k', 'priority']);
    expect(fitted(request(), { ...all, extra: ['top_k'] }).ignored).toEqual(['priority']);
  });

  it('loses the parameters that the adapter does not take, but keeps those of the operator', () => {
    const fit = fitted(request(), { ...all, parameters: new Set(['top_p']) });
    expect(fit.request.parameters).toEqual({ top_p: 0.9, min_p: 0.1 });
    expect(fit.ignored).toEqual(['top_k', 'priority', 'seed']);
  });

  it('loses the parameters that the configuration drops', () => {
    const fit = fitted(request(), { ...all, drop: ['temperature', 'stop', 'seed', 'logprobs'] });
    expect(fit.request).toEqual({
      ...sampleRequest(),
      parameters: { top_p: 0.9, min_p: 0.1 },
      unknown: { top_k: 5, priority: 1 },
    });
    expect(fit.ignored).toEqual(['top_k', 'priority', 'temperature', 'stop', 'seed']);
  });

  it('leaves the original whole for another upstream', () => {
    const given = request();
    fitted(given, { ...all, parameters: new Set(), drop: ['temperature', 'stop'] });
    expect(given).toEqual(request());
  });
});

describe('the failure of a tool', () => {
  const failure = { role: 'tool' as const, tool_call_id: 'a', content: 'No die.', is_error: true as const };
  const fittedTo = (fields: ReadonlySet<'is_error'>) =>
    fitted(sampleRequest({ messages: [failure] }), {
      parameters: new Set<string>(),
      drop: [],
      extra: [],
      messages: { ...messages, fields },
    });

  it('is left out for servers that have no such mark, and named', () => {
    const { is_error, ...plain } = failure;
    expect(fittedTo(new Set())).toMatchObject({
      request: { messages: [plain] },
      ignored: ['messages.is_error'],
    });
    expect(fittedTo(new Set()).request.messages[0]).not.toHaveProperty('is_error');
    expect(fittedTo(new Set(['is_error']))).toMatchObject({ request: { messages: [failure] }, ignored: [] });
  });
});
