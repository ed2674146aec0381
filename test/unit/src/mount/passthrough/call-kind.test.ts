import { expect, it } from '@jest/globals';
import { callKindOf } from '../../../../../src/mount/passthrough/call-kind.ts';

it.each([
  ['stores', '/v1/uploads /v1/batches /v1/containers/c /v1/fine_tuning/jobs /v1/assistants /v1/threads/t'],
  ['stores', '/v1/conversations /tokenize /detokenize'],
  ['reads', '/v1/moderations /pooling /similarity /v1/videos'],
  ['stores', '/v1/files /v1/files/f/content /v1/batches/b/cancel /v1/responses/input_tokens'],
  [
    'stores',
    '/v1/messages/count_tokens /models/m:countTokens /v1/files/embeddings /v1/vector_stores/v/speech',
  ],
  ['reads', '/v1/embeddings /v2/embed /v1/rerank /score /v1/scores /v1/classify /v1/images/edits'],
  ['reads', '/v1/audio/speech /models/m:embedContent /models/m:batchEmbedContents'],
  [
    'generates',
    '/v1/completions /v1/audio/transcriptions /v1/myfiles /v1/filesystem /models/m:generateContent',
  ],
  ['generates', '/v1/imagesque /models/m:countTokens/x /v1/speechless'],
])('%s: the calls of %s', (kind, paths) => {
  expect(paths.split(' ').map(path => [path, callKindOf(path)])).toEqual(
    paths.split(' ').map(path => [path, kind]),
  );
});
