import { describe, expect, it } from '@jest/globals';
import { resolveOptions } from '../../../src/simulator/options.ts';

describe('resolveOptions', () => {
  it('fills in defaults and leaves its argument unchanged', () => {
    const given = { ttft_ms: 5 };
    expect(resolveOptions(given)).toMatchObject({
      ttft_ms: 5,
      reasoning: 'field',
      usage: 'vllm',
      models: [],
    });
    expect(given).toEqual({ ttft_ms: 5 });
  });

  it('starts from other options when given', () => {
    const base = resolveOptions({ ttft_ms: 5, reasoning: 'tags' });
    expect(resolveOptions({ ttft_ms: 6 }, base)).toMatchObject({ ttft_ms: 6, reasoning: 'tags' });
  });

  it.each([
    [{ ttft: 5 } as object, /Unknown simulator option 'ttft'; accepted: host, port,/],
    [{ port: 70_000 }, /port must be an integer of at least 0 and at most 65535/],
    [{ tokens_per_second: -1 }, /tokens_per_second must be a number of at least 0/],
    [{ reasoning: 'both' } as object, /reasoning must be one of field, reasoning_content, tags/],
    [{ models: [''] }, /models must be a list of names/],
    [{ fail: 'status=500' }, /fail has no effect while fail_rate is 0/],
  ])('rejects %j', (options, message) => {
    expect(() => resolveOptions(options)).toThrow(message);
  });
});
