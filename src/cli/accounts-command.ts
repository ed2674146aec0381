import { Command } from 'commander';
import { noSuchName } from '../common/suggestion.ts';
import { amountOfRule, type LimitRule, limitOverridesSchema } from '../gateway/limits/plan-limits.ts';
import {
  type AccountChange,
  type AccountRecord,
  isAccountName,
  isDisplayName,
  max_display_name,
  sameName,
} from '../records/account-records.ts';
import { checkContacts } from '../records/account-rules.ts';
import { AlreadyThere, NotThere, RecordRefused } from '../records/record-errors.ts';
import {
  type CommandContext,
  CommandMistake,
  inStore,
  UsageMistake,
  type Voice,
  withConfig,
} from './command.ts';
import { type Column, firstRows, type ListOptions, shownRows, shownTime, withList } from './output-table.ts';
import {
  checkModels,
  modelsOf,
  parsedLimits,
  replacing,
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
    .description("change its limits, which replace the plan's; '{}' for none")
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
  if (!isAccountName(id))
    throw new UsageMistake(
      `'${id}' cannot be an account's name: letters, digits and _ . @ : + -, at most 128`,
    );
  const configured = sameName(
    context.settings.configured.map(account => account.id),
    id,
  );
  if (configured !== undefined) refuseConfigured(context, configured, 'its name is taken');
  const plan = planOf(context, options.plan);
  const limits = limitsOf(context, options.limits);
  const display_name = displayNameOf(options.displayName);
  const parent = await parentOf(context, options.parent);
  const contacts = contactsOf(options.contacts);
  const models = modelsOf(options.models);
  checkModels(context.settings, models);
  const account = { id, plan, limits, display_name, contacts, parent, models };
  await context.store.accounts.create(account, context.operator).catch(refused);
  context.print(`created account ${id}, plan: ${plan ?? 'none'}`);
  context.remark(`a key for it: sluice keys create --account ${id} --config ${options.config}`);
}

async function setPlan(context: CommandContext, id: string, name: string, { was }: WasOption): Promise<void> {
  const plan = planOf(context, name);
  // A plan that is no longer configured can be what was there.
  await change(context, id, replacing('plan', plan, was === '-' ? null : was));
  context.print(`account ${id} has the plan ${plan ?? 'none'}`);
}

async function setLimits(
  context: CommandContext,
  id: string,
  json: string,
  { was }: WasOption,
): Promise<void> {
  const limits = limitsOf(context, json);
  const before = was === undefined ? undefined : parsedLimits(was, limitOverridesSchema);
  await change(context, id, replacing<'limits', AccountRecord['limits']>('limits', limits, before));
  context.print(`account ${id} has the limits ${JSON.stringify(limits)}`);
}

async function setModels(context: CommandContext, id: string, text: string): Promise<void> {
  const models = modelsOf(text);
  checkModels(context.settings, models);
  await change(context, id, () => ({ models }));
  context.print(`account ${id} may use ${shownModels(models)}`);
}

async function setParent(
  context: CommandContext,
  id: string,
  name: string,
  { was }: WasOption,
): Promise<void> {
  const parent = await parentOf(context, name);
  await change(context, id, replacing('parent', parent, was === '-' ? null : was));
  context.print(`account ${id} has the parent ${parent ?? 'none'}`);
}

async function setDisplayName(
  context: CommandContext,
  id: string,
  text: string,
  { was }: WasOption,
): Promise<void> {
  const display_name = displayNameOf(text);
  await change(context, id, replacing('display_name', display_name, was));
  context.print(`account ${id} has the display name ${display_name || 'none'}`);
}

async function setContacts(
  context: CommandContext,
  id: string,
  text: string,
  { was }: WasOption,
): Promise<void> {
  const contacts = contactsOf(text);
  await change(context, id, replacing('contacts', contacts, was === undefined ? undefined : contactsOf(was)));
  context.print(`account ${id} has the contacts ${contacts.join(', ') || 'none'}`);
}

async function disable(context: CommandContext, id: string): Promise<void> {
  refuseConfigured(context, id, 'remove its keys there');
  await context.store.accounts.disable(id, context.operator).catch(refused);
  context.print(`disabled account ${id}`);
  context.remark('every instance refuses its requests within 5 seconds');
}

async function enable(context: CommandContext, id: string): Promise<void> {
  refuseConfigured(context, id, 'it cannot be disabled');
  await context.store.accounts.enable(id, context.operator).catch(refused);
  context.print(`enabled account ${id}`);
}

async function credit(context: CommandContext, id: string, amount_usd: string): Promise<void> {
  refuseConfigured(context, id, 'its usd_total is changed there');
  const { plan_limits } = context.settings;
  const ofPlan = (plan: string | null) => (plan === null ? undefined : plan_limits[plan]?.usd_total);
  const { accounts } = context.store;
  const { limits } = await accounts.topUp(id, { amount_usd, ofPlan }, context.operator).catch(refused);
  context.print(`account ${id} has a usd_total of ${amountOfRule(limits.usd_total as LimitRule)} dollars`);
}

async function change(
  context: CommandContext,
  id: string,
  set: (now: AccountRecord) => AccountChange,
): Promise<void> {
  refuseConfigured(context, id, 'it is changed there');
  await context.store.accounts.change(id, set, context.operator).catch(refused);
}

function refused(thrown: unknown): never {
  throw thrown instanceof AlreadyThere || thrown instanceof NotThere || thrown instanceof RecordRefused
    ? new CommandMistake(thrown.message)
    : thrown;
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
  const names = settings.configured.map(({ id }) => id);
  if (names.length > 0) remark(`and in the configuration: ${names.join(', ')}`);
}

/** An account of the configuration wins, so that one of the same name here would have no effect. */
function refuseConfigured({ settings }: CommandContext, id: string, why: string): void {
  if (settings.configured.some(account => account.id === id))
    throw new CommandMistake(`account '${id}' is one of the configuration: ${why}`);
}

function displayNameOf(text: string): string {
  const display_name = text.trim();
  if (isDisplayName(display_name)) return display_name;
  throw new UsageMistake(
    `a display name has ${max_display_name} characters at most, none of them control characters`,
  );
}

function contactsOf(text: string): readonly string[] {
  const contacts = text.split(',').flatMap(part => part.trim() || []);
  try {
    checkContacts(contacts);
  } catch (thrown) {
    throw new UsageMistake((thrown as Error).message);
  }
  return contacts;
}

/** A plan by its name; `null` for `-`. */
function planOf({ settings }: CommandContext, name: string): string | null {
  if (name === '-') return null;
  if (settings.plans.includes(name)) return name;
  throw new CommandMistake(noSuchName('plan', name, settings.plans));
}

/** The parent of this name, which must be there; `null` for `-`. */
async function parentOf({ settings, store }: CommandContext, name: string): Promise<string | null> {
  if (name === '-') return null;
  if (settings.configured.some(({ id }) => id === name) || (await store.accounts.find(name))) return name;
  throw new CommandMistake(`there is no account '${name}'`);
}

function limitsOf({ settings }: CommandContext, json: string): Record<string, unknown> {
  const limits = parsedLimits(json, limitOverridesSchema);
  for (const model of Object.keys(limits.models ?? {})) {
    if (!settings.models.includes(model))
      throw new CommandMistake(`limits: ${noSuchName('model', model, settings.models)}`);
  }
  return limits;
}
