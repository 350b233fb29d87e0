/** nginx and Caddy as real processes, with the files of infra/proxy in front of an API. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { join } from 'node:path';
import { vi } from 'vitest';
import { ROOT } from '../repo/readme.ts';
import { certificate } from '../support/certificate.ts';
import { whenDone } from '../support/cleanup.ts';
import { freePort } from '../support/ports.ts';
import { tempFolder } from '../support/tiny-models.ts';

export interface RunningProxy {
  readonly port: number;
  /** The certificate to trust. */
  readonly ca: string;
}

interface Setting {
  readonly apiPort: number;
  readonly port: number;
  readonly folder: string;
  readonly cert: string;
  readonly key: string;
}

/** Replaces what the files tell an operator to change. */
async function changed(
  file: string,
  changes: readonly (readonly [from: string, to: string])[],
): Promise<string> {
  let text = await readFile(join(ROOT, 'infra/proxy', file), 'utf8');
  for (const [from, to] of changes) {
    if (!text.includes(from)) throw new Error(`infra/proxy/${file} has no "${from}"`);
    text = text.replaceAll(from, to);
  }
  return text;
}

/** A main configuration that needs no rights, around the file of infra/proxy. */
async function nginx({ apiPort, port, folder, cert, key }: Setting): Promise<readonly string[]> {
  const site = await changed('nginx.conf', [
    ['127.0.0.1:8080', `127.0.0.1:${apiPort}`],
    ['listen 443', `listen 127.0.0.1:${port}`],
    ['lehr.example', 'localhost'],
    ['/etc/lehr/tls/cert.pem', cert],
    ['/etc/lehr/tls/key.pem', key],
  ]);
  const kinds = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  const temporary = kinds.map((kind) => `${kind}_temp_path ${folder}/${kind};`).join(' ');
  // As root, nginx would run as another user, who may not write here.
  const user = process.getuid?.() === 0 ? 'user root;' : '';
  const main = `${user} daemon off; pid ${folder}/pid; error_log ${folder}/error.log; events {}
http { access_log off; ${temporary}
${site}}`;
  const file = join(folder, 'main.conf');
  await writeFile(file, main);
  return ['nginx', '-p', folder, '-e', join(folder, 'error.log'), '-c', file];
}

async function caddy({ apiPort, port, folder, cert, key }: Setting): Promise<readonly string[]> {
  const site = await changed('Caddyfile', [
    ['127.0.0.1:8080', `127.0.0.1:${apiPort}`],
    ['lehr.example {', `https://localhost:${port} {\n\tbind 127.0.0.1\n\ttls ${cert} ${key}\n`],
  ]);
  const file = join(folder, 'Caddyfile');
  await writeFile(file, `{\n\tadmin off\n\tauto_https disable_redirects\n}\n${site}`);
  return ['caddy', 'run', '--config', file, '--adapter', 'caddyfile'];
}

const PROXIES = { nginx, caddy };
export type ProxyName = keyof typeof PROXIES;

/** Resolves when it takes connections. */
export async function startProxy(name: ProxyName, apiPort: number): Promise<RunningProxy> {
  const [folder, port, tls] = [await tempFolder('proxy'), await freePort(), await certificate()];
  const [command, ...args] = await PROXIES[name]({ apiPort, port, folder, ...tls });
  const child = spawn(command, args, {
    stdio: ['ignore', 'ignore', 'pipe'],
    // Where Caddy keeps its data.
    env: { PATH: `${process.env.PATH}:/usr/sbin`, HOME: folder },
  });
  let output = '';
  child.stderr.on('data', (text: Buffer) => {
    output += text;
  });
  const exit = once(child, 'exit');
  whenDone(async () => {
    child.kill('SIGTERM');
    await exit;
  });
  const proxy = { port, ca: await readFile(tls.cert, 'utf8') };
  await vi.waitFor(
    async () => {
      if (child.exitCode !== null) throw new Error(`${name} did not start: ${output}`);
      await send(proxy, '/healthz');
    },
    { timeout: 30_000 },
  );
  return proxy;
}

export interface Sent {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** The address of this machine that the request comes from. */
  readonly from?: string;
}

/** One request through the proxy. The path is sent as it is, without the normalisation of fetch. */
export function send(
  { port, ca }: RunningProxy,
  path: string,
  { method = 'GET', headers = {}, body, from }: Sent = {},
): Promise<{ readonly status: number; readonly text: string }> {
  return new Promise((resolve, reject) => {
    const options = {
      host: '127.0.0.1',
      servername: 'localhost',
      port,
      ca,
      path,
      method,
      agent: false,
    } as const;
    const sent = request(
      { ...options, headers: { host: 'localhost', ...headers }, ...(from && { localAddress: from }) },
      (response) => {
        let text = '';
        response.on('data', (chunk: Buffer) => {
          text += chunk;
        });
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
        response.on('error', reject);
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });
}
