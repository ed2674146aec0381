import { expect, it } from '@jest/globals';
import { adapterNames } from '../../../../../src/cli/init/option-values.ts';
import { serverKinds } from '../../../../../src/cli/init/server-kinds.ts';

it('lists the adapters of all kinds of servers as values of --adapter', () => {
  expect(adapterNames).toEqual(serverKinds.map(({ adapter }) => adapter));
});
