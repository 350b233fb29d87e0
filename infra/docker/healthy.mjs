// The images' health check: exit code 0 when /healthz, or another path, answers 200 on this port. Node is in the image anyway.
const [port, path = '/healthz'] = process.argv.slice(2);
const timeout = AbortSignal.timeout(4000);
const answer = await fetch(`http://127.0.0.1:${port}${path}`, { signal: timeout }).catch(() => undefined);
process.exit(answer?.ok ? 0 : 1);
