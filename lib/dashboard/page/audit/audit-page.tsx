/** The audit log: who did what, and what it changed. */

import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { api, type Answer } from '../api/client.ts'
import { dateTime } from '../format/time.ts'
import { Clip } from '../parts/clip.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Empty } from '../parts/empty.tsx'
import { Facts } from '../parts/facts.tsx'
import { Moment } from '../parts/moment.tsx'
import { More } from '../parts/more.tsx'
import { Failure } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import { PlainSelect } from '../parts/select.tsx'
import { Table, type Column } from '../parts/table.tsx'
import { usePages } from '../state/pages.ts'
import { query, setQuery } from '../state/router.ts'

type Entry = Answer<'GET /admin/v1/audit'>['data'][number]

const kinds = [
  { value: '', label: 'All acts' },
  { value: 'key', label: 'Keys' },
  { value: 'admin_key', label: 'Admin API keys' },
  { value: 'project', label: 'Projects' },
  { value: 'member', label: 'Members of projects' },
  { value: 'user', label: 'Users' },
  { value: 'passkey', label: 'Passkeys' },
  { value: 'identity', label: 'Identities' },
  { value: 'link', label: 'Sign-in links' },
  { value: 'invitation', label: 'Invitations' },
  { value: 'session', label: 'Sessions' },
  { value: 'call', label: 'Bodies of calls' },
  { value: 'end_user', label: 'End users' },
  { value: 'configuration', label: 'Configuration' },
  { value: 'alert', label: 'Alerts' },
  { value: 'usage_export', label: 'Usage exports' },
  { value: 'import', label: 'Imports' }
]

const columns = (open: (entry: Entry) => void): ReadonlyArray<Column<Entry>> => [
  { title: 'Time', cell: entry => <Moment at={entry.at_ms} /> },
  {
    title: 'Who',
    cell: entry => (
      <>
        <Clip kind='medium'>{entry.actor}</Clip>
        {entry.address !== null && <Clip kind='sub mono'>{entry.address}</Clip>}
      </>
    ),
    flexible: true
  },
  {
    title: 'Did',
    cell: entry => (
      <button type='button' class='button link' onClick={() => open(entry)}>
        <code>{entry.action}</code>
      </button>
    )
  },
  {
    title: 'To',
    cell: entry =>
      entry.subject === null ? (
        <span class='faint'>–</span>
      ) : (
        <>
          <Clip>{entry.subject_name ?? entry.subject}</Clip>
          {entry.subject_name !== null && <Clip kind='sub mono'>{entry.subject}</Clip>}
        </>
      ),
    flexible: true
  },
  { title: 'Change', cell: entry => <Clip kind='faint'>{changesOf(entry)}</Clip>, flexible: true }
]

export function AuditPage (): JSX.Element {
  const action = query.value.get('action') ?? ''
  const shown = useSignal<Entry | undefined>(undefined)
  const open = (entry: Entry): void => {
    shown.value = entry
  }
  const { rows, more, error, loading, reload } = usePages(action, (cursor, signal) =>
    api('GET /admin/v1/audit', { query: { action, cursor }, ...signal !== undefined && { signal } })
  )
  return (
    <Page title='Audit log' subtitle='Every administrative act, by the page, the API or the command line.'>
      <div class='filters'>
        <PlainSelect
          name='Kind of act'
          value={action}
          choices={kinds}
          onChange={value => setQuery({ action: value })}
        />
      </div>
      <Failure error={error} retry={() => void reload()} />
      {error === undefined && (
        <section class='card'>
          <Table
            label='Audit log'
            columns={columns(open)}
            rows={rows}
            id={entry => entry.id}
            stale={loading && rows !== undefined}
            onOpen={open}
            empty={<Empty icon='audit' title='Nothing of this kind yet' />}
          />
          <More onClick={more} />
        </section>
      )}
      {shown.value !== undefined && (
        <EntryDialog
          entry={shown.value}
          onClose={() => {
            shown.value = undefined
          }}
        />
      )}
    </Page>
  )
}

function changedFields ({ before, after }: Entry): readonly string[] {
  return [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])]
}

/** Returns the changes on one line: `name: a → b, limits: {"budget":{"usd":5}}`. */
function changesOf (entry: Entry): string {
  const { before, after } = entry
  return changedFields(entry)
    .map(field => {
      const values = [before, after].flatMap(state =>
        state !== null && field in state ? [shortValue(state[field])] : []
      )
      return `${field}: ${values.join(' → ')}`
    })
    .join(', ')
}

const maxShown = 60

function shortValue (value: unknown): string {
  const text = value === null ? 'none' : typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > maxShown ? `${text.slice(0, maxShown)}…` : text
}

function EntryDialog ({
  entry,
  onClose
}: {
  readonly entry: Entry
  readonly onClose: () => void
}): JSX.Element {
  return (
    <Dialog
      title={entry.action}
      subtitle={`${entry.actor}, ${dateTime(entry.at_ms)}`}
      onClose={onClose}
      wide
    >
      <Facts
        facts={[
          ['Subject', entry.subject_name ?? entry.subject],
          ['Id', entry.subject === null ? null : <code>{entry.subject}</code>],
          ['Address', entry.address]
        ]}
      />
      {changedFields(entry).map(field => (
        <div class='stack tight' key={field}>
          <h3>{field}</h3>
          <div class='diff'>
            {entry.before !== null && field in entry.before && (
              <div class='removed'>{JSON.stringify(entry.before[field], null, 2)}</div>
            )}
            {entry.after !== null && field in entry.after && (
              <div class='added'>{JSON.stringify(entry.after[field], null, 2)}</div>
            )}
          </div>
        </div>
      ))}
    </Dialog>
  )
}
