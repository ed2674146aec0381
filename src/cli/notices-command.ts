import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from 'commander';
import {
  type NoticeDelivery,
  type NoticeRecord,
  type NoticeRecords,
  testNotice,
} from '../records/notice-records.ts';
import {
  type CommandContext,
  CommandMistake,
  inStore,
  UsageMistake,
  type Voice,
  withConfig,
} from './command.ts';
import { type Column, firstRows, type ListOptions, shownRows, withList } from './output-table.ts';

/** `sluice notices …`. */
export function noticesCommand(voice: Voice): Command {
  const notices = new Command('notices')
    .description('notices to operators and customers')
    .addHelpText('after', '\nThe running gateway sends them: its configuration says to whom, under notices.');
  withConfig(notices.command('test'))
    .description('have a test sent to every receiver, and say who has it')
    .option('--wait <SECONDS>', 'how long to wait', secondsOf, 30)
    .action(inStore(test, voice));
  withList(withConfig(notices.command('list')))
    .description('list notices and where they have gone, newest first')
    .action(inStore(list, voice));
  return notices;
}

function secondsOf(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) > 0) return Number(text);
  throw new UsageMistake(`--wait must be a number of seconds above 0, not '${text}'`);
}

async function test(
  { store, operator, print }: CommandContext,
  { wait }: { readonly wait: number },
): Promise<void> {
  const notices = keptBy(store.notices);
  const notice = testNotice(operator.actor, operator.at_ms);
  await notices.add(notice);
  const deliveries = await tried(notices, notice.id, wait * 1000);
  if (deliveries.length === 0)
    throw new CommandMistake(
      `no gateway has sent it within ${wait} s: is one running with this store, and with receivers under notices?`,
    );
  for (const { target, state, attempts, fault } of deliveries)
    print(
      state === 'sent'
        ? `${target} has it`
        : `${target} does not have it, attempts: ${attempts} ${fault}`.trim(),
    );
  if (deliveries.some(({ state }) => state !== 'sent')) throw new CommandMistake('');
}

/** The deliveries of a notice once each has been tried, or as they are after `wait_ms`. */
async function tried(
  notices: NoticeRecords,
  id: string,
  wait_ms: number,
): Promise<readonly NoticeDelivery[]> {
  const end_ms = performance.now() + wait_ms;
  for (;;) {
    const { deliveries = [] } = (await notices.find(id)) ?? {};
    const isTried = ({ state, fault }: NoticeDelivery) => state !== 'waiting' || fault !== '';
    if ((deliveries.length > 0 && deliveries.every(isTried)) || performance.now() >= end_ms)
      return deliveries;
    await sleep(250);
  }
}

const columns: readonly Column<NoticeRecord>[] = [
  { title: 'time', value: ({ created_ms }) => new Date(created_ms).toISOString() },
  { title: 'type', value: ({ type }) => type },
  { title: 'about', value: ({ subject }) => subject },
  {
    title: 'receivers',
    value: ({ deliveries }) =>
      deliveries.map(({ target, state, fault }) => `${target} ${state}${fault && ` (${fault})`}`).join(', '),
  },
  { title: 'data', value: ({ data }) => JSON.stringify(data) },
];

async function list({ store, print, remark }: CommandContext, options: ListOptions): Promise<void> {
  const notices = keptBy(store.notices);
  const { rows, hasMore } = await firstRows(options.limit, page => notices.list(page));
  print(shownRows(rows, columns, options));
  if (hasMore) remark(`the newest ${options.limit}; --limit shows more`);
}

function keptBy(notices: NoticeRecords | undefined): NoticeRecords {
  if (notices) return notices;
  throw new CommandMistake('the records store keeps no notices');
}
