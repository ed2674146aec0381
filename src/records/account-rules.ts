import { issuesOf, shownIssue } from '../common/config-error.ts';
import { noSuchName } from '../common/suggestion.ts';
import { namesModel } from '../gateway/accounts/model-lists.ts';
import { keyLimitsSchema, limitOverridesSchema } from '../gateway/limits/plan-limits.ts';
import {
  type AccountChange,
  type AccountRecord,
  type AccountRecords,
  type ChangeOf,
  isAccountName,
  isContact,
  isDisplayName,
  max_contacts,
  max_display_name,
  type NewAccount,
  sameName,
} from './account-records.ts';
import { modelListSchema } from './configured-accounts.ts';
import { isKeyName, type KeyChange, type KeyRecord, max_key_name } from './key-records.ts';
import { type AllowedTags, checkTags } from './key-tags.ts';
import { AlreadyThere, ConfiguredRecord, RecordRefused } from './record-errors.ts';

/** What of a gateway decides which accounts can be kept. */
export interface AccountRules {
  /** What the configuration says of plans, accounts and tags. */
  readonly settings: {
    readonly plans: object;
    readonly accounts: object;
    readonly tags?: AllowedTags | undefined;
  };
  /** The models. */
  readonly catalog: { readonly models: readonly { readonly id: string }[] };
}

/** Throws RecordRefused for values with which an account could not be served, and AlreadyThere for the name of one in the configuration. */
export function checkNewAccount(rules: AccountRules, account: NewAccount): void {
  const { id } = account;
  if (!isAccountName(id))
    throw new RecordRefused(
      `'${id}' cannot be an account's name: letters, digits and _ . @ : + -, at most 128`,
      'id',
    );
  const configured = sameName(Object.keys(rules.settings.accounts), id);
  if (configured !== undefined) throw new AlreadyThere(configured, ' in the configuration');
  checkAccountChange(rules, account);
}

/** Throws RecordRefused for values with which an account could not be served. */
export function checkAccountChange(
  { settings, catalog }: AccountRules,
  { plan, limits, display_name = '', contacts = [], models }: AccountChange,
): void {
  const plans = Object.keys(settings.plans);
  if (plan != null && !plans.includes(plan)) throw new RecordRefused(noSuchName('plan', plan, plans), 'plan');
  if (!isDisplayName(display_name))
    throw new RecordRefused(
      `a display name has ${max_display_name} characters at most, none of them control characters, and no space around it`,
      'display_name',
    );
  checkContacts(contacts);
  checkModels({ catalog }, models);
  if (limits === undefined) return;
  const known = catalog.models.map(model => model.id);
  const unknown = Object.keys(checkedLimits(limitOverridesSchema, limits).models ?? {}).find(
    model => !known.includes(model),
  );
  if (unknown !== undefined)
    throw new RecordRefused(`limits: ${noSuchName('model', unknown, known)}`, 'limits');
}

/** What `set` makes of an account within the transaction of the change; throws RecordRefused, and nothing is set. */
export const checkedAccountChange =
  (rules: AccountRules, set: ChangeOf<AccountRecord, AccountChange>) =>
  (now: AccountRecord): AccountChange => {
    const change = typeof set === 'function' ? set(now) : set;
    checkAccountChange(rules, change);
    return change;
  };

/** Throws RecordRefused for a list of models that is none, or names one that is not there. */
export function checkModels(
  { catalog }: Pick<AccountRules, 'catalog'>,
  models: readonly string[] | null | undefined,
): void {
  if (models == null) return;
  if (!modelListSchema.safeParse(models).success)
    throw new RecordRefused('models: must be a list of model ids', 'models');
  const known = catalog.models.map(({ id }) => id);
  const unknown = models.find(name => !known.some(id => namesModel([name], id)));
  if (unknown !== undefined)
    throw new RecordRefused(`models: ${noSuchName('model', unknown, known)}`, 'models');
}

/** Rejects with RecordRefused for a parent that is not there: those below it would be refused. */
export async function checkParent(
  { settings }: AccountRules,
  accounts: Pick<AccountRecords, 'find'>,
  parent: string | null | undefined,
): Promise<void> {
  if (parent == null || Object.hasOwn(settings.accounts, parent) || (await accounts.find(parent))) return;
  throw new RecordRefused(`there is no account '${parent}'`, 'parent');
}

/** Throws RecordRefused for what are no mail addresses, or too many. */
export function checkContacts(contacts: readonly string[]): void {
  const wrong = contacts.find(contact => !isContact(contact));
  if (wrong !== undefined) throw new RecordRefused(`'${wrong}' is no mail address`, 'contacts');
  if (contacts.length > max_contacts)
    throw new RecordRefused(`an account has ${max_contacts} contacts at most`, 'contacts');
}

/** Throws ConfiguredRecord for an account of the configuration: it is changed there. */
export function checkIsStored({ settings }: AccountRules, id: string): void {
  if (Object.hasOwn(settings.accounts, id))
    throw new ConfiguredRecord(`account '${id}' is one of the configuration: it is changed there`);
}

/** Throws RecordRefused for values that a key cannot have. */
export function checkKey(
  rules: AccountRules,
  { name = '', limits = {}, expires_ms = null, models, tags }: KeyChange,
  now_ms: number,
): void {
  if (!isKeyName(name))
    throw new RecordRefused(
      `a key's name has ${max_key_name} characters at most, none of them control characters`,
      'name',
    );
  if (expires_ms !== null && !(expires_ms > now_ms))
    throw new RecordRefused('its end has passed already', 'expires_ms');
  checkedLimits(keyLimitsSchema, limits);
  checkModels(rules, models);
  checkTags(rules.settings.tags, tags);
}

/** What `set` makes of a key within the transaction of the change; throws RecordRefused, and nothing is set. */
export const checkedKeyChange =
  (rules: AccountRules, set: ChangeOf<KeyRecord, KeyChange>, now_ms: number) =>
  (now: KeyRecord): KeyChange => {
    const change = typeof set === 'function' ? set(now) : set;
    checkKey(rules, change, now_ms);
    return change;
  };

function checkedLimits<S extends typeof limitOverridesSchema | typeof keyLimitsSchema>(
  schema: S,
  limits: unknown,
) {
  const checked = schema.safeParse(limits);
  if (checked.success) return checked.data as { readonly models?: Readonly<Record<string, unknown>> };
  const [issue] = issuesOf(checked.error, schema, limits);
  throw new RecordRefused(`limits: ${shownIssue(issue!)}`, 'limits');
}
