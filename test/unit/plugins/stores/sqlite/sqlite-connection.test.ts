import { describe, expect, it } from '@jest/globals';
import { rowMarks, type Value } from '../../../../../plugins/stores/records/database.ts';
import { SqliteConnection } from '../../../../../plugins/stores/sqlite/sqlite-connection.ts';

const insert = (columns: readonly string[], rows: number) =>
  `INSERT INTO sluice.letters (${columns.join(', ')}) VALUES ${rowMarks(rows, columns.length)} ON CONFLICT (id) DO NOTHING RETURNING id`;

function connectionWith(columns: readonly string[]) {
  const connection = new SqliteConnection(':memory:');
  connection.run(`CREATE TABLE sluice.letters (${columns.join(', ')}, PRIMARY KEY (id))`);
  return connection;
}

describe('a statement that inserts several rows', () => {
  const columns = ['id', 'word'];

  it('inserts all of them, and returns what it says for each that is new', () => {
    const connection = connectionWith(columns);
    expect(connection.run(insert(columns, 1), [2, 'two'])).toEqual({ rows: [{ id: 2 }] });
    expect(connection.run(insert(columns, 3), [1, 'one', 2, 'other', 3, null])).toEqual({
      rows: [{ id: 1 }, { id: 3 }],
    });
    expect(connection.run('SELECT id, word FROM sluice.letters ORDER BY id')).toEqual({
      rows: [
        { id: 1, word: 'one' },
        { id: 2, word: 'two' },
        { id: 3, word: null },
      ],
    });
    connection.close();
  });

  it('may have values behind those of its rows', () => {
    const connection = connectionWith(columns);
    const sql =
      'INSERT INTO sluice.letters (id, word) VALUES (?, ?), (?, ?) ON CONFLICT (id) DO UPDATE SET word = ?';
    connection.run(sql, [1, 'one', 2, 'two', 'same']);
    connection.run(sql, [1, 'one', 2, 'two', 'same']);
    expect(connection.run('SELECT DISTINCT word FROM sluice.letters')).toEqual({ rows: [{ word: 'same' }] });
    connection.close();
  });

  it('says why it failed', () => {
    const connection = connectionWith(['id', 'word NOT NULL']);
    expect(connection.run(insert(columns, 2), [1, 'one', 2, null])).toMatchObject({ fault: { code: 19 } });
    connection.close();
  });

  it('keeps no memory for every number of rows that there has been', () => {
    const many = ['id', ...Array.from({ length: 19 }, (_, at) => `c${at}`)];
    const connection = connectionWith(many);
    const values: Value[] = Array.from({ length: 1000 }, (_, id) => [id, ...Array(19).fill(null)]).flat();
    connection.run(insert(many, 1000), values);
    const before = process.memoryUsage.rss();
    for (let rows = 880; rows < 1000; rows++) connection.run(insert(many, rows), values.slice(0, rows * 20));
    expect((process.memoryUsage.rss() - before) / 2 ** 20).toBeLessThan(150);
    connection.close();
  });
});
