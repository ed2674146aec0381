/** `npm run bench -- NAME` and `npm run drill -- NAME`: starts one of the tools. */
import { Command } from 'commander';
import { allTools } from './all-tools.ts';
import { say } from './tool.ts';

const [script = '', name, ...args] = process.argv.slice(2);
const tools = allTools[script]!;
const listed = tools.get(name ?? '');
if (!listed) {
  const lines = [...tools].map(([each, { what }]) => `  ${each.padEnd(18)} ${what}`);
  say(`npm run ${script} -- NAME [--help]\n\n${lines.join('\n')}`);
  process.exit(name === undefined || name === '--help' ? 0 : 2);
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

const tool = await listed.load();
const command = new Command(`npm run ${script} -- ${name}`).description(`${listed.what}. ${tool.about}`);
tool.options?.(command);
command.parse(args, { from: 'user' });
const typed = [`npm run ${script} --`, name, ...args].join(' ');
tool.run({ options: command.opts() as never, names: command.args, command: typed }).then(
  isWell => process.exit(isWell ? 0 : 1),
  (error: Error) => {
    say(error.stack ?? error.message);
    process.exit(1);
  },
);
