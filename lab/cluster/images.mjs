/** The images that the chart names, built from the Dockerfiles by the engine of the suite `containers`, in one archive that containerd imports. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '../../infra/local/command.mjs';
import { DOCKER, ENGINE_ENV, isEngineRunning, startEngine, stopEngine } from '../containers/engine.mjs';
import { ensurePrograms } from '../containers/programs.mjs';
import { makeStandIns } from '../containers/stand-ins.mjs';

const BUILT = { 'lehr-api': 'api', 'lehr-worker-cpu': 'worker-cpu' };
const BASES = ['redis:7.4-bookworm', 'chrislusf/seaweedfs:4.47'];
/** Every pod has a container with it, which only waits. */
const PAUSE = 'lehr-pause:1';

/** `pause`: the source of the program that keeps a pod. `tag`: of Lehr's images. */
export async function makeImages(archive, { tag, pause, say, signal }) {
  await ensurePrograms({ say, signal });
  const wasRunning = isEngineRunning();
  await startEngine();
  try {
    makeStandIns({ say });
    const names = Object.entries(BUILT).map(([name, file]) => {
      say(`Building the image ${name}.`);
      docker(
        'build',
        '--quiet',
        '--file',
        `infra/docker/${file}.Dockerfile`,
        '--tag',
        `${name}:${tag}`,
        ROOT,
      );
      return `${name}:${tag}`;
    });
    makePause(pause);
    docker('save', '--output', archive, ...names, ...BASES, PAUSE);
  } finally {
    if (!wasRunning) await stopEngine();
  }
}

function makePause(source) {
  const folder = mkdtempSync(join(tmpdir(), 'lehr-pause-'));
  try {
    run('gcc', '-Os', '-static', '-DVERSION=lab', '-o', join(folder, 'pause'), source);
    run('tar', '-C', folder, '-cf', join(folder, 'pause.tar'), 'pause');
    docker('import', '--change', 'ENTRYPOINT ["/pause"]', join(folder, 'pause.tar'), PAUSE);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The classic builder: BuildKit would ask a registry about the base. */
const docker = (...args) => run(DOCKER, ...args);

function run(program, ...args) {
  const env = { ...process.env, ...ENGINE_ENV, DOCKER_BUILDKIT: '0' };
  return execFileSync(program, args, { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'inherit'] });
}
