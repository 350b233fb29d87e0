/** The settings in force. The API does not send the values of secrets. */
import type { Setting } from '@lehr/client';
import { useSignal } from '@preact/signals';
import { Panel } from '../parts/panel.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { texts } from '../texts/index.ts';
import { lehrOnce } from '../wire/lehr.ts';
import { useReading } from '../wire/reading.ts';

/** They change only when the process starts again. */
const EVERY_MS = 30_000;
const words = texts.admin.settings;

const COLUMNS: readonly Column<Setting>[] = [
  {
    name: words.name,
    cell: ({ name, description }) => (
      <span class="setting-name">
        <code>{name}</code>
        <span class="hint">{description}</span>
      </span>
    ),
  },
  { name: words.value, cell: (setting) => <ValueOf setting={setting} /> },
];

export function SettingsPanel() {
  const reading = useReading(lehrOnce.operations.settings, EVERY_MS);
  const search = useSignal('');
  const wanted = search.value.trim().toLowerCase();
  const isWanted = ({ name, description }: Setting): boolean =>
    `${name} ${description}`.toLowerCase().includes(wanted);
  return (
    <Panel lead={words.lead} reading={reading}>
      {(settings) => (
        <>
          <input
            type="search"
            aria-label={words.search}
            placeholder={words.search}
            value={search.value}
            onInput={(event) => {
              search.value = event.currentTarget.value;
            }}
          />
          <Table
            caption={texts.admin.tabs.settings}
            rows={settings.filter(isWanted)}
            idOf={({ name }) => name}
            columns={COLUMNS}
          />
        </>
      )}
    </Panel>
  );
}

function ValueOf({ setting: { value, is_set: isSet } }: { readonly setting: Setting }) {
  if (value !== null) return <code class="setting-value">{value}</code>;
  return <span class="hint">{isSet ? words.set : words.notSet}</span>;
}
