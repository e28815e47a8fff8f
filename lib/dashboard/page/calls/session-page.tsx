/**
 * The calls of a session as one tree: what an agent did, in order, with the cost of each call and of all
 * together.
 */

import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { api } from '../api/client.ts'
import { duration, exactDollars, plural, shortCount } from '../format/numbers.ts'
import { dateTime, time } from '../format/time.ts'
import { Button } from '../parts/button.tsx'
import { Card } from '../parts/card.tsx'
import { Empty } from '../parts/empty.tsx'
import { Icon } from '../parts/icon.tsx'
import { More } from '../parts/more.tsx'
import { Failure } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import { SkeletonLines } from '../parts/skeleton.tsx'
import { usePages } from '../state/pages.ts'
import { useResource } from '../state/resource.ts'
import { at } from '../state/router.ts'
import { placeOf } from './columns.tsx'
import { Cost } from './cost.tsx'
import { Outcome, type CallSummary } from './outcome.tsx'
import { Timeline } from './timeline.tsx'

export function SessionPage ({ id }: { readonly id: string }): JSX.Element {
  const { rows, more, error, reload } = usePages(id, (cursor, signal) =>
    api('GET /admin/v1/calls', { query: { session: id, cursor }, ...signal !== undefined && { signal } })
  )
  const calls = rows?.toReversed()
  return (
    <Page
      title='Session'
      back={{ place: '/calls', label: 'Calls' }}
      subtitle={<code class='break'>{id}</code>}
      actions={
        <Button icon='calls' href={at(`/calls?${new URLSearchParams({ session: id, period: 'month' })}`)}>
          List of its calls
        </Button>
      }
    >
      <Failure error={error} retry={() => void reload()} />
      {calls === undefined ? (
        error === undefined && (
          <Card title='Calls'>
            <SkeletonLines lines={8} />
          </Card>
        )
      ) : calls.length === 0 ? (
        <Empty icon='calls' title='No call has this session' />
      ) : (
        <Card
          title={sumOf(calls)}
          subtitle={`${more === undefined ? '' : 'The latest: '}${dateTime(calls[0]?.at_ms ?? 0)} to ${dateTime(calls.at(-1)?.at_ms ?? 0)}`}
        >
          <More onClick={more} label='Load earlier calls' />
          <ul class='tree'>
            {calls.map(call => (
              <li key={call.id}>
                <Node call={call} />
              </li>
            ))}
          </ul>
        </Card>
      )}
    </Page>
  )
}

/** Returns the total cost of calls: `3 calls, ≈ $0.50, 1 of them unpriced`. */
function sumOf (calls: readonly CallSummary[]): string {
  const unpriced = calls.filter(({ cost_usd }) => cost_usd === null).length
  const about = calls.some(({ estimated }) => estimated) ? '≈ ' : ''
  const usd = calls.reduce((sum, { cost_usd }) => sum + (cost_usd ?? 0), 0)
  return [
    plural(calls.length, 'call'),
    `${about}${exactDollars(usd)}`,
    ...(unpriced > 0 ? [`${unpriced} of them unpriced`] : [])
  ].join(', ')
}

/** A call; its attempts and tool calls are loaded when it is opened. */
function Node ({ call }: { readonly call: CallSummary }): JSX.Element {
  const open = useSignal(false)
  return (
    <details
      class='fold'
      onToggle={event => {
        open.value = event.currentTarget.open
      }}
    >
      <summary>
        <Icon name='right' size={14} />
        <span class='number nowrap' title={dateTime(call.at_ms)}>
          {time(call.at_ms)}
        </span>
        <span class='grow break'>{call.model ?? call.requested_model ?? call.endpoint}</span>
        <Outcome {...call} />
        <span class='faint nowrap'>
          {shortCount((call.prompt_tokens ?? 0) + (call.completion_tokens ?? 0))} tokens
        </span>
        <span class='faint nowrap'>{duration(call.duration_ms)}</span>
        <span class='number nowrap'>
          <Cost usd={call.cost_usd} estimated={call.estimated} />
        </span>
      </summary>
      <div class='fold-body'>{open.value && <Steps call={call} />}</div>
    </details>
  )
}

function Steps ({ call: { id, ...call } }: { readonly call: CallSummary }): JSX.Element {
  const { data, error, reload } = useResource(id, signal =>
    api('GET /admin/v1/calls/:call_id', {
      at: { call_id: id },
      query: { at_ms: String(call.at_ms) },
      signal
    })
  )
  return (
    <>
      <Failure error={error} retry={() => void reload()} />
      {data === undefined ? error === undefined && <SkeletonLines lines={3} /> : <Timeline call={data} />}
      <a href={at(placeOf({ id, ...call }))}>The call in full</a>
    </>
  )
}
