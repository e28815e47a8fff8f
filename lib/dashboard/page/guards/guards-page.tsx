/** The configured guards: their findings of the last day, and a box to try a text. */

import type { JSX } from 'preact'
import { api, type Answer } from '../api/client.ts'
import { count, duration } from '../format/numbers.ts'
import { Badge } from '../parts/badge.tsx'
import { Clip } from '../parts/clip.tsx'
import { Code } from '../parts/code.tsx'
import { Empty } from '../parts/empty.tsx'
import { Failure } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import { Table, type Column } from '../parts/table.tsx'
import { useResource } from '../state/resource.ts'
import { may } from '../state/session.ts'
import { TryText } from './try-text.tsx'

type Stage = Answer<'GET /admin/v1/stages'>['data'][number]

const example = `stages:
  - name: no-card-numbers
    use: pattern
    patterns: [card_number, iban]
    action: mask`

const columns: ReadonlyArray<Column<Stage>> = [
  {
    title: 'Guard',
    flexible: true,
    cell: ({ name, use, only }) => (
      <>
        <Clip>{name}</Clip>
        <Clip kind='sub'>{only === null ? use : `${use} · ${scopeOf(only)}`}</Clip>
      </>
    )
  },
  {
    title: 'Inspects',
    flexible: true,
    cell: ({ at }) => <Clip>{at.map(point => point.replace('_', ' ')).join(', ')}</Clip>
  },
  {
    title: 'Action',
    cell: ({ action }) => (action === null ? <span class='faint'>default</span> : <Badge>{action}</Badge>)
  },
  { title: 'Calls', number: true, cell: ({ last_day }) => count(last_day.calls) },
  {
    title: 'With findings',
    number: true,
    cell: ({ last_day }) => (last_day.calls === 0 ? '–' : count(last_day.calls_with_findings))
  },
  {
    title: 'Findings',
    number: true,
    cell: ({ last_day }) => (last_day.calls === 0 ? '–' : count(last_day.findings))
  },
  {
    title: 'Failed',
    number: true,
    cell: ({ last_day }) =>
      last_day.calls === 0 ? (
        '–'
      ) : (
        <span class={last_day.unavailable > 0 ? 'bad' : undefined}>{count(last_day.unavailable)}</span>
      )
  },
  {
    title: 'p50',
    number: true,
    cell: ({ last_day }) => (last_day.took_ms === null ? '–' : duration(last_day.took_ms.p50))
  },
  {
    title: 'p95',
    number: true,
    cell: ({ last_day }) => (last_day.took_ms === null ? '–' : duration(last_day.took_ms.p95))
  }
]

function scopeOf (only: NonNullable<Stage['only']>): string {
  return Object.entries(only)
    .map(([name, values]) => `${name}: ${values.join(', ')}`)
    .join('; ')
}

export function GuardsPage (): JSX.Element {
  const { data, error, reload } = useResource('stages', signal => api('GET /admin/v1/stages', { signal }))
  return (
    <Page
      title='Guards'
      subtitle='Guards inspect the texts of calls, in this order. Counts cover the last 24 hours.'
    >
      <Failure error={error} retry={() => void reload()} />
      <div class='stack'>
        {error === undefined && (
          <section class='card'>
            <Table
              label='Guards'
              columns={columns}
              rows={data?.data}
              id={({ name }) => name}
              empty={
                <Empty icon='guard' title='No guards yet'>
                  List them in `stages` of the configuration, to mask or refuse what requests and
                  answers hold.
                </Empty>
              }
            />
            {data?.data.length === 0 && (
              <div class='body narrow'>
                <Code text={example} label='configuration' />
              </div>
            )}
          </section>
        )}
        {may('admin') && data !== undefined && data.data.length > 0 && <TryText />}
      </div>
    </Page>
  )
}
