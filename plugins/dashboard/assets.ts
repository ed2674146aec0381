import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, extname } from 'node:path';

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** The library of charts: in a built package a copy among the assets, otherwise in the development dependency. */
const chart_library = 'uPlot.iife.min.js';

interface Assets {
  /** Contents by name. */
  readonly files: ReadonlyMap<string, Buffer>;
  /** Changes with any of them. */
  readonly hash: string;
}

let known: Assets | undefined;
/** Styles and scripts, read once; no other file can be requested. */
const assets = (): Assets => (known ??= readAssets());

/**
 * The folder of styles and scripts in links. It is named by what they contain, so that browsers need not ask for them again; scripts import each
 * other from the folder that they are in.
 */
export const assetFolder = (): string => `assets-${assets().hash}`;

/**
 * The file at a path below the dashboard; undefined if there is none. Another hash, as of an instance of another version, and none are answered
 * as well, to be asked for each time.
 */
export function assetAt(path: string) {
  const [, hash, name = ''] = /^assets(?:-([\w-]{16}))?\/(.+)$/.exec(path) ?? [];
  const body = assets().files.get(name);
  if (!body) return undefined;
  const caching = hash === assets().hash ? 'public, max-age=31536000, immutable' : 'no-cache';
  const headers = {
    'content-type': types[extname(name)]!,
    'cache-control': caching,
    etag: `W/"${assets().hash}"`,
  };
  return { status: 200, headers, body };
}

function readAssets(): Assets {
  const folder = new URL('./assets/', import.meta.url);
  const names = readdirSync(folder).filter(name => extname(name) in types);
  const places = names.map(name => new URL(name, folder));
  if (!names.includes(chart_library)) places.push(...installedLibrary());
  const files = new Map(places.map(file => [basename(file.pathname), readFileSync(file)]));
  const hash = createHash('sha256');
  for (const body of files.values()) hash.update(body);
  return { files, hash: hash.digest('base64url').slice(0, 16) };
}

/** Nothing where sources run without development dependencies: pages then have the tables of their charts. */
function installedLibrary(): URL[] {
  try {
    return [new URL(chart_library, import.meta.resolve('uplot'))].filter(file => existsSync(file));
  } catch {
    return [];
  }
}
