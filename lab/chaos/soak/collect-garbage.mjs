/**
 * Loaded into a program of Lehr ahead of it: on SIGUSR2 it collects all garbage, so that the memory that is left is held. When garbage
 * is collected otherwise depends on the load, and a process that has just collected some looks smaller than one that is about to.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc');
process.on('SIGUSR2', () => collectGarbage());
