import { Command } from 'commander';
import { issuesOf, shownIssue } from '../diagnostics/config-error.ts';
import { noSuchName } from '../diagnostics/suggestion.ts';
import { limitOverridesSchema } from '../stores/limits/plan-limits.ts';
import {
  type AccountRecord,
  AlreadyThere,
  isAccountName,
  NotThere,
} from '../stores/records/account-records.ts';
import {
  type CommandContext,
  type RecordsOptions,
  recordsCommand,
  type Voice,
  withStore,
} from './command.ts';
import { CommandMistake } from './mistake.ts';
import { type Column, type ListOptions, listCommand, shownRows, shownTime } from './output-table.ts';
import { pages } from './pages.ts';

interface CreateOptions extends RecordsOptions {
  readonly plan?: string;
  readonly limits: string;
}

interface AccountListOptions extends ListOptions {
  readonly search?: string;
  readonly plan?: string;
}

/** `sluice accounts …`. */
export const accountsCommand = (voice: Voice): Command =>
  new Command('accounts')
    .description('accounts of the records store')
    .addCommand(
      recordsCommand('create <NAME>')
        .description('create an account')
        .option('--plan <PLAN>', 'a plan of the configuration')
        .option(
          '--limits <JSON>',
          "limits in place of the plan's, such as '{\"requests_per_minute\": 5}'",
          '{}',
        )
        .action((id: string, options: CreateOptions) => create(id, options, voice)),
    )
    .addCommand(
      recordsCommand('set-plan <NAME> <PLAN>')
        .description('change its plan: one of the configuration, or - for none')
        .action(async (id: string, name: string, options: RecordsOptions) =>
          withStore(options, async context => {
            const plan = name === '-' ? null : planOf(context, name);
            await change(context, id, { plan });
            voice.print(`account ${id} has the plan ${plan ?? 'none'}`);
          }),
        ),
    )
    .addCommand(
      recordsCommand('set-limits <NAME> <JSON>')
        .description("change its limits, which replace the plan's; '{}' for none")
        .action(async (id: string, json: string, options: RecordsOptions) =>
          withStore(options, async context => {
            const limits = limitsOf(context, json);
            await change(context, id, { limits });
            voice.print(`account ${id} has the limits ${JSON.stringify(limits)}`);
          }),
        ),
    )
    .addCommand(
      listCommand(recordsCommand('list'))
        .description('list accounts')
        .option('--search <TEXT>', 'a part of the name')
        .option('--plan <PLAN>', 'accounts of this plan')
        .action((options: AccountListOptions) => list(options, voice)),
    )
    .addHelpText(
      'after',
      `
Changes reach every running instance within 5 seconds; what an account has used stays counted.
Accounts of the configuration are changed there; their names cannot be used here.`,
    );

async function create(id: string, options: CreateOptions, voice: Voice): Promise<void> {
  if (!isAccountName(id))
    throw new CommandMistake(
      `'${id}' cannot be an account's name: letters, digits and _ . @ : + -, at most 128`,
    );
  await withStore(options, async context => {
    refuseConfigured(context, id, 'its name is taken');
    const plan = options.plan === undefined ? null : planOf(context, options.plan);
    const limits = limitsOf(context, options.limits);
    await context.store.accounts.create({ id, plan, limits }, context.operator).catch((thrown): never => {
      throw thrown instanceof AlreadyThere ? new CommandMistake(thrown.message) : thrown;
    });
    voice.print(`created account ${id}, plan: ${plan ?? 'none'}`);
    voice.remark(`a key for it: sluice keys create --account ${id} --config ${options.config}`);
  });
}

const columns: readonly Column<AccountRecord>[] = [
  { title: 'account', value: ({ id }) => id },
  { title: 'plan', value: ({ plan }) => plan ?? '' },
  {
    title: 'limits',
    value: ({ limits }) => (Object.keys(limits).length === 0 ? '' : JSON.stringify(limits)),
  },
  { title: 'created', value: ({ created_ms }) => shownTime(created_ms) },
];

async function list(options: AccountListOptions, voice: Voice): Promise<void> {
  await withStore(options, async ({ store, settings }) => {
    const { search, plan } = options;
    const query = { ...(search !== undefined && { search }), ...(plan !== undefined && { plan }) };
    const { rows, hasMore } = await pages(options.limit, page => store.accounts.list({ ...query, ...page }));
    voice.print(shownRows(rows, columns, options));
    if (hasMore) voice.remark(`${await store.accounts.count(query)} accounts in all; --limit N shows more`);
    const names = settings.configured.map(({ id }) => id);
    if (names.length > 0) voice.remark(`and in the configuration: ${names.join(', ')}`);
  });
}

async function change(
  context: CommandContext,
  id: string,
  set: Parameters<CommandContext['store']['accounts']['change']>[1],
): Promise<void> {
  refuseConfigured(context, id, 'it is changed there');
  await context.store.accounts.change(id, set, context.operator).catch((thrown): never => {
    throw thrown instanceof NotThere ? new CommandMistake(thrown.message) : thrown;
  });
}

/** An account of the configuration wins, so that one of the same name here would have no effect. */
function refuseConfigured({ settings }: CommandContext, id: string, why: string): void {
  if (settings.configured.some(account => account.id === id))
    throw new CommandMistake(`account '${id}' is one of the configuration: ${why}`);
}

function planOf({ settings }: CommandContext, name: string): string {
  if (settings.plans.includes(name)) return name;
  throw new CommandMistake(noSuchName('plan', name, settings.plans));
}

function limitsOf({ settings }: CommandContext, json: string): Record<string, unknown> {
  let given: unknown;
  try {
    given = JSON.parse(json);
  } catch {
    throw new CommandMistake(`limits must be JSON, such as '{"requests_per_minute": 5}'; not '${json}'`);
  }
  const checked = limitOverridesSchema.safeParse(given);
  if (!checked.success) {
    const [issue] = issuesOf(checked.error, limitOverridesSchema, given);
    throw new CommandMistake(`limits: ${shownIssue(issue!)}`);
  }
  for (const model of Object.keys(checked.data.models ?? {})) {
    if (!settings.models.includes(model))
      throw new CommandMistake(`limits: ${noSuchName('model', model, settings.models)}`);
  }
  return checked.data;
}
