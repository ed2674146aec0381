import { runCommandLine } from './program.ts';
import { keepGarbageYoung } from './v8-flags.ts';

keepGarbageYoung();
// At the end of a terminal session; Node's default would end the process.
process.on('SIGHUP', () => {});
runCommandLine(process.argv.slice(2), {
  print: text => void process.stdout.write(`${text}\n`),
  remark: text => void process.stderr.write(`${text}\n`),
}).catch(thrown => {
  process.stderr.write(`${thrown instanceof Error ? thrown.message : thrown}\n`);
  process.exit(1);
});
