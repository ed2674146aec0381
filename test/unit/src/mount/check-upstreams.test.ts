import { expect, it } from '@jest/globals';
import type { Model } from '../../../../src/gateway/catalog/catalog.ts';
import type { Provider } from '../../../../src/gateway/upstream/http/provider.ts';
import { checkUpstreams } from '../../../../src/mount/check-upstreams.ts';

const providers = [
  { name: 'all', adapter: { messageFields: new Set(['image_url']), operations: { embeddings: {} } } },
  { name: 'few', adapter: {} },
  undefined,
] as unknown as Provider[];
const model = (modality: string, operations?: string[]) =>
  ({
    id: 'a/m',
    architecture: { modality },
    operations,
    upstreams: ['all', 'few', 'broken'].map(provider => ({ provider })),
  }) as unknown as Model;

it.each<[string, Model, RegExp[]]>([
  ['nothing of chats in text', model('text->text', ['chat']), []],
  ['images', model('text+image->text'), [/^images, .* few has no image_url in messageFields$/]],
  ['operations', model('text->text', ['embeddings']), [/^requests for embeddings, .* few has no embeddings/]],
  ['both', model('image->text', ['rerank']), [/for rerank, .* all/, /^images/, /for rerank, .* few/]],
])('reports upstreams that cannot be sent %s', (_, one, expected) => {
  const issues = [...checkUpstreams([one], providers)];
  expect(issues.map(({ message }) => message.replace('cannot be sent ', ''))).toEqual(
    expected.map(form => expect.stringMatching(form)),
  );
});
