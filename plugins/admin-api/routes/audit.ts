import { z } from 'zod';
import { type AuditEntry, actionsNamed, auditActions, auditGroups } from '../../../src/plugin.ts';
import { givenTime, time, timeOf } from '../fields.ts';
import { listOf, pageFields, pageOf } from '../page-of.ts';
import { defineRoute } from '../route.ts';

const entry = z
  .object({
    object: z.literal('audit_entry'),
    id: z.string(),
    at: time,
    actor: z
      .string()
      .describe('`cli:alice`, `api:deploy` for a key of this API, or a user of the dashboard.'),
    address: z.string().describe('Network address; empty for the command line.'),
    action: z.enum(auditActions),
    target: z.string().describe('Id of the account or key.'),
    detail: z.unknown().describe('What was set, and under `before` what was there until then.'),
  })
  .meta({ id: 'AuditEntry' });

const viewOf = ({
  id,
  at_ms,
  actor,
  address,
  action,
  target,
  detail,
}: AuditEntry): z.input<typeof entry> => ({
  object: 'audit_entry',
  id,
  at: timeOf(at_ms),
  actor,
  address,
  action,
  target,
  detail: JSON.parse(detail),
});

const listAuditEntries = defineRoute({
  method: 'GET',
  path: '/audit',
  name: 'listAuditEntries',
  summary: 'List changes and sign-ins, the newest first',
  permission: 'audit',
  query: z.strictObject({
    ...pageFields,
    actor: z.string().max(300).optional().describe('By this person or key, as it is recorded.'),
    action: z
      .enum([...auditGroups.keys(), ...auditActions])
      .optional()
      .describe('An action, or a group of them.'),
    target: z.string().max(300).optional().describe('Of this account or key.'),
    from: givenTime.optional().describe('From this time on.'),
    until: givenTime.optional().describe('Before this time.'),
  }),
  reply: listOf(entry),
  async handler({ query: { actor, action, target, from, until, ...page }, context }) {
    const asked = {
      actor,
      target,
      actions: action === undefined ? undefined : actionsNamed(action),
      from_ms: from === undefined ? undefined : Date.parse(from),
      until_ms: until === undefined ? undefined : Date.parse(until),
    };
    const { audit } = context.records.store;
    return { body: await pageOf(page, edges => audit.list({ ...asked, ...edges }), viewOf) };
  },
});

/** The audit log. */
export const auditRoutes = [listAuditEntries];
