/** The programs of the operating system that the tests run beside npm's modules. */
import { aptInstall } from './apt.mjs';
import { findProgram } from './command.mjs';
import { Problem } from './problem.mjs';

/** Each: what it is called where it may come from, the Debian package that has it, and what it is for. */
const PROGRAMS = [
  { names: ['redis-server', 'valkey-server'], package: 'redis-server', purpose: 'every test that queues' },
  {
    names: ['chromium', 'chromium-browser', 'google-chrome', 'chrome'],
    package: 'chromium',
    purpose: 'the tests of pages',
  },
  { names: ['docker-compose'], package: 'docker-compose', purpose: 'the check of infra/compose.yaml' },
  { names: ['curl'], package: 'curl', purpose: "the README's commands" },
  ...['radosgw', 'ceph-mon', 'ceph-osd'].map((name) => ({
    names: [name],
    package: name,
    purpose: 'the tests against a real S3 server',
    isNeeded: () => process.env.LEHR_TEST_S3 !== 'off',
  })),
];

/** Installs with apt-get what is missing. A Problem names what is left over, what for, and how to get it. */
export async function ensurePrograms({ say, signal }) {
  const before = await missing();
  if (before.length === 0) return;
  await aptInstall(
    before.map((program) => program.package),
    { say, signal },
  );
  signal.throwIfAborted();
  const left = await missing();
  if (left.length === 0) return;
  const list = left.map((program) => `  ${program.names[0]} (${program.purpose})`).join('\n');
  const packages = left.map((program) => program.package).join(' ');
  throw new Problem(
    `The tests need programs that are not here and could not be installed:\n${list}\n` +
      `On Debian or Ubuntu: sudo apt-get install ${packages}\n` +
      'LEHR_TEST_S3=off leaves the tests against a real S3 server out.',
  );
}

async function missing() {
  const needed = PROGRAMS.filter(({ isNeeded }) => isNeeded?.() ?? true);
  const found = await Promise.all(needed.map(({ names }) => findProgram(...names)));
  return needed.filter((_, i) => found[i] === undefined);
}
