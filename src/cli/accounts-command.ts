import { issuesOf, shownIssue } from '../diagnostics/config-error.ts';
import { noSuchName } from '../diagnostics/suggestion.ts';
import { limitOverridesSchema } from '../stores/limits/plan-limits.ts';
import {
  type AccountRecord,
  AlreadyThere,
  isAccountName,
  NotThere,
} from '../stores/records/account-records.ts';
import { asksForHelp, type CommandContext, parsed, type Voice, withContext } from './command.ts';
import { CommandMistake, noSuchCommand } from './flags.ts';
import { type Column, formatOf, shownRows, shownTime } from './output-table.ts';
import { pages } from './pages.ts';

const help = `sluice accounts: accounts of the records store (stores.records in the configuration)

  sluice accounts create NAME [--plan P] [--limits JSON] --config FILE
  sluice accounts set-plan NAME P --config FILE            P: a plan of the configuration, or - for none
  sluice accounts set-limits NAME JSON --config FILE       limits in place of the plan's, such as '{"requests_per_minute": 5}'; '{}' for none
  sluice accounts list [--search TEXT] [--plan P] [--limit N] [--format table|csv|json] --config FILE

Changes reach every running instance within 5 seconds; what an account has used stays counted.
Accounts of the configuration are changed there; their names cannot be taken here.
`;

const actions = ['create', 'set-plan', 'set-limits', 'list'].map(action => `accounts ${action}`);

/** `sluice accounts …`. */
export async function accountsCommand(args: readonly string[], voice: Voice): Promise<void> {
  const [action, ...rest] = args;
  if (action === undefined || action === 'help' || asksForHelp(args)) return voice.print(help);
  switch (action) {
    case 'create':
      return create(rest, voice);
    case 'set-plan':
      return setPlan(rest, voice);
    case 'set-limits':
      return setLimits(rest, voice);
    case 'list':
      return list(rest, voice);
    default:
      throw noSuchCommand(`accounts ${action}`, actions, help);
  }
}

async function create(args: readonly string[], voice: Voice): Promise<void> {
  const { values, positionals } = parsed('accounts create', args, {
    plan: { type: 'string' },
    limits: { type: 'string' },
  });
  const [id] = named('accounts create', positionals, ['NAME']);
  if (!isAccountName(id!))
    throw new CommandMistake(
      `'${id}' cannot be an account's name: letters, digits and _ . @ : + -, at most 128`,
    );
  await withContext('accounts create', values.config, voice, async desk => {
    refuseConfigured(desk, id!, 'its name is taken');
    const plan = values.plan === undefined ? null : planOf(desk, values.plan);
    const limits = limitsOf(desk, values.limits ?? '{}');
    await desk.store.accounts.create({ id: id!, plan, limits }, desk.operator).catch((thrown): never => {
      throw thrown instanceof AlreadyThere ? new CommandMistake(thrown.message) : thrown;
    });
    voice.print(`created account ${id}, plan: ${plan ?? 'none'}`);
    voice.remark(`a key for it: sluice keys create --account ${id} --config ${values.config}`);
  });
}

async function setPlan(args: readonly string[], voice: Voice): Promise<void> {
  const { values, positionals } = parsed('accounts set-plan', args, {});
  const [id, name] = named('accounts set-plan', positionals, ['NAME', 'PLAN']);
  await withContext('accounts set-plan', values.config, voice, async desk => {
    const plan = name === '-' ? null : planOf(desk, name!);
    await change(desk, id!, { plan });
    voice.print(`account ${id} has the plan ${plan ?? 'none'}`);
  });
}

async function setLimits(args: readonly string[], voice: Voice): Promise<void> {
  const { values, positionals } = parsed('accounts set-limits', args, {});
  const [id, json] = named('accounts set-limits', positionals, ['NAME', 'JSON']);
  await withContext('accounts set-limits', values.config, voice, async desk => {
    const limits = limitsOf(desk, json!);
    await change(desk, id!, { limits });
    voice.print(`account ${id} has the limits ${JSON.stringify(limits)}`);
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

async function list(args: readonly string[], voice: Voice): Promise<void> {
  const { values } = parsed('accounts list', args, {
    search: { type: 'string' },
    plan: { type: 'string' },
    limit: { type: 'string' },
    format: { type: 'string' },
    csv: { type: 'boolean' },
  });
  const format = formatOf(values.format, values.csv);
  await withContext('accounts list', values.config, voice, async ({ store, settings }) => {
    const query = {
      ...(values.search !== undefined && { search: values.search }),
      ...(values.plan !== undefined && { plan: values.plan }),
    };
    const { rows, hasMore } = await pages(values.limit, page => store.accounts.list({ ...query, ...page }));
    voice.print(shownRows(rows, columns, format));
    if (hasMore) voice.remark(`${await store.accounts.count(query)} accounts in all; --limit N shows more`);
    const names = settings.configured.map(({ id }) => id);
    if (names.length > 0) voice.remark(`and in the configuration: ${names.join(', ')}`);
  });
}

async function change(
  desk: CommandContext,
  id: string,
  set: Parameters<CommandContext['store']['accounts']['change']>[1],
): Promise<void> {
  refuseConfigured(desk, id, 'it is changed there');
  await desk.store.accounts.change(id, set, desk.operator).catch((thrown): never => {
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

function named(command: string, positionals: readonly string[], names: readonly string[]): readonly string[] {
  if (positionals.length === names.length) return positionals;
  throw new CommandMistake(
    `sluice ${command} takes ${names.join(' and ')}; given: ${positionals.join(' ') || 'nothing'}`,
  );
}
