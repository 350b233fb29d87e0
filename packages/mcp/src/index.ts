/** Lehr for agents: one set of tools, served over standard input and output or over HTTP. */
export { type ServerOptions, serveHttp, serveStdio } from './server.ts';
