import { describe, expect, it } from '@jest/globals';
import { FormModel } from '../../../../../src/mount/passthrough/request-meter.ts';
import { ServedModels } from '../../../../../src/mount/passthrough/served-models.ts';
import { sampleModel } from '../../../sample-exchange.ts';

const model = (id: string, served: string, completion: string, provider = 'gpu') =>
  sampleModel({
    id,
    pricing: { prompt: '0.000001', completion },
    upstreams: [{ provider, model: served, priority: 1, weight: 1 }],
  });
const cheap = model('a/cheap', 'small', '0.000001');
const dear = model('a/dear', 'big', '0.00001');
const elsewhere = model('a/other', 'small', '0.1', 'cloud');
const models = new ServedModels([elsewhere, cheap, dear], 'gpu');

describe('the models that a provider serves', () => {
  it('are found by their ids, and by their names at this provider only', () => {
    expect(['a/cheap', 'small', 'a/other', 'none'].map(name => models.named(name))).toEqual([
      cheap,
      cheap,
      elsewhere,
      undefined,
    ]);
  });

  it('are those of the provider where another model has the name as its id', () => {
    const clash = model('big', 'other', '0', 'cloud');
    expect(new ServedModels([clash, dear], 'gpu').named('big')).toBe(dear);
    expect(new ServedModels([clash, dear], 'gpu').named('other')).toBeUndefined();
  });

  it.each([
    ['models/big', dear],
    ['BIG', dear],
    ['big-2025-08-06', dear],
    ['big-20250806', dear],
    ['big-latest', dear],
    ['a/dear:nitro', dear],
    ['big-2', undefined],
    ['bigger', undefined],
    ['2025-08-06', undefined],
  ])('are found however servers let a client write their names: %s', (name, expected) => {
    expect(models.named(name)).toBe(expected);
  });

  it('keep their own names apart where only a date or variant tells them apart', () => {
    const old = model('a/old', 'big-2024-01-01', '0.00002');
    const both = new ServedModels([old, dear], 'gpu');
    expect(['big', 'big-2024-01-01'].map(name => both.named(name))).toEqual([dear, old]);
  });

  it('have a dearest, which is never another provider\u2019s', () => {
    expect(models.dearest).toBe(dear);
    expect(new ServedModels([elsewhere], 'gpu').dearest).toBeUndefined();
  });

  it.each([
    ['/v1/engines/small/embeddings', '', cheap],
    ['/v1/engines/a/dear/embeddings', '', dear],
    ['/v1/engines/a%2Fdear/embeddings', '', dear],
    ['/v1/models/big:embedContent', '', dear],
    ['/v1/embeddings', '?x=1&model=a%2Fcheap', cheap],
    ['/v1/embeddings', '?model=none', undefined],
    ['/v1/smaller/embeddings', '', undefined],
  ])('are found in the target %s%s', (path, query, expected) => {
    expect(models.inTarget(path, path + query)).toBe(expected);
  });
});

describe('the model of a form', () => {
  const form = (value: string, name = 'name="model"') =>
    `--x\r\ncontent-disposition: form-data; name="file"\r\n\r\n${'y'.repeat(900)}name="model"\r\n--x\r\n` +
    `content-disposition: form-data; ${name}\r\ncontent-type: text/plain\r\n\r\n${value}\r\n--x--\r\n`;

  it('is found however the body is cut', () => {
    const bytes = Buffer.from(form('small'));
    for (const size of [1, 7, 100, bytes.length]) {
      const found = new FormModel();
      for (let at = 0; at < bytes.length; at += size) found.write(bytes.subarray(at, at + size));
      expect(found.model).toBe('small');
    }
  });

  it('is none where no field has its name', () => {
    const found = new FormModel();
    found.write(Buffer.from(form('small', 'name="models"')));
    expect(found.model).toBeUndefined();
  });
});
