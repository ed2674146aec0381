import { Command } from 'commander';
import { notOneOf } from '../common/config-error.ts';
import { day_ms } from '../common/durations.ts';
import { type AuditEntry, actionsNamed, auditActions, auditGroups } from '../records/audit-log.ts';
import { type CommandContext, dayIn, inStore, UsageMistake, type Voice, withConfig } from './command.ts';
import { type Column, firstRows, type ListOptions, shownRows, withList } from './output-table.ts';

interface AuditOptions extends ListOptions {
  readonly who?: string;
  readonly action?: readonly AuditEntry['action'][];
  readonly target?: string;
  readonly from?: number;
  readonly to?: number;
}

/** `sluice audit`. */
export const auditCommand = (voice: Voice): Command =>
  withList(withConfig(new Command('audit')))
    .description('list changes and sign-ins, newest first')
    .option('--who <NAME>', 'by this person, such as cli:alice')
    .option(
      '--action <ACTION>',
      `${[...auditGroups.keys()].join(', ')}, or one such as key.revoke`,
      actionsOf,
    )
    .option('--target <ID>', 'of this account or key')
    .option('--from <DAY>', 'the first day in UTC, such as 2026-11-20', text =>
      Date.parse(dayIn('--from', text)),
    )
    .option('--to <DAY>', 'the last day', text => Date.parse(dayIn('--to', text)))
    .action(inStore(list, voice));

function actionsOf(text: string): readonly AuditEntry['action'][] {
  const actions = actionsNamed(text);
  if (actions) return actions;
  throw new UsageMistake(`--action ${notOneOf(text, [...auditGroups.keys(), ...auditActions])}`);
}

const columns: readonly Column<AuditEntry>[] = [
  { title: 'time', value: ({ at_ms }) => new Date(at_ms).toISOString() },
  { title: 'who', value: ({ actor }) => actor },
  { title: 'from', value: ({ address }) => address },
  { title: 'action', value: ({ action }) => action },
  { title: 'target', value: ({ target }) => target },
  { title: 'detail', value: ({ detail }) => detail },
];

async function list({ store, print, remark }: CommandContext, options: AuditOptions): Promise<void> {
  const { who: actor, action: actions, target, from: from_ms, to, limit } = options;
  const until_ms = to === undefined ? undefined : to + day_ms;
  const { rows, hasMore } = await firstRows(limit, page =>
    store.audit.list({ ...page, actor, actions, target, from_ms, until_ms }),
  );
  print(shownRows(rows, columns, options));
  if (hasMore) remark(`the newest ${limit}; --limit shows more`);
}
