import { Command } from 'commander';
import type { LimitRule } from '../gateway/limits/plan-limits.ts';
import { type AccountChange, type AccountRecord, max_display_name } from '../records/account-records.ts';
import { type CommandContext, inStore, type Voice, withConfig } from './command.ts';
import { type Column, firstRows, type ListOptions, shownRows, shownTime, withList } from './output-table.ts';
import {
  modelsOf,
  parsedJson,
  refusing,
  replacing,
  rulesOf,
  shownModels,
  type WasOption,
  withWas,
} from './record-changes.ts';

/** `sluice accounts …`. */
export function accountsCommand(voice: Voice): Command {
  const accounts = new Command('accounts').description('accounts of the records store').addHelpText(
    'after',
    `
Changes reach every running instance within 5 seconds; what an account has used stays counted.
Accounts of the configuration are changed there; their names cannot be used here.`,
  );
  withConfig(accounts.command('create <NAME>'))
    .description('create an account')
    .option('--plan <PLAN>', 'a plan of the configuration', '-')
    .option('--limits <JSON>', "limits in place of the plan's, such as '{\"requests_per_minute\": 5}'", '{}')
    .option(
      '--models <IDS>',
      'the models that it may use, divided by commas; ai/* for all that begin like that; - for all',
      '-',
    )
    .option('--parent <NAME>', 'an account whose limits hold for it as well; - for none', '-')
    .option('--contacts <ADDRESSES>', 'mail addresses of its people, with commas between them', '')
    .option('--display-name <TEXT>', `shown beside the name, ${max_display_name} characters at most`, '')
    .action(inStore(create, voice));
  withWas(withConfig(accounts.command('set-plan <NAME> <PLAN>')))
    .description('change its plan: one of the configuration, or - for none')
    .action(inStore(setPlan, voice));
  withWas(withConfig(accounts.command('set-limits <NAME> <JSON>')))
    .description(
      "set all limits of its own, each in place of the plan's of that name; '{}' for none of its own",
    )
    .action(inStore(setLimits, voice));
  withConfig(accounts.command('set-models <NAME> <IDS>'))
    .description('change the models that it may use, divided by commas; - for all')
    .action(inStore(setModels, voice));
  withWas(withConfig(accounts.command('set-parent <NAME> <PARENT>')))
    .description('put it below another account, whose limits hold for it as well; - for none')
    .action(inStore(setParent, voice));
  withWas(withConfig(accounts.command('set-display-name <NAME> <TEXT>')))
    .description("change what is shown beside its name; '' for nothing")
    .action(inStore(setDisplayName, voice));
  withWas(withConfig(accounts.command('set-contacts <NAME> <ADDRESSES>')))
    .description("change the mail addresses of its people, with commas between them; '' for none")
    .action(inStore(setContacts, voice));
  withConfig(accounts.command('disable <NAME>'))
    .description('refuse all its requests with 403; those in flight end normally')
    .action(inStore(disable, voice));
  withConfig(accounts.command('enable <NAME>'))
    .description('admit its requests again')
    .action(inStore(enable, voice));
  withConfig(accounts.command('credit <NAME> <DOLLARS>'))
    .description('add prepaid credit: dollars on top of its usd_total')
    .action(inStore(credit, voice));
  withList(withConfig(accounts.command('list')))
    .description('list accounts')
    .option('--search <TEXT>', 'a part of the name or of the display name')
    .option('--plan <PLAN>', 'accounts of this plan')
    .action(inStore(list, voice));
  return accounts;
}

interface CreateOptions {
  readonly config: string;
  readonly plan: string;
  readonly limits: string;
  readonly models: string;
  readonly parent: string;
  readonly displayName: string;
  readonly contacts: string;
}

async function create(context: CommandContext, id: string, options: CreateOptions): Promise<void> {
  const { settings, store } = context;
  const plan = nameOrNone(options.plan);
  const account = {
    id,
    plan,
    limits: parsedJson(options.limits),
    display_name: options.displayName.trim(),
    contacts: partsOf(options.contacts),
    parent: nameOrNone(options.parent),
    models: modelsOf(options.models),
  };
  await refusing(async ({ checkNewAccount, checkParent }) => {
    checkNewAccount(rulesOf(settings), account);
    await checkParent(rulesOf(settings), store.accounts, account.parent);
    await store.accounts.create(account, context.operator);
  });
  context.print(`created account ${id}, plan: ${plan ?? 'none'}`);
  context.remark(`a key for it: sluice keys create --account ${id} --config ${options.config}`);
}

async function setPlan(context: CommandContext, id: string, name: string, { was }: WasOption): Promise<void> {
  const plan = nameOrNone(name);
  await change(context, id, replacing('plan', plan, was === '-' ? null : was));
  context.print(`account ${id} has the plan ${plan ?? 'none'}`);
}

async function setLimits(
  context: CommandContext,
  id: string,
  json: string,
  { was }: WasOption,
): Promise<void> {
  const limits = parsedJson(json);
  const before = was === undefined ? undefined : parsedJson(was);
  await change(context, id, replacing<'limits', AccountRecord['limits']>('limits', limits, before));
  context.print(`account ${id} has the limits ${JSON.stringify(limits)}`);
}

async function setModels(context: CommandContext, id: string, text: string): Promise<void> {
  const models = modelsOf(text);
  await change(context, id, () => ({ models }));
  context.print(`account ${id} may use ${shownModels(models)}`);
}

async function setParent(
  context: CommandContext,
  id: string,
  name: string,
  { was }: WasOption,
): Promise<void> {
  const { settings, store } = context;
  const parent = nameOrNone(name);
  await refusing(({ checkParent }) => checkParent(rulesOf(settings), store.accounts, parent));
  await change(context, id, replacing('parent', parent, was === '-' ? null : was));
  context.print(`account ${id} has the parent ${parent ?? 'none'}`);
}

async function setDisplayName(
  context: CommandContext,
  id: string,
  text: string,
  { was }: WasOption,
): Promise<void> {
  const display_name = text.trim();
  await change(context, id, replacing('display_name', display_name, was));
  context.print(`account ${id} has the display name ${display_name || 'none'}`);
}

async function setContacts(
  context: CommandContext,
  id: string,
  text: string,
  { was }: WasOption,
): Promise<void> {
  const contacts = partsOf(text);
  await change(context, id, replacing('contacts', contacts, was === undefined ? undefined : partsOf(was)));
  context.print(`account ${id} has the contacts ${contacts.join(', ') || 'none'}`);
}

async function disable(context: CommandContext, id: string): Promise<void> {
  await refusing(async ({ checkIsStored }) => {
    checkIsStored(rulesOf(context.settings), id);
    await context.store.accounts.disable(id, context.operator);
  });
  context.print(`disabled account ${id}`);
  context.remark('every instance refuses its requests within 5 seconds');
}

async function enable(context: CommandContext, id: string): Promise<void> {
  await refusing(async ({ checkIsStored }) => {
    checkIsStored(rulesOf(context.settings), id);
    await context.store.accounts.enable(id, context.operator);
  });
  context.print(`enabled account ${id}`);
}

async function credit(context: CommandContext, id: string, amount_usd: string): Promise<void> {
  const { settings, store, operator } = context;
  const ofPlan = (plan: string | null) => (plan === null ? undefined : settings.plans[plan]?.usd_total);
  const { limits } = await refusing(async ({ checkIsStored }) => {
    checkIsStored(rulesOf(settings), id);
    return store.accounts.topUp(id, { amount_usd, ofPlan }, operator);
  });
  const { amountOfRule } = await import('../gateway/limits/plan-limits.ts');
  context.print(`account ${id} has a usd_total of ${amountOfRule(limits.usd_total as LimitRule)} dollars`);
}

async function change(
  { settings, store, operator }: CommandContext,
  id: string,
  changeOf: (now: AccountRecord) => AccountChange,
): Promise<void> {
  await refusing(async ({ checkIsStored, checkedAccountChange }) => {
    checkIsStored(rulesOf(settings), id);
    await store.accounts.change(id, checkedAccountChange(rulesOf(settings), changeOf), operator);
  });
}

const columns: readonly Column<AccountRecord>[] = [
  { title: 'account', value: ({ id }) => id },
  { title: 'plan', value: ({ plan }) => plan ?? '' },
  {
    title: 'limits',
    value: ({ limits }) => (Object.keys(limits).length === 0 ? '' : JSON.stringify(limits)),
  },
  { title: 'models', value: ({ models }) => models?.join(',') ?? '' },
  { title: 'parent', value: ({ parent }) => parent ?? '' },
  { title: 'display name', value: ({ display_name }) => display_name },
  { title: 'contacts', value: ({ contacts }) => contacts.join(', ') },
  { title: 'state', value: ({ disabled_ms }) => (disabled_ms === null ? 'enabled' : 'disabled') },
  { title: 'created', value: ({ created_ms }) => shownTime(created_ms) },
];

interface AccountListOptions extends ListOptions {
  readonly search?: string;
  readonly plan?: string;
}

async function list(
  { store, settings, print, remark }: CommandContext,
  options: AccountListOptions,
): Promise<void> {
  const query = { search: options.search, plan: options.plan };
  const { rows, hasMore } = await firstRows(options.limit, page =>
    store.accounts.list({ ...query, ...page }),
  );
  print(shownRows(rows, columns, options));
  if (hasMore) remark(`${await store.accounts.count(query)} accounts in all; --limit N shows more`);
  const names = Object.keys(settings.accounts);
  if (names.length > 0) remark(`and in the configuration: ${names.join(', ')}`);
}

/** A name; `null` for `-`. */
const nameOrNone = (name: string): string | null => (name === '-' ? null : name);

/** Parts of a text that are divided by commas. */
const partsOf = (text: string): readonly string[] => text.split(',').flatMap(part => part.trim() || []);
