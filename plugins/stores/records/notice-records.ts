import {
  type ClaimedDelivery,
  type Database,
  type NewNotice,
  type NoticeDelivery,
  type NoticeQuery,
  type NoticeRecord,
  type NoticeRecords,
  rowMarks,
} from '../../../src/store-plugin.ts';
import { recordEntry } from './audit-log.ts';
import { pagedRecords } from './paged-records.ts';
import { Condition } from './statements.ts';

type StoredNotice = Omit<NewNotice, 'data'> & { readonly data: string };
type StoredDelivery = NoticeDelivery & { readonly notice: string };

const columns = 'id, key, subject, type, data, created_ms';
const deliveryColumns = 'notice, target, state, attempts, due_ms, ended_ms, fault';

const noticeOf = ({ data, ...row }: StoredNotice): NewNotice => ({
  ...row,
  data: JSON.parse(data) as NoticeRecord['data'],
});

/** The outbox of notices. A delivery is claimed by moving the time at which it is due. */
export const noticeRecords = (database: Database): NoticeRecords => {
  const paged = pagedRecords<NewNotice, NoticeQuery, StoredNotice>(database, {
    name: 'sluice.notices',
    columns,
    orderOf: () => ({ direction: 'DESC' }),
    recordOf: noticeOf,
    conditionOf: ({ id, subject }) => new Condition().and('id = ?', id).and('subject = ?', subject),
  });

  const withDeliveries = async (notices: readonly NewNotice[]): Promise<NoticeRecord[]> => {
    if (notices.length === 0) return [];
    const rows = await database.run<StoredDelivery>(
      `SELECT ${deliveryColumns} FROM sluice.notice_deliveries
      WHERE notice IN ${rowMarks(1, notices.length)} ORDER BY target`,
      notices.map(({ id }) => id),
    );
    const byNotice = Map.groupBy(rows, ({ notice }) => notice);
    return notices.map(notice => ({
      ...notice,
      deliveries: (byNotice.get(notice.id) ?? []).map(({ notice: _, ...delivery }) => delivery),
    }));
  };

  return {
    count: paged.count,
    list: async query => withDeliveries(await paged.list(query)),
    find: async id => (await withDeliveries(await paged.list({ id, limit: 1 })))[0],

    add: (notice, operator) =>
      database.transaction(async connection => {
        const row = { ...notice, data: JSON.stringify(notice.data) };
        const end = 'ON CONFLICT (key) DO NOTHING RETURNING id';
        const isAdded = (await connection.insert('sluice.notices', [row], end)).length > 0;
        const { type, subject, data } = notice;
        const detail = { type, limit: data.title };
        const entry = { action: 'account.notify', target: subject.replace(/^account:/, ''), detail } as const;
        if (isAdded && operator) await recordEntry(connection, operator, entry);
        return isAdded;
      }),

    async unrouted(limit) {
      const sql = `SELECT ${columns} FROM sluice.notices WHERE routed_ms IS NULL ORDER BY id LIMIT ?`;
      return (await database.run<StoredNotice>(sql, [limit])).map(noticeOf);
    },

    route: (id, targets, now_ms, sent = []) =>
      database.transaction(async connection => {
        const [routed] = await connection.run(
          'UPDATE sluice.notices SET routed_ms = ? WHERE id = ? AND routed_ms IS NULL RETURNING id',
          [now_ms, id],
        );
        if (!routed) return;
        const rows = [...new Set([...targets, ...sent])].map(target =>
          sent.includes(target)
            ? { notice: id, target, state: 'sent', attempts: 1, due_ms: null, ended_ms: now_ms, fault: '' }
            : {
                notice: id,
                target,
                state: 'waiting',
                attempts: 0,
                due_ms: now_ms,
                ended_ms: null,
                fault: '',
              },
        );
        if (rows.length > 0) await connection.insert('sluice.notice_deliveries', rows);
      }),

    claim: (now_ms, until_ms, limit) =>
      database.transaction(async connection => {
        // Of two that find the same rows the second one waits, and then finds them due later.
        const claimed = await connection.run<StoredDelivery>(
          `UPDATE sluice.notice_deliveries SET due_ms = ?, attempts = attempts + 1
          WHERE due_ms <= ? AND (notice, target) IN (SELECT notice, target FROM sluice.notice_deliveries
          WHERE due_ms <= ? ORDER BY due_ms LIMIT ?) RETURNING ${deliveryColumns}`,
          [until_ms, now_ms, now_ms, limit],
        );
        if (claimed.length === 0) return [];
        const ids = [...new Set(claimed.map(({ notice }) => notice))];
        const notices = await connection.run<StoredNotice>(
          `SELECT ${columns} FROM sluice.notices WHERE id IN ${rowMarks(1, ids.length)}`,
          ids,
        );
        const byId = new Map(notices.map(row => [row.id, noticeOf(row)]));
        return claimed.map(
          ({ notice, target, attempts }): ClaimedDelivery => ({
            ...{ target, attempts },
            notice: byId.get(notice)!,
          }),
        );
      }),

    settle: (id, { target, attempts }, result) =>
      database.transaction(async connection => {
        const { state, at_ms, fault } = result;
        const [due_ms, ended_ms] = state === 'waiting' ? [at_ms, null] : [null, at_ms];
        await connection.run(
          `UPDATE sluice.notice_deliveries SET state = ?, due_ms = ?, ended_ms = ?, fault = ?
          WHERE notice = ? AND target = ? AND attempts = ? AND due_ms IS NOT NULL`,
          [state, due_ms, ended_ms, fault, id, target, attempts],
        );
      }),

    async waiting() {
      const sql = 'SELECT COUNT(*) AS count FROM sluice.notice_deliveries WHERE due_ms IS NOT NULL';
      return (await database.run<{ count: number }>(sql))[0]!.count;
    },

    prune: (before_ms, limit) =>
      database.transaction(async connection => {
        const oldest = 'SELECT id FROM sluice.notices WHERE created_ms < ? ORDER BY id LIMIT ?';
        const values = [before_ms, limit];
        await connection.run(`DELETE FROM sluice.notice_deliveries WHERE notice IN (${oldest})`, values);
        const sql = `DELETE FROM sluice.notices WHERE id IN (${oldest}) RETURNING 1 AS deleted`;
        return (await connection.run(sql, values)).length;
      }),
  };
};
