import { describe, expect, it } from '@jest/globals';
import { builtInDialects, createDialects } from '../../../../../src/config/built-in-dialects.ts';
import type { Dialect } from '../../../../../src/gateway/dialects/define-dialect.ts';
import { pathOf, Routes } from '../../../../../src/gateway/inbound/routes.ts';

const options = {
  chat_completions: { reasoning_key: 'both' },
  responses: { reasoning_placement: 'item' },
} as const;
const routes = new Routes(createDialects(builtInDialects, options, { models: [] }));

describe('the path of a request', () => {
  it.each([
    ['/v1/models', '/v1/models'],
    ['/v1/models/', '/v1/models'],
    ['/v1/models?a=/v1/b', '/v1/models'],
    ['/v1/models/?', '/v1/models'],
    ['/', '/'],
    ['/?x', '/'],
    ['//', '/'],
    ['', '/'],
    ['http://gateway.example:8080/v1/models?a', '/v1/models'],
    ['HTTP://gateway.example', '/'],
    ['*', '*'],
  ])('is, for the target %s, %s', (url, path) => {
    expect(pathOf(url)).toBe(path);
  });
});

describe('the routes', () => {
  it.each([
    ['/v1/models', 'models', true, ['GET', 'HEAD']],
    ['/v1/models/a/b', 'models', true, ['GET', 'HEAD']],
    ['/v1/chat/completions', 'chat.completions', false, ['POST']],
    ['/v1/responses', 'responses', false, ['POST']],
  ])('serve %s in the dialect %s', (path, name, isPublic, methods) => {
    expect(routes.of(path)).toMatchObject({ name, public: isPublic, methods, dialect: { name } });
  });

  it.each(
    (
      '/ /v1 /v1/ /v1/model /v1/models/ /v1/modelsx /v1/responses/resp_1 /V1/models ' +
      '/v1//models /v1/%6dodels /toString __proto__'
    ).split(' '),
  )('serve nothing at %s', path => {
    expect(routes.of(path)).toBeUndefined();
  });

  it.each([
    ['/v1/models', '', 'models', '/v1/models'],
    ['/llm/v1/models', '/llm', 'models', '/v1/models'],
    ['/llm/v1/models/a/b', '/llm', 'models', '/v1/models/a/b'],
    ['/v1/models/a', '/v1', 'models', '/v1/models/a'],
    ['/llm/v1/chat/completions', '/llm/v1/chat/completions', 'chat.completions', '/v1/chat/completions'],
    ['/other/v1/models', '/llm', undefined, undefined],
    ['/admin/v1/models', '', undefined, undefined],
    ['/admin/v1/models/a', '', undefined, undefined],
    ['/v1/embeddings', '', undefined, undefined],
  ])('map %s below the mount path "%s" to %s', (path, mount, name, below) => {
    const found = routes.mounted(path, mount);
    expect([found?.route?.name, found?.path]).toEqual([name, below]);
  });

  it('prefer whole paths, then the longest of those that stand for all below', () => {
    const dialect = (name: string, path: string): Dialect => ({
      name,
      paths: { [path]: ['GET'] },
      public: true,
      errorBody: () => '',
      answer: () => ({ status: 200, headers: {} }),
    });
    const paths = ['/v1/*', '/v1/a/*', '/v1/a/b'];
    const nested = new Routes(paths.map(path => dialect(path, path)));
    expect(['/v1/x', '/v1/a/x/y', '/v1/a/b', '/v1/a'].map(path => nested.of(path)?.name)).toEqual([
      '/v1/*',
      '/v1/a/*',
      '/v1/a/b',
      '/v1/*',
    ]);
  });
});
