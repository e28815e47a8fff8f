/** The groups of the period in a table, most expensive first. */

import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { joinItems } from '../../../../schemas/admin/item-list.ts'
import { count, dollars, duration, share, shortCount } from '../format/numbers.ts'
import { Card } from '../parts/card.tsx'
import { Empty } from '../parts/empty.tsx'
import { Lead } from '../parts/lead.tsx'
import { PlainSelect, type Choice } from '../parts/select.tsx'
import { Table, type Column } from '../parts/table.tsx'
import { catalogue, loadCatalogue } from '../state/catalogue.ts'
import { periodQuery } from '../state/period.ts'
import { may } from '../state/session.ts'
import { groupColour, type Usage } from './measures.ts'
import { cacheShare } from './totals.tsx'

type Group = Usage['groups'][number]

export const groupings: readonly Choice[] = [
  { value: 'model', label: 'Model' },
  { value: 'key', label: 'Key' },
  { value: 'project', label: 'Project' },
  { value: 'provider', label: 'Provider' },
  { value: 'endpoint', label: 'Endpoint' },
  { value: 'end_user', label: 'End user' },
  { value: 'session', label: 'Session' },
  { value: 'tag', label: 'Tag' }
]

export interface BreakdownProps {
  readonly usage: Usage | undefined
  readonly group: string
  /** Filters of the overview besides its period. */
  readonly filters: Readonly<Record<string, string>>
  readonly onGroup: (group: string) => void
}

export function Breakdown ({ usage, group, filters, onGroup }: BreakdownProps): JSX.Element {
  useEffect(() => { void loadCatalogue() }, [])
  const total = usage?.totals.cost_usd ?? 0
  // Neither the rest of the groups nor what is not known is a filter.
  const callsOf = ({ id }: Group): string | undefined =>
    id === null || !may('member')
      ? undefined
      : `/calls?${new URLSearchParams({ ...periodQuery(), ...filters, [group]: joinItems([id]) })}`
  const columns: ReadonlyArray<Column<Group>> = [
    {
      title: groupings.find(({ value }) => value === group)?.label ?? '',
      flexible: true,
      cell: row => (
        <span class='row still'>
          <span class={`swatch s${groupColour(usage?.groups.indexOf(row) ?? 0)}`} />
          <Lead place={callsOf(row)}>{row.name}</Lead>
        </span>
      )
    },
    { title: 'Calls', number: true, cell: ({ totals }) => count(totals.calls) },
    {
      title: 'Errors',
      number: true,
      cell: ({ totals }) =>
        totals.errors === 0 ? (
          <span class='faint'>0</span>
        ) : (
          `${count(totals.errors)} (${share(totals.errors / totals.calls)})`
        )
    },
    {
      title: 'Tokens',
      number: true,
      cell: ({ totals }) => shortCount(totals.prompt_tokens + totals.completion_tokens)
    },
    {
      title: 'From cache',
      number: true,
      cell: row => <FromCache group={row} isModel={group === 'model'} />
    },
    {
      title: 'p50',
      number: true,
      cell: ({ totals }) => (totals.latency_ms === null ? '–' : duration(totals.latency_ms.p50))
    },
    {
      title: 'p95',
      number: true,
      cell: ({ totals }) => (totals.latency_ms === null ? '–' : duration(totals.latency_ms.p95))
    },
    {
      title: 'First token',
      number: true,
      cell: ({ totals }) => (totals.first_byte_ms === null ? '–' : duration(totals.first_byte_ms.p50))
    },
    { title: 'Spend', number: true, cell: ({ totals }) => <Amount totals={totals} /> },
    {
      title: 'Share',
      number: true,
      cell: ({ totals }) => (total === 0 ? '–' : share(totals.cost_usd / total))
    }
  ]
  return (
    <Card
      title='Breakdown'
      flush
      actions={<PlainSelect name='Group by' small value={group} choices={groupings} onChange={onGroup} />}
    >
      <Table
        label='Breakdown'
        compact
        columns={columns}
        rows={usage?.groups}
        id={({ id, name }) => id ?? name}
        place={callsOf}
        empty={<Empty icon='overview' title='No calls in this period' />}
      />
    </Card>
  )
}

/** The share of the prompt that was read from a cache; of a model with a price, also what that has saved. */
function FromCache ({
  group: { id, totals },
  isModel
}: {
  readonly group: Group
  readonly isModel: boolean
}): JSX.Element {
  const price = isModel ? catalogue.value.find(model => model.id === id)?.price : undefined
  const shown = share(cacheShare(totals))
  if (price?.input === undefined || totals.cached_tokens + totals.cache_write_tokens === 0) {
    return <>{shown}</>
  }
  const { input, cached_input = input, cache_write = input } = price
  const saved =
    (totals.cached_tokens * (input - cached_input) - totals.cache_write_tokens * (cache_write - input)) / 1e6
  const note =
    saved < 0
      ? `Writing to the cache has cost ${dollars(-saved)} more than it saved`
      : `${dollars(saved)} saved by the cache`
  return (
    <abbr title={`${note}, at the prices of today`}>
      {shown}
      <span class='visually-hidden'> ({note})</span>
    </abbr>
  )
}

/** Marks what is not exact: estimates, and calls without a price. */
function Amount ({
  totals: { cost_usd, estimated_calls, unpriced_calls }
}: {
  readonly totals: Group['totals']
}): JSX.Element {
  const notes = [
    ...estimated_calls > 0 ? [`${count(estimated_calls)} calls are estimates`] : [],
    ...unpriced_calls > 0 ? [`${count(unpriced_calls)} calls have no known price`] : []
  ].join('; ')
  return notes === '' ? (
    <>{dollars(cost_usd)}</>
  ) : (
    <abbr title={notes}>
      {estimated_calls > 0 ? '≈ ' : ''}
      {dollars(cost_usd)}
      {unpriced_calls > 0 ? ' +' : ''}
      <span class='visually-hidden'> ({notes})</span>
    </abbr>
  )
}
