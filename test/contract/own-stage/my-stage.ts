import { defineStage, fromGenerator } from 'sluice/plugin';
import { z } from 'zod';

/** A stage as someone else would write it, with the public API only. */
export default defineStage({
  name: 'my-stage',
  schema: z.strictObject({ word: z.string() }),
  create: ({ word }) => ({
    onRequest({ replyHeaders }) {
      replyHeaders['x-word'] = word;
    },
    onStream: () =>
      fromGenerator(async function* (chunks) {
        for await (const chunk of chunks) yield chunk;
      }),
  }),
});
