// Runs the program that the first argument names, and ends it when the launcher is gone: a launcher that was killed with
// SIGKILL cannot stop its children, but its channel to them closes.
import { pathToFileURL } from 'node:url';

process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
// The open channel must not keep a program alive that has nothing left to do.
process.channel?.unref();

await import(pathToFileURL(process.argv[2]).href);
