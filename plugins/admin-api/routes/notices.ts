import { z } from 'zod';
import { type NoticeRecord, NotThere, testNotice } from '../../../src/plugin.ts';
import { time, timeOf, timeOrNull } from '../fields.ts';
import { listOf, pageFields, pageOf } from '../page-of.ts';
import { defineRoute } from '../route.ts';

const delivery = z.object({
  target: z.string().describe('`webhook:NAME` or `mail:ADDRESS`.'),
  state: z.enum(['waiting', 'sent', 'failed']),
  attempts: z.int(),
  due_at: time.nullable().describe('The next attempt.'),
  ended_at: time.nullable(),
  fault: z.string().describe('Why the last attempt failed; empty for none.'),
});

const notice = z
  .object({
    object: z.literal('notice'),
    id: z.string(),
    type: z.string(),
    subject: z.string().describe('`account:ID`, `provider:NAME`, `ledger`, `configuration` or `test`.'),
    data: z.record(z.string(), z.unknown()),
    created_at: time,
    deliveries: z.array(delivery).describe('Empty until an instance has decided who gets it.'),
  })
  .meta({ id: 'Notice' });

const viewOf = ({
  id,
  type,
  subject,
  data,
  created_ms,
  deliveries,
}: NoticeRecord): z.input<typeof notice> => ({
  object: 'notice',
  id,
  type,
  subject,
  data,
  created_at: timeOf(created_ms),
  deliveries: deliveries.map(({ target, state, attempts, due_ms, ended_ms, fault }) => ({
    target,
    state,
    attempts,
    due_at: timeOrNull(due_ms),
    ended_at: timeOrNull(ended_ms),
    fault,
  })),
});

const kept = <T>(notices: T | undefined): T => {
  if (!notices) throw new NotThere('the records store keeps no notices');
  return notices;
};

const listNotices = defineRoute({
  method: 'GET',
  path: '/notices',
  name: 'listNotices',
  summary: 'List notices with their deliveries, the newest first',
  permission: 'audit',
  query: z.strictObject({
    ...pageFields,
    subject: z.string().max(300).optional().describe('About this alone.'),
  }),
  reply: listOf(notice),
  async handler({ query: { subject, ...page }, context }) {
    const notices = kept(context.records.store.notices);
    return { body: await pageOf(page, edges => notices.list({ subject, ...edges }), viewOf) };
  },
});

const testNotices = defineRoute({
  method: 'POST',
  path: '/notices/test',
  name: 'testNotices',
  summary: 'Send a test to every receiver; list the notices to see who has it',
  permission: 'administer',
  reply: notice,
  status: 201,
  async handler({ context, operator }) {
    const made = testNotice(operator.actor, operator.at_ms);
    await kept(context.records.store.notices).add(made);
    return { body: viewOf({ ...made, deliveries: [] }) };
  },
});

/** Notices. */
export const noticeRoutes = [listNotices, testNotices];
