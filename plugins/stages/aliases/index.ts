import { z } from 'zod';
import { defineStage, type StageFactory } from '../../../src/plugin.ts';
import { AliasTable, aliasesSchema } from './alias-table.ts';
import type { AliasesOptions } from './options.ts';

const schema = z.strictObject({
  names: aliasesSchema
    .default({})
    .describe('Models by other names: `{ gpt-4o: openai/gpt-4o, "claude-*": anthropic/claude-sonnet }`.'),
  accounts: z
    .record(z.string(), aliasesSchema)
    .default({})
    .describe('The same by account, wherever the account is kept; they win over `names`.'),
  in_replies: z
    .boolean()
    .default(true)
    .describe('Replies carry the name that was asked for; `false`: the id of the model that answered.'),
});

/** Lets clients ask for models by other names. A name of the catalog is never an alias. Stands before every stage that asks for the model. */
export const aliases: StageFactory<AliasesOptions> = defineStage({
  name: 'aliases',
  schema,
  create({ names, accounts, in_replies }) {
    const ofAll = new AliasTable(names);
    const byAccount = new Map(Object.entries(accounts).map(([id, own]) => [id, new AliasTable(own)]));
    return {
      mustRead: false,
      onRequest(exchange) {
        const { request, account, model } = exchange;
        if (model) return;
        const asked = request.model;
        const id = (account && byAccount.get(account.id)?.find(asked)) ?? ofAll.find(asked);
        if (id === undefined) return;
        request.model = id;
        if (in_replies) exchange.reply_model = asked;
      },
    };
  },
});
