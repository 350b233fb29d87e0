import type { Context } from 'hono';
import type { ApiEnv } from '../middleware/api-env.ts';

/** Calls `onLost` once if the connection closes, or has closed already, before the whole answer is written. */
export function onLostAnswer(c: Context<ApiEnv>, onLost: () => void): void {
  const outgoing = c.env?.outgoing;
  // Tests call the app without a connection; no answer is lost there.
  if (!outgoing) return;
  const onClose = (): void => {
    if (!outgoing.writableFinished) onLost();
  };
  if (outgoing.destroyed) onClose();
  else outgoing.once('close', onClose);
}
