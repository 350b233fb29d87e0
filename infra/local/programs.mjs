/** The programs of the operating system that the tests run beside npm's modules. */
import { aptInstall } from './apt.mjs';
import { findProgram } from './command.mjs';
import { Problem } from './problem.mjs';

/**
 * For each program: the names that it has in different packages, its Debian package, and the tests that need it. Without an
 * optional program npm test continues and lists the tests that were skipped.
 */
const PROGRAMS = [
  { names: ['redis-server', 'valkey-server'], package: 'redis-server', purpose: 'every test that queues' },
  {
    names: ['chromium', 'chromium-browser', 'google-chrome', 'chrome'],
    package: 'chromium',
    purpose: 'the tests of pages',
  },
  { names: ['docker-compose'], package: 'docker-compose', purpose: 'the check of infra/compose.yaml' },
  // Debian installs it where the PATH of an ordinary user does not lead.
  { names: ['nginx', '../sbin/nginx'], package: 'nginx-light', purpose: 'the tests of docs/proxy.md' },
  { names: ['caddy'], package: 'caddy', purpose: 'the tests of docs/proxy.md' },
  { names: ['curl'], package: 'curl', purpose: "the README's commands" },
  { names: ['jq'], package: 'jq', purpose: 'the commands of docs/speech.md' },
  ...['radosgw', 'ceph-mon', 'ceph-osd'].map((name) => ({
    names: [name],
    package: name,
    purpose: 'the tests against a real S3 server',
    isNeeded: () => process.env.LEHR_TEST_S3 !== 'off',
  })),
  { names: ['prometheus'], package: 'prometheus', purpose: 'the tests of alerts and dashboards' },
  { names: ['ffmpeg'], package: 'ffmpeg', purpose: 'every test of speech' },
  { names: ['python3'], package: 'python3', purpose: 'the webhook receiver in Python', isOptional: true },
];

/**
 * Installs missing programs with apt-get; with `packages`, only the programs of these. Throws a Problem that names those still
 * missing, their purpose and how to install them.
 */
export async function ensurePrograms({ say, signal, packages }) {
  const wanted = packages ? PROGRAMS.filter((program) => packages.includes(program.package)) : PROGRAMS;
  const needed = wanted.filter(({ isNeeded }) => isNeeded?.() ?? true);
  // In two calls, because apt-get installs all packages of a call or none.
  const lacking = await leftAfterInstalling(
    needed.filter(({ isOptional }) => !isOptional),
    { say, signal },
  );
  const leftOut = await leftAfterInstalling(
    needed.filter(({ isOptional }) => isOptional),
    { say, signal },
  );
  if (leftOut.length > 0) say(`Missing, and could not be installed:\n${listOf(leftOut)}`);
  if (lacking.length === 0) return;
  const names = lacking.map((program) => program.package).join(' ');
  throw new Problem(
    `The tests need programs that are not here and could not be installed:\n${listOf(lacking)}\n` +
      `On Debian or Ubuntu: sudo apt-get install ${names}\n` +
      'LEHR_TEST_S3=off leaves the tests against a real S3 server out.',
  );
}

/** Installs what a separate Lehr needs that is measured or attacked. */
export const ensureServices = (parts) => ensurePrograms({ ...parts, packages: ['redis-server', 'ffmpeg'] });

/** The programs that are missing even after an attempt to install them. */
async function leftAfterInstalling(programs, { say, signal }) {
  const before = await missing(programs);
  if (before.length === 0) return [];
  await aptInstall(
    before.map((program) => program.package),
    { say, signal },
  );
  signal.throwIfAborted();
  return missing(before);
}

const listOf = (programs) =>
  programs.map((program) => `  ${program.names[0]} (${program.purpose})`).join('\n');

async function missing(programs) {
  const found = await Promise.all(programs.map(({ names }) => findProgram(...names)));
  return programs.filter((_, i) => found[i] === undefined);
}
