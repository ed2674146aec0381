import { signedPicoUsd } from '../common/money.ts';
import { noSuchName } from '../common/suggestion.ts';
import type { KeyRecords } from './key-records.ts';
import type { AllowedTags, KeyTags, TagGroup } from './key-tags.ts';
import { namedKeys } from './named-keys.ts';
import { RecordRefused } from './record-errors.ts';
import type { UsageGroup, UsageQuery, UsageRecords, UsageSum } from './usage-records.ts';
import { totalOf } from './usage-total.ts';

/** What exchanges add up to; tags are empty where their key has none of this name. */
export type TaggedSum = UsageSum & { readonly [tag in TagGroup]?: string };

/** Which usage is added up, also by tags of keys. */
export interface TaggedQuery extends Omit<UsageQuery, 'by'> {
  /** One sum for each combination; a single sum of all without. */
  readonly by: readonly (UsageGroup | TagGroup)[];
}

/** What of a gateway says which tags keys have. */
export interface TagSource {
  /** The records. */
  readonly store: {
    readonly usage: Pick<UsageRecords, 'sum' | 'detailedSince'>;
    readonly keys: Pick<KeyRecords, 'named'>;
  };
  /** What the configuration says of tags, and of its own keys. */
  readonly settings: {
    readonly tags?: AllowedTags | undefined;
    readonly accounts: Readonly<
      Record<
        string,
        {
          readonly keys?:
            | readonly { readonly name?: string | undefined; readonly tags?: KeyTags | undefined }[]
            | undefined;
        }
      >
    >;
  };
}

/** Whether usage is grouped by a tag there. */
export const isTagGroup = (group: string): group is TagGroup => group.startsWith('tag:');

const nameOf = (group: TagGroup): string => group.slice('tag:'.length);

/**
 * What exchanges add up to, also by tags. The ledger knows no tags: its sums by key count to those that the keys have now. Rejects with
 * RecordRefused for an unknown tag, for a time of which there are no sums by key, and for more than `max_sums` of these.
 */
export async function sumByTags(
  source: TagSource,
  query: TaggedQuery,
  max_sums = Number.POSITIVE_INFINITY,
): Promise<TaggedSum[]> {
  const { by, order = 'group', limit, ...asked } = query;
  const { usage } = source.store;
  const groups = by.filter(group => !isTagGroup(group)) as UsageGroup[];
  if (groups.length === by.length) return (await usage.sum({ ...query, by: groups })) as TaggedSum[];
  checkNames(source.settings.tags ?? {}, by.filter(isTagGroup).map(nameOf));
  await checkIsKept(usage, asked);
  const most = max_sums === Number.POSITIVE_INFINITY ? {} : { limit: max_sums + 1 };
  const sums = await usage.sum({ ...asked, by: [...new Set<UsageGroup>([...groups, 'key'])], ...most });
  if (sums.length > max_sums)
    throw new RecordRefused(
      `there are more than ${max_sums} sums by key: ask for less time or fewer groups`,
      'by',
    );
  const tagsOf = await tagsByKey(source, [...new Set(sums.map(({ key }) => key!))]);
  const valuesOf = (sum: UsageSum) =>
    by.map(group => (isTagGroup(group) ? (tagsOf(sum.key!)[nameOf(group)] ?? '') : sum[group]!));
  const parts = Map.groupBy(sums, sum => JSON.stringify(valuesOf(sum)));
  const tagged = [...parts.values()].map(some => {
    const values = valuesOf(some[0]!);
    return { ...Object.fromEntries(by.map((group, at) => [group, values[at]])), ...totalOf(some) };
  });
  return (tagged as TaggedSum[]).sort(orderOf(order, by)).slice(0, limit);
}

function checkNames(allowed: AllowedTags, names: readonly string[]): void {
  const unknown = names.find(name => !Object.hasOwn(allowed, name));
  if (unknown !== undefined) throw new RecordRefused(noSuchName('tag', unknown, Object.keys(allowed)), 'by');
}

/** Sums by key are kept as long as those by the hour. What is older is in other sums alone, which is read first, so that it is no more than those. */
async function checkIsKept(
  usage: TagSource['store']['usage'],
  { account, from_day, to_day }: Pick<UsageQuery, 'account' | 'from_day' | 'to_day'>,
): Promise<void> {
  const { hours: first_day } = await usage.detailedSince();
  if (first_day !== undefined && from_day !== undefined && from_day > first_day) return;
  const last_day = [to_day, first_day].filter(day => day !== undefined).sort()[0];
  const early = { account, ...(from_day && { from_day }), ...(last_day && { to_day: last_day }) };
  const [whole] = await usage.sum({ ...early, by: [] });
  const kept = totalOf(await usage.sum({ ...early, by: ['hour'] }));
  if (!whole || whole.requests <= kept.requests) return;
  const since = first_day === undefined ? 'there are none' : `ask from the day after ${first_day} on`;
  throw new RecordRefused(`sums by key, and so by tag, are not kept of all of this time: ${since}`, 'from');
}

/** The tags of keys by their ids: those of the configuration are `ACCOUNT/NAME`. */
async function tagsByKey(
  { store, settings: { accounts } }: TagSource,
  ids: readonly string[],
): Promise<(id: string) => KeyTags> {
  const stored = await namedKeys(
    store.keys,
    ids.filter(id => id !== '' && !id.includes('/')),
  );
  const configured = (id: string): KeyTags | undefined => {
    const at = id.lastIndexOf('/');
    const account = id.slice(0, Math.max(at, 0));
    if (!Object.hasOwn(accounts, account)) return undefined;
    return accounts[account]!.keys?.find(({ name }) => name === id.slice(at + 1))?.tags;
  };
  const tags = new Map(ids.map(id => [id, stored.get(id)?.tags ?? configured(id) ?? {}]));
  return id => tags.get(id)!;
}

/** As the store orders them: the largest first, and equal ones by the names of their groups. */
function orderOf(order: NonNullable<UsageQuery['order']>, by: TaggedQuery['by']) {
  const sizeOf = {
    group: () => 0,
    cost: ({ cost_usd }: TaggedSum) => signedPicoUsd(cost_usd),
    tokens: ({ prompt_tokens, completion_tokens }: TaggedSum) => prompt_tokens + completion_tokens,
    requests: ({ requests }: TaggedSum) => requests,
  }[order];
  return (one: TaggedSum, other: TaggedSum): number => {
    const [size, otherSize] = [sizeOf(one), sizeOf(other)];
    if (size !== otherSize) return size > otherSize ? -1 : 1;
    const unlike = by.find(group => one[group] !== other[group]);
    if (unlike === undefined) return 0;
    return one[unlike]! < other[unlike]! ? -1 : 1;
  };
}
