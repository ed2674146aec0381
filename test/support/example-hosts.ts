/** Runs the programs that follow a configuration among its arguments, one after the other: each prints its address. */
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const { stdout } = process;
const { write } = stdout;

for (const program of process.argv.slice(3)) {
  const printed = new Promise<void>(listening => {
    stdout.write = ((text: string) => {
      if (text.includes('listening on')) listening();
      return write.call(stdout, text);
    }) as typeof write;
  });
  await import(pathToFileURL(resolve(program)).href);
  await printed;
}
