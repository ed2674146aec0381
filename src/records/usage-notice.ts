import { hour_ms } from '../common/durations.ts';
import { timeOrderedUuid } from '../common/ids.ts';
import { limitTable } from '../gateway/limits/limit-table.ts';
import type { LimitState } from './limit-states.ts';
import type { NewNotice } from './notice-records.ts';

/** Tells the contacts of an account how much of a limit is used, because an operator wants it: once in an hour for each limit. */
export function usageNotice(account: string, state: LimitState, now_ms: number): NewNotice {
  const { name, model, max, used, remaining, resets_at } = state;
  const title = `${limitTable[name].title}${model === undefined ? '' : `, model ${model}`}`;
  const used_percent = Math.floor((Number(used) / Number(max)) * 100);
  return {
    id: timeOrderedUuid(now_ms),
    key: ['used', account, name, model, Math.floor(now_ms / hour_ms)].join(':'),
    subject: `account:${account}`,
    type: 'limit.used',
    data: {
      account,
      ...(model !== undefined && { model }),
      limit: name,
      title,
      used_percent,
      used,
      max,
      remaining,
      resets_at,
    },
    created_ms: now_ms,
  };
}
