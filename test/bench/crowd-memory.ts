import { readFileSync } from 'node:fs';

/** Resident memory of a process. */
export function rssBytesOf(pid: number): number {
  const kibibytes = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1];
  return Number(kibibytes) * 1024;
}

/** What all TCP connections of this machine hold in the kernel. */
export function kernelTcpBytes(): number {
  const pages = /^TCP: .* mem (\d+)/m.exec(readFileSync('/proc/net/sockstat', 'latin1'))?.[1];
  return Number(pages) * 4096;
}
