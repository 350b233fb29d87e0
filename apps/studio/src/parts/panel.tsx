/** The frame of a view that reads again and again: what it shows, or why it cannot. */
import type { ComponentChildren } from 'preact';
import { texts } from '../texts/index.ts';
import type { Reading } from '../wire/reading.ts';

interface PanelProps<Value> {
  readonly lead: string;
  readonly reading: Reading<Value>;
  readonly children: (value: Value) => ComponentChildren;
}

export function Panel<Value>({ lead, reading: { value, fault, isLost }, children }: PanelProps<Value>) {
  return (
    <div class="admin-panel" data-lost={isLost.value}>
      <p class="belt-lead">{lead}</p>
      <Trouble isLost={isLost} fault={fault} />
      {value.value === undefined ? !fault.value && <p>{texts.admin.loading}</p> : children(value.value)}
    </div>
  );
}

/** Why a view shows something older, or nothing. Both places are always there, so that screen readers hear of a change. */
export function Trouble({ isLost, fault }: Pick<Reading<unknown>, 'isLost' | 'fault'>) {
  return (
    <>
      <p class="lost" role="status">
        {isLost.value && texts.admin.lost}
      </p>
      <p class="fault" role="alert">
        {fault.value?.message}
      </p>
    </>
  );
}
