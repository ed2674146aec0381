import { z } from 'zod';
import { placement_settings } from './reply-form.ts';
import { storeSchema } from './store/store-options.ts';
import { webSocketOption } from './web-socket-options.ts';

/** Options of the Responses API. */
export const responsesOptions = z.strictObject({
  reasoning_placement: z
    .enum(placement_settings)
    .default('auto')
    .describe(
      "Where reasoning stands in a response: `message`, first in the message's content; `item`, an output item of its own as OpenAI has it; `summary`, such an item with the text as its summary, where all clients look. `auto`: `summary` for requests with `include`, `store`, `reasoning`, `text`, `tools`, `parallel_tool_calls`, `truncation`, `prompt_cache_key` or `previous_response_id`, as agent clients send them, and for clients known by their `User-Agent` to need it; `message` for others. The header `x-reasoning-placement` overrides it with `message`, `item` or `summary`.",
    ),
  reasoning_placement_by_account: z
    .record(z.string(), z.enum(placement_settings))
    .optional()
    .describe('The same by the name of an account, wherever the account is kept.'),
  store: storeSchema,
  websocket: webSocketOption,
});
