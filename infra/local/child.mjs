// Runs the program named by the first argument and ends it when the launcher is gone: a launcher that was killed with -9
// cannot stop its children, but the channel between them closes.
import { pathToFileURL } from 'node:url';

process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
// The channel alone is no reason to stay alive.
process.channel?.unref();

await import(pathToFileURL(process.argv[2]).href);
