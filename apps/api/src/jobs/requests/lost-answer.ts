/** When the connection of an answer closes. */
import type { Context } from 'hono';
import type { ApiEnv } from '../../http/middleware/api-env.ts';

/** Calls `onClosed` once when the answer has been sent or its connection has closed; at once if that is so already. */
export function onClosedAnswer(c: Context<ApiEnv>, onClosed: () => void): void {
  const outgoing = c.env?.outgoing;
  // Tests call the app without a connection; nothing waits to be sent there.
  if (!outgoing || outgoing.destroyed) onClosed();
  else outgoing.once('close', onClosed);
}

/** Calls `onLost` once if the connection closes, or has closed already, before the whole answer is written. */
export function onLostAnswer(c: Context<ApiEnv>, onLost: () => void): void {
  const outgoing = c.env?.outgoing;
  // No answer is lost without a connection.
  if (!outgoing) return;
  onClosedAnswer(c, () => {
    if (!outgoing.writableFinished) onLost();
  });
}
