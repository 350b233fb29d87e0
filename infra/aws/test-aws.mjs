/**
 * npm run test:aws: installs the CDK app into its own folder and cfn-lint into a cache, checks the types, tests what is synthesised, and
 * lints the templates for a new and for an existing cluster. It needs Python 3 and the package registries at its first run, and no account.
 */
import '../local/node-version.mjs';
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, runCommand, runNpm } from '../local/command.mjs';

const HERE = join(ROOT, 'infra/aws');
const CACHE = join(ROOT, 'node_modules/.cache/lehr-aws');
const CFN_LINT = 'cfn-lint==1.58.0';
const EXISTING = {
  clusterName: 'prod',
  vpcId: 'vpc-0123456789abcdef0',
  issuer: 'https://oidc.eks.eu-central-1.amazonaws.com/id/ABC',
  issuerArn: 'arn:aws:iam::111122223333:oidc-provider/oidc.eks.eu-central-1.amazonaws.com/id/ABC',
  privateSubnets: 'subnet-0123456789abcdef0,subnet-0123456789abcdef1',
  nodeSecurityGroup: 'sg-0123456789abcdef0',
};

async function step(program, args, env = {}) {
  const code = program === 'npm' ? await runNpm(args, { env }) : await runCommand(program, args, { env });
  if (code !== 0) process.exit(1);
}

async function install() {
  const marker = join(HERE, 'node_modules/.package-lock.json');
  const lock = join(HERE, 'package-lock.json');
  if (!existsSync(marker) || statSync(lock).mtimeMs > statSync(marker).mtimeMs) {
    await step('npm', ['ci', '--prefix', HERE, '--no-audit', '--no-fund']);
  }
  const python = join(CACHE, 'venv/bin/python');
  if (!existsSync(python)) await step('python3', ['-m', 'venv', join(CACHE, 'venv')]);
  await step(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', CFN_LINT]);
}

/** Returns the file of the template. */
async function synthesise(name, context) {
  const out = join(CACHE, name);
  await step(
    process.execPath,
    ['--import', join(ROOT, 'infra/local/typescript.mjs'), join(HERE, 'main.ts')],
    { CDK_CONTEXT_JSON: JSON.stringify(context), CDK_OUTDIR: out },
  );
  return join(out, 'Lehr.template.json');
}

await install();
await step(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), '--noEmit', '-p', HERE]);
const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs');
await step(process.execPath, [vitest, 'run', '--config', join(HERE, 'vitest.config.ts')]);
const templates = [await synthesise('new', {}), await synthesise('existing', EXISTING)];
// W3005, a dependency named twice: of a helper that the CDK itself adds to the template.
const options = ['--ignore-checks', 'W3005', '--regions', 'eu-central-1'];
await step(join(CACHE, 'venv/bin/cfn-lint'), [...options, '--', ...templates]);
