/** The images, as far as they can be proved without a container engine: no image is built here. */
import { execFile } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Copy, type Dockerfile, DockerfileParser } from 'dockerfile-ast';
import { validate } from 'dockerfile-utils';
import { expect, test } from 'vitest';
import { ROOT, readText } from './readme.ts';
import { expectUsable } from './variables.ts';

const DOCKERFILES = readdirSync(join(ROOT, 'infra/docker'))
  .filter((name) => name.endsWith('.Dockerfile'))
  .map((name) => `infra/docker/${name}`);

test('There is an image for the API and one for each kind of worker', () => {
  const names = ['api', 'worker-cpu', 'worker-cuda'].map((name) => `infra/docker/${name}.Dockerfile`);
  expect(DOCKERFILES).toEqual(names);
});

test.each(DOCKERFILES)('%s passes a linter for Dockerfiles', (path) => {
  const found = validate(readText(path)).map(({ message, range }) => `${range.start.line + 1}: ${message}`);
  expect(found).toEqual([]);
});

test.each(DOCKERFILES)('%s is built on the Node that the README asks for', (path) => {
  const [, wanted] = /needs Node (\d+)/.exec(readText('README.md')) ?? [];
  const versions = [...readText(path).matchAll(/^ARG NODE_IMAGE=node:(\d+)/gm)].map(([, version]) => version);
  expect(new Set(versions)).toEqual(new Set([wanted]));
});

test.each(DOCKERFILES)('%s copies only files and stages that exist', (path) => {
  const { copies, stages } = read(path);
  expect(copies.length).toBeGreaterThan(10);
  for (const { from, sources } of copies) {
    if (from !== undefined) expect(stages, `COPY --from=${from}`).toContain(from);
    for (const source of sources) {
      // dist does not exist before a build, so its sources are looked for.
      const here = source.replace(/^\/lehr\//, '').replace(/\/dist$/, '/src');
      if (!/^\/usr\/|^node_modules$|^npm\.cdx\.json$|^\/(?:cuda|ffmpeg|provider|about)\b/.test(here))
        expect(existsSync(join(ROOT, here)), source).toBe(true);
    }
  }
});

const KEPT = readText('.dockerignore')
  .split('\n')
  .flatMap((rule) => (rule.startsWith('!') ? [rule.slice(1)] : []));

test('.dockerignore names what it leaves in without wildcards, which older builders do not follow into folders', () => {
  expect(readText('.dockerignore').split('\n')).toContain('**');
  expect(KEPT.filter((path) => path.includes('*'))).toEqual([]);
  for (const path of KEPT) expect(existsSync(join(ROOT, path)), path).toBe(true);
});

test.each(DOCKERFILES)('%s copies only files that .dockerignore leaves in the context', (path) => {
  const context = repositoryFiles().filter((file) =>
    KEPT.some((kept) => file === kept || file.startsWith(`${kept}/`)),
  );
  for (const { from, sources } of read(path).copies) {
    if (from !== undefined) continue;
    for (const source of sources) {
      expect(
        context.filter((file) => file === source || file.startsWith(`${source}/`)),
        source,
      ).not.toEqual([]);
    }
  }
});

test.each(DOCKERFILES)(
  '%s copies the manifest of every workspace, because the lock file names them all',
  (path) => {
    const shown = read(path).copies.flatMap(({ from, sources }) => (from === undefined ? sources : []));
    const manifests = repositoryFiles().filter((file) =>
      /^(?:apps|packages)\/[^/]+\/package\.json$/.test(file),
    );
    expect(manifests.length).toBeGreaterThan(4);
    for (const manifest of manifests) expect(shown).toContain(manifest);
  },
);

test.each(DOCKERFILES)(
  '%s runs its program as an unprivileged user, with a health check and a stop signal',
  (path) => {
    const { last } = read(path);
    const value = (keyword: string): string | undefined =>
      last.filter((line) => line.startsWith(`${keyword} `)).at(-1);
    expect(value('USER')).toMatch(/^USER (1000:1000|10001:10001)$/);
    expect(value('STOPSIGNAL')).toBe('STOPSIGNAL SIGTERM');
    expect(value('HEALTHCHECK')).toMatch(/ CMD node infra\/docker\/healthy\.mjs "\$LEHR_(WORKER_)?PORT"$/);
    const program = /^CMD \["node", "(apps\/\w+)\/dist\/main\.js"\]$/.exec(value('CMD') ?? '')?.[1];
    expect(existsSync(join(ROOT, program ?? '', 'src/main.ts'))).toBe(true);
  },
);

test.each(DOCKERFILES.filter((path) => path.includes('worker')))(
  '%s has the ffmpeg that ffmpeg.sh builds, on its PATH, and its version and licence where bill.mjs reads them',
  (path) => {
    const text = readText(path);
    expect(text).toMatch(/AS ffmpeg\nCOPY infra\/docker\/ffmpeg\.sh .*\nRUN sh infra\/docker\/ffmpeg\.sh\n/);
    expect(text).toContain('COPY --from=ffmpeg /ffmpeg/ffmpeg /usr/local/bin/\n');
    expect(text).toContain('COPY --from=ffmpeg /ffmpeg/about /opt/ffmpeg/about\n');
    expect(readText('infra/docker/bill.mjs')).toContain("'/opt/ffmpeg/about'");
  },
);

test('ffmpeg.sh builds every demuxer and every other part that the worker asks ffmpeg for', () => {
  const parts = (kind: string): string[] =>
    (new RegExp(`--enable-${kind}='?([\\w,*]+)`).exec(readText('infra/docker/ffmpeg.sh'))?.[1] ?? '').split(
      ',',
    );
  const source = readText('apps/worker/src/parent/audio/ffmpeg.ts');
  const names = /const DEMUXERS[^{]*\{([^}]*)\}/.exec(source)?.[1].matchAll(/'(\w+)'/g) ?? [];
  expect(parts('demuxer')).toEqual([...names].map(([, name]) => name));
  expect(parts('protocol').join()).toBe(/-protocol_whitelist ([\w,]+) /.exec(source)?.[1]);
  expect(parts('filter')).toContain(/-af (\w+)=/.exec(source)?.[1]);
  expect(parts('muxer')).toEqual([`pcm_${/-f (f\w+) pipe:1/.exec(source)?.[1]}`]);
});

test.each(DOCKERFILES)('%s sets only variables that exist, to valid values', (path) => {
  const variables = Object.fromEntries(
    read(path)
      .last.filter((line) => line.startsWith('ENV '))
      .flatMap((line) => [...line.matchAll(/\b(LEHR_\w+)=(\S+)/g)].map(([, name, value]) => [name, value])),
  );
  expect(Object.keys(variables)).toContain('LEHR_HOME');
  expectUsable(variables);
});

test.each(DOCKERFILES)('%s installs every workspace that its program is built from', (path) => {
  const { last, copies } = read(path);
  const [, app] = /apps\/(\w+)\/dist\/main\.js/.exec(last.join('\n')) ?? [];
  const wanted = new Set<string>();
  const visit = (workspace: string): void => {
    if (wanted.has(workspace)) return;
    wanted.add(workspace);
    const { dependencies = {} } = JSON.parse(readText(`${workspace}/package.json`)) as {
      dependencies?: object;
    };
    for (const name of Object.keys(dependencies)) {
      if (!name.startsWith('@lehr/')) continue;
      const folders = ['packages', 'apps'].map((folder) => `${folder}/${name.slice(6)}`);
      visit(folders.find((folder) => existsSync(join(ROOT, folder))) ?? name);
    }
  };
  visit(`apps/${app}`);
  const copied = copies.filter(({ from }) => from === 'build').flatMap(({ sources }) => sources);
  const built = copied.filter((source) => source.endsWith('/dist')).map((source) => source.slice(6, -5));
  expect(built.sort()).toEqual([...wanted].sort());
  for (const workspace of wanted) expect(copied).toContain(`/lehr/${workspace}/package.json`);
});

test.each(DOCKERFILES)(
  '%s copies what changes often after what changes seldom, and lists what it consists of',
  (path) => {
    const { last } = read(path);
    const at = (part: string): number => last.findIndex((line) => line.includes(part));
    const order = [
      at('/lehr/node_modules node_modules'),
      at('infra/docker/bill.mjs /lehr lehr-'),
      at('packages/shared/dist'),
    ];
    expect(order).toEqual(order.toSorted((one, other) => one - other));
    expect(order[0]).toBeGreaterThan(0);
    expect(at('apps/studio/dist') > 0).toBe(path.includes('api'));
    expect(readText(path)).toMatch(/npm ci --omit=dev .*&& sh infra\/docker\/slim\.sh (?:api|worker)$/m);
  },
);

test('The CUDA image takes the provider in the version of onnxruntime-node, and every file by its checksum', () => {
  const text = readText('infra/docker/cuda-requirements.txt');
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  for (const line of lines) expect(line).toMatch(/^[\w-]+==[\d.]+ --hash=sha256:[0-9a-f]{64}$/);
  const worker = JSON.parse(readText('apps/worker/package.json')) as { dependencies: Record<string, string> };
  expect(text).toContain(`onnxruntime-gpu==${worker.dependencies['onnxruntime-node']} `);
  const steps = readText('infra/docker/worker-cuda.Dockerfile');
  expect(steps).toContain('pip install --no-cache-dir --require-hashes --no-deps --only-binary=:all:');
});

test('npm knows every setting of .npmrc and runs no install script', async () => {
  const { stdout, stderr } = await promisify(execFile)('npm', ['config', 'get', 'ignore-scripts'], {
    cwd: ROOT,
  });
  expect(stdout.trim()).toBe('true');
  expect(stderr).not.toContain('Unknown project config');
});

/** Paths of all files but the installed and built ones. */
function repositoryFiles(folder = ''): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (!entry.isDirectory()) return [path];
    return /^(?:node_modules|dist|\..*)$/.test(entry.name) ? [] : repositoryFiles(path);
  });
}

interface Read {
  readonly stages: readonly string[];
  readonly copies: readonly { readonly from: string | undefined; readonly sources: readonly string[] }[];
  /** The instructions of the stage that becomes the image, each on one line. */
  readonly last: readonly string[];
}

function read(path: string): Read {
  const file: Dockerfile = DockerfileParser.parse(readText(path));
  const froms = file.getFROMs();
  const lastLine = froms.at(-1)?.getRange().start.line ?? 0;
  return {
    stages: froms.flatMap((from) => from.getBuildStage() ?? []),
    copies: file.getCOPYs().map((copy: Copy) => ({
      from: copy.getFromFlag()?.getValue() ?? undefined,
      sources: copy
        .getArguments()
        .slice(0, -1)
        .map((argument) => argument.getValue()),
    })),
    last: file
      .getInstructions()
      .filter((instruction) => instruction.getRange().start.line >= lastLine)
      .map((instruction) =>
        `${instruction.getKeyword()} ${instruction.getRawArgumentsContent() ?? ''}`.replace(/\\\n\s*/g, ''),
      ),
  };
}
