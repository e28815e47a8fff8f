/** One call in detail. */

import type { JSX } from 'preact'
import { recordedUnits, type RecordedUnit } from '../../../../schemas/billed-units.ts'
import { joinItems } from '../../../../schemas/admin/item-list.ts'
import { api, type Answer } from '../api/client.ts'
import { count, duration, plural } from '../format/numbers.ts'
import { dateTime } from '../format/time.ts'
import { Card } from '../parts/card.tsx'
import { Copy } from '../parts/copy.tsx'
import { Facts, type Fact } from '../parts/facts.tsx'
import { Failure, Notice } from '../parts/notice.tsx'
import { OutsideLink } from '../parts/outside-link.tsx'
import { Page } from '../parts/page.tsx'
import { SkeletonLines } from '../parts/skeleton.tsx'
import { projectName } from '../state/names.ts'
import { useResource } from '../state/resource.ts'
import { at, query } from '../state/router.ts'
import { Bodies } from './bodies.tsx'
import { Cost } from './cost.tsx'
import { Outcome } from './outcome.tsx'
import { Timeline } from './timeline.tsx'

type Call = Answer<'GET /admin/v1/calls/:call_id'>

export function CallPage ({ id }: { readonly id: string }): JSX.Element {
  const {
    data: call,
    error,
    reload
  } = useResource(id, signal =>
    api('GET /admin/v1/calls/:call_id', {
      at: { call_id: id },
      query: { at_ms: query.value.get('at') ?? undefined },
      signal
    })
  )
  return (
    <Page
      title={call === undefined ? 'Call' : (call.model ?? call.requested_model ?? call.endpoint)}
      back={{ place: '/calls', label: 'Calls' }}
      subtitle={
        call !== undefined && (
          <span class='row'>
            <Outcome {...call} />
            <span>{dateTime(call.at_ms)}</span>
          </span>
        )
      }
    >
      <Failure error={error} retry={() => void reload()} />
      {call !== undefined && call.error_message !== null && (
        <div class='call-error'>
          <Notice tone={call.outcome === 'error' ? 'bad' : 'neutral'}>{call.error_message}</Notice>
        </div>
      )}
      {call === undefined ? (
        error === undefined && (
          <div class='call-grid'>
            <Card title='Timeline'>
              <SkeletonLines lines={8} />
            </Card>
            <Card title='Call'>
              <SkeletonLines lines={8} />
            </Card>
          </div>
        )
      ) : (
        <div class='call-grid'>
          <Card title='Timeline' subtitle={`${duration(call.duration_ms)} in total`}>
            <Timeline call={call} />
          </Card>
          <div class='stack'>
            <Card title='Call'>
              <Facts facts={callFacts(call)} />
            </Card>
            {call.candidates.length > 0 && (
              <Card title='Route' subtitle='The models it could take, best first'>
                <Facts facts={call.candidates.map(({ model, reason }) => [model, reason])} />
              </Card>
            )}
            <Card title='Usage'>
              <Facts facts={usageFacts(call)} />
            </Card>
          </div>
          <div class='all-columns'>
            <Bodies call={call} />
          </div>
        </div>
      )}
    </Page>
  )
}

function callFacts (call: Call): readonly Fact[] {
  const {
    requested_model,
    model,
    provider,
    upstream_request_id,
    trace_id,
    trace_url,
    overhead_ms,
    upstream_wait_ms,
    first_byte_ms
  } = call
  return [
    [
      'Request id',
      <span class='row still'>
        <code class='break'>{call.request_id}</code>
        <Copy text={call.request_id} label='Copy request id' />
      </span>
    ],
    ['Endpoint', `${call.endpoint}${call.streamed ? ', streamed' : ''}`],
    ['Key', <a href={at(`/keys/${encodeURIComponent(call.key_id)}`)}>{call.key_name ?? call.key_id}</a>],
    ['Project', projectName(call.project_id)],
    ['End user', call.end_user === null ? null : <CallsOf name='end_user' value={call.end_user} />],
    [
      'Session',
      call.session === null ? null : (
        <a class='break' href={at(`/sessions/${encodeURIComponent(call.session)}`)}>
          {call.session}
        </a>
      )
    ],
    [
      'Tags',
      call.tags.length === 0 ? null : (
        <span class='row'>
          {call.tags.map(tag => (
            <CallsOf key={tag} name='tag' value={tag} />
          ))}
        </span>
      )
    ],
    ...Object.entries(call.metadata),
    ['Requested', requested_model],
    [
      call.outcome === 'error' ? 'Tried last' : 'Served by',
      model === null
        ? null
        : `${model}${provider === null || model.startsWith(`${provider}/`) ? '' : ` at ${provider}`}`
    ],
    ['Attempts', call.cached ? 'none: from the cache' : String(call.attempts)],
    ['First token', first_byte_ms === null ? null : duration(first_byte_ms)],
    ['Waited for providers', upstream_wait_ms === null ? null : duration(upstream_wait_ms)],
    ['Gateway took', overhead_ms === null ? null : duration(overhead_ms)],
    ['Provider’s id', upstream_request_id === null ? null : <code>{upstream_request_id}</code>],
    [
      'Trace',
      trace_id === null ? null : (
        <span class='row still'>
          {trace_url === null ? (
            <code class='break'>{trace_id}</code>
          ) : (
            <OutsideLink url={trace_url}>
              <code>{trace_id}</code>
            </OutsideLink>
          )}
          <Copy text={trace_id} label='Copy trace id' />
        </span>
      )
    ],
    ['Provider key', call.own_provider_key ? 'the caller’s own' : null]
  ]
}

/** Links to other calls with the same attribution, in the last 30 days. */
function CallsOf ({
  name,
  value
}: {
  readonly name: 'end_user' | 'tag'
  readonly value: string
}): JSX.Element {
  return (
    <a class='break' href={at(`/calls?${new URLSearchParams({ [name]: joinItems([value]), period: 'month' })}`)}>
      {value}
    </a>
  )
}

function usageFacts (call: Call): readonly Fact[] {
  return [
    ['Cost', <Cost usd={call.cost_usd} estimated={call.estimated} />],
    [
      '… of given-up requests',
      call.wasted_usd === null ? null : <Cost usd={call.wasted_usd} estimated={call.estimated} />
    ],
    ['Turns', call.turns === null ? null : count(call.turns)],
    ...recordedUnits
      .filter(({ partOf }) => partOf === undefined)
      .flatMap(unit => [
        unitFact(call, unit),
        ...recordedUnits.filter(({ partOf }) => partOf === unit.column).map(part => unitFact(call, part))
      ]),
    ['Tokens of given-up requests', call.wasted_tokens === null ? null : count(call.wasted_tokens)]
  ]
}

function unitFact (call: Call, { column, perUnit, label, partOf }: RecordedUnit): Fact {
  const amount = call[column]
  const text = (used: number): string => column === 'images'
    ? [plural(used, 'image'), call.image_size, call.image_quality].filter(part => part !== null).join(', ')
    : perUnit === 1 ? count(used) : duration(used)
  return [partOf === undefined ? label : label.replace(/^Tokens/, '…'), amount === null ? null : text(amount)]
}
