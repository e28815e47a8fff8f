/** The list of calls: filtered and page by page, or live. */

import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { api } from '../api/client.ts'
import { dateTime } from '../format/time.ts'
import { Button } from '../parts/button.tsx'
import { Empty } from '../parts/empty.tsx'
import { More } from '../parts/more.tsx'
import { Failure, Notice } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import { Table } from '../parts/table.tsx'
import { usePages } from '../state/pages.ts'
import { currentPeriod, type Period } from '../state/period.ts'
import { useResource } from '../state/resource.ts'
import { at, query } from '../state/router.ts'
import { CallsFilters } from './calls-filters.tsx'
import { columns, placeOf } from './columns.tsx'
import { clearFilters, currentFilters, haveSums, type CallFilters } from './filters.ts'
import { useLiveCalls, type LiveTail } from './live.ts'
import type { CallSummary } from './outcome.tsx'
import { Totals } from '../usage/totals.tsx'

export function CallsPage (): JSX.Element {
  const live = useSignal(false)
  const filters = currentFilters()
  const { rows, more, searchedFromMs, error, loading, reload } = usePages(
    query.value.toString(),
    (cursor, signal) =>
      api('GET /admin/v1/calls', {
        query: { ...filters, ...timesOf(currentPeriod()), cursor },
        ...signal !== undefined && { signal }
      })
  )
  const tail = useLiveCalls(live.value, filters)
  const filtered = query.value.size > 0
  return (
    <Page
      title='Calls'
      wide
      subtitle='Every call, with its tokens, cost and outcome.'
      actions={
        !live.value && (
          <Button icon='refresh' label='Load again' busy={loading} onClick={() => void reload()} />
        )
      }
    >
      <CallsFilters
        live={live.value}
        onLive={on => {
          live.value = on
        }}
      />
      {live.value ? (
        <Live tail={tail} />
      ) : (
        <div class='stack'>
          {haveSums(filters) && <Sums filters={filters} />}
          <Failure error={error} retry={() => void reload()} />
          {(error === undefined || rows !== undefined) && (
            <section class='card'>
              <CallTable
                rows={rows}
                stale={loading && rows !== undefined}
                empty={
                  filtered ? (
                    <Empty
                      icon='search'
                      title={
                        searchedFromMs === undefined
                          ? 'No call matches'
                          : `No call matches since ${dateTime(searchedFromMs)}`
                      }
                      actions={<Button onClick={clearFilters}>Clear filters</Button>}
                    />
                  ) : (
                    <Empty
                      icon='calls'
                      title='No calls in the last 24 hours'
                      actions={
                        <Button icon='play' href={at('/playground')}>
                          Open the playground
                        </Button>
                      }
                    >
                      Calls appear here as soon as they end.
                    </Empty>
                  )
                }
              />
              <More
                onClick={more}
                label={
                  searchedFromMs === undefined ? undefined : `Search before ${dateTime(searchedFromMs)}`
                }
              />
            </section>
          )}
        </div>
      )}
    </Page>
  )
}

/** A period that ends now is fixed, so that the next page is of the same calls. */
function timesOf ({ name, fromMs, untilMs }: Period): {
  readonly from_ms?: number
  readonly until_ms?: number
} {
  return name === 'all' ? {} : { from_ms: fromMs, ...name === 'custom' && { until_ms: untilMs } }
}

function Live ({ tail }: { readonly tail: LiveTail }): JSX.Element {
  return (
    <div class='stack tight'>
      {tail.skipped && (
        <Notice tone='warn'>There are more calls than the live view shows. Use filters to see fewer.</Notice>
      )}
      {tail.state === 'lost' && (
        <Notice tone='bad'>The gateway closed the connection. Stop, and follow again.</Notice>
      )}
      <section class='card live'>
        <CallTable
          rows={tail.calls}
          stale={tail.state === 'lost'}
          empty={
            <Empty icon='clock' title={tail.state === 'connecting' ? 'Connecting …' : 'Waiting for calls'}>
              Calls appear here at the moment they end.
            </Empty>
          }
        />
      </section>
    </div>
  )
}

/** The totals of an end user, a session or a tag; nothing for periods without such sums. */
function Sums ({ filters }: { readonly filters: CallFilters }): JSX.Element | null {
  const period = currentPeriod()
  const { data } = useResource(query.value.toString(), async signal =>
    period.name === 'all' || period.name === 'quarter'
      ? undefined
      : await api('GET /admin/v1/usage', {
          query: { ...filters, from_ms: period.fromMs, until_ms: period.untilMs, bucket: 'day' },
          signal
        })
  )
  return data === undefined ? null : <Totals usage={data} />
}

function CallTable ({
  rows,
  stale,
  empty
}: {
  readonly rows: readonly CallSummary[] | undefined
  readonly stale: boolean
  readonly empty: JSX.Element
}): JSX.Element {
  return (
    <Table
      label='Calls'
      columns={columns}
      rows={rows}
      id={call => call.id}
      stale={stale}
      empty={empty}
      place={placeOf}
    />
  )
}
