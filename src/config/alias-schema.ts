import { z } from 'zod';
import { aliasesSchema } from '../../plugins/stages/aliases/alias-table.ts';
import { off } from '../common/option-schemas.ts';
import { accountSchema } from '../records/configured-accounts.ts';

/** Options at the top level. */
export const aliasOptions = {
  aliases: aliasesSchema
    .default({})
    .describe(
      'Models by other names: `gpt-4o: openai/gpt-4o`, `claude-*: anthropic/claude-sonnet`. A name of the catalog is never an alias. The stage `aliases` is then the first of the chain.',
    ),
  list_aliases: off(
    'List the exact names of `aliases` in `/v1/models` as well, and answer `/v1/models/{id}` for every name that they cover.',
  ),
  aliases_in_replies: z
    .boolean()
    .default(true)
    .describe('Replies carry the alias that was asked for; `false`: the id of the model that answered.'),
};

/** An account of a configuration. */
export const configuredAccountSchema = accountSchema.extend({
  aliases: aliasesSchema
    .optional()
    .describe('Models by other names, for this account; they win over `aliases` at the top level.'),
});
