import { describe, expect, it } from '@jest/globals';
import { rowMarks, type Value } from '../../../../../src/records/database.ts';
import { SqliteConnection } from '../../../../../src/records/sqlite/sqlite-connection.ts';

const insert = (columns: readonly string[]) =>
  `INSERT INTO sluice.letters (${columns.join(', ')}) VALUES ${rowMarks(1, columns.length)} ON CONFLICT (id) DO NOTHING RETURNING id`;

function connectionWith(columns: readonly string[]) {
  const connection = new SqliteConnection(':memory:');
  connection.run(`CREATE TABLE sluice.letters (${columns.join(', ')}, PRIMARY KEY (id))`);
  return connection;
}

describe('a statement that is run for several rows', () => {
  const columns = ['id', 'word'];

  it('inserts all of them, and returns what it says for each that is new', () => {
    const connection = connectionWith(columns);
    expect(connection.run(insert(columns), [2, 'two'])).toEqual({ rows: [{ id: 2 }] });
    expect(connection.run(insert(columns), [1, 'one', 2, 'other', 3, null], 3)).toEqual({
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

  it('says why it failed', () => {
    const connection = connectionWith(['id', 'word NOT NULL']);
    expect(connection.run(insert(columns), [1, 'one', 2, null], 2)).toMatchObject({ fault: { code: 19 } });
    connection.close();
  });

  it('keeps no memory for every number of rows that there has been', () => {
    const many = ['id', ...Array.from({ length: 19 }, (_, at) => `c${at}`)];
    const connection = connectionWith(many);
    const values: Value[] = Array.from({ length: 1000 }, (_, id) => [id, ...Array(19).fill(null)]).flat();
    connection.run(insert(many), values, 1000);
    const before = process.memoryUsage.rss();
    for (let rows = 880; rows < 1000; rows++) connection.run(insert(many), values.slice(0, rows * 20), rows);
    expect((process.memoryUsage.rss() - before) / 2 ** 20).toBeLessThan(150);
    connection.close();
  });
});
