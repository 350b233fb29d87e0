import type { HttpBindings } from '@hono/node-server';
import type { Context } from 'hono';
import type { ApiEnv } from '../api.ts';

/** Calls `tell` once when the connection closes before the whole answer was written, or has closed already. */
export function onLostAnswer(c: Context<ApiEnv>, tell: () => void): void {
  const { outgoing } = (c.env ?? {}) as Partial<HttpBindings>;
  // Without a connection (tests call the app itself) no answer gets lost.
  if (!outgoing) return;
  const look = (): void => {
    if (!outgoing.writableFinished) tell();
  };
  if (outgoing.destroyed) look();
  else outgoing.once('close', look);
}
