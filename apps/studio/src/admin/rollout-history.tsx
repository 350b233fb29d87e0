/** What happened to the rollouts of a model: when, what, who and why. */
import type { Rollout } from '@lehr/client';
import { texts } from '../texts/index.ts';

const words = texts.rollouts;
const MAX_SHOWN = 10;
/** An API of a later version may have done something else. */
const names: Readonly<Record<string, string>> = words.events;

export function RolloutHistory({ history }: Pick<Rollout, 'history'>) {
  return (
    <details class="rollout-history" open>
      <summary>{words.history(history.length)}</summary>
      <ol>
        {history.slice(0, MAX_SHOWN).map(({ at, action, by, reason, canary, weight }) => (
          <li key={`${at} ${action}`}>
            <time dateTime={at}>{new Date(at).toLocaleString()}</time>
            <span>
              <strong>{names[action] ?? action}</strong> {words.at(canary, weight)}{' '}
              <span class="hint">{words.by(by ?? words.unknown)}</span>
              {reason !== null && <q>{reason}</q>}
            </span>
          </li>
        ))}
      </ol>
      {history.length > MAX_SHOWN && <p class="hint">{words.older(history.length - MAX_SHOWN)}</p>}
    </details>
  );
}
