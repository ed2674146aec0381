import { readFileSync, unwatchFile, watchFile } from 'node:fs';

/** How soon a change of the file is seen. Files that are mounted as secrets are replaced by links, which only looking again reveals. */
const watch_ms = 2000;

/** The keys of a file: one in each line, empty lines and lines that begin with `#` left out. Throws when there are none. */
export function readKeyFile(file: string): string[] {
  const keys = readFileSync(file, 'utf8')
    .split(/\r?\n/)
    .map(line => line.trim())
    .filter(line => line !== '' && !line.startsWith('#'));
  if (keys.length === 0) throw new Error('has no keys in it');
  const odd = keys.findIndex(key => !/^[\x21-\x7e]+$/.test(key));
  // The key itself is never said.
  if (odd !== -1) throw new Error(`key number ${odd + 1} has characters that no header can carry`);
  return keys;
}

/**
 * Reads the file again whenever it changes. What cannot be read is told to `onFault`, and the keys stay as they were. Returns what ends the
 * watch, which does not keep the process alive.
 */
export function watchKeyFile(
  file: string,
  onKeys: (keys: string[]) => void,
  onFault: (fault: unknown) => void,
): () => void {
  const look = () => {
    try {
      onKeys(readKeyFile(file));
    } catch (fault) {
      onFault(fault);
    }
  };
  watchFile(file, { interval: watch_ms, persistent: false }, look);
  return () => unwatchFile(file, look);
}
