/**
 * The classic load test of POST /t2i with autocannon, which npx fetches in this version: each user posts, waits for the picture, and
 * posts again. The key is LEHR_API_KEY; servers that need none ignore it.
 * node lab/peers/t2i.autocannon.mjs --url http://127.0.0.1:8080 --users 8 --seconds 60 --size 256
 */
import { spawn } from 'node:child_process';
import { parseArgs } from 'node:util';

const AUTOCANNON = 'autocannon@8.0.0';

const { values } = parseArgs({
  options: {
    url: { type: 'string', default: 'http://127.0.0.1:8080' },
    users: { type: 'string', default: '8' },
    seconds: { type: 'string', default: '60' },
    size: { type: 'string', default: '512' },
  },
});
const size = Number(values.size);
const body = {
  prompt: 'a red circle on a blue background',
  width: size,
  height: size,
  inference_steps: 20,
  guidance_scale: 8.2,
  seed: 7,
};
const { LEHR_API_KEY: key } = process.env;
const headers = ['content-type=application/json', ...(key ? [`authorization=Bearer ${key}`] : [])];
const args = [
  ...['--connections', values.users, '--duration', values.seconds, '--timeout', '125', '--method', 'POST'],
  ...headers.flatMap((each) => ['--headers', each]),
  ...['--body', JSON.stringify(body), '--no-progress', `${values.url}/t2i`],
];
const npx = spawn('npx', ['--yes', AUTOCANNON, ...args], { stdio: 'inherit' });
npx.on('exit', (code) => {
  process.exitCode = code ?? 1;
});
