/** The columns of lists of calls. */

import { duration, shortCount } from '../format/numbers.ts'
import { dateTime, time } from '../format/time.ts'
import { Clip } from '../parts/clip.tsx'
import type { Column } from '../parts/table.tsx'
import { projectName } from '../state/names.ts'
import { at } from '../state/router.ts'
import { Cost } from './cost.tsx'
import { Outcome, type CallSummary } from './outcome.tsx'

export const columns: ReadonlyArray<Column<CallSummary>> = [
  {
    title: 'Time',
    cell: call => (
      <a class='nowrap' href={at(placeOf(call))} title={dateTime(call.at_ms)}>
        {isToday(call.at_ms) ? time(call.at_ms) : dateTime(call.at_ms)}
      </a>
    )
  },
  { title: 'Status', cell: call => <Outcome {...call} /> },
  {
    title: 'Model',
    flexible: true,
    cell: ({ model, requested_model, ...call }) => (
      <>
        <Clip>{model ?? requested_model ?? '–'}</Clip>
        <Clip kind='sub'>{detailsOf({ model, ...call })}</Clip>
      </>
    )
  },
  {
    title: 'Key',
    flexible: true,
    cell: ({ key_name, key_id, project_id }) => (
      <>
        <Clip>{key_name ?? key_id}</Clip>
        <Clip kind='sub'>{projectName(project_id)}</Clip>
      </>
    )
  },
  {
    title: 'Tokens',
    number: true,
    cell: ({ prompt_tokens, completion_tokens }) =>
      prompt_tokens === null && completion_tokens === null ? (
        '–'
      ) : (
        <>
          {shortCount(prompt_tokens ?? 0)} <span class='faint'>+</span> {shortCount(completion_tokens ?? 0)}
        </>
      )
  },
  { title: 'Cost', number: true, cell: call => <Cost usd={call.cost_usd} estimated={call.estimated} /> },
  {
    title: 'Duration',
    number: true,
    cell: call => (
      <>
        {duration(call.duration_ms)}
        {call.first_byte_ms !== null && <span class='sub'>first token {duration(call.first_byte_ms)}</span>}
      </>
    )
  }
]

/**
 * Returns the endpoint and details: `chat, streamed · 2 attempts`. The provider is named if the id of the
 * model does not begin with it.
 */
function detailsOf ({
  model,
  provider,
  endpoint,
  streamed,
  attempts,
  cached
}: Pick<CallSummary, 'model' | 'provider' | 'endpoint' | 'streamed' | 'attempts' | 'cached'>): string {
  const isNamed = provider === null || model?.startsWith(`${provider}/`) === true
  return [
    `${endpoint}${streamed ? ', streamed' : ''}`,
    ...(isNamed ? [] : [provider]),
    ...(attempts > 1 ? [`${attempts} attempts`] : []),
    ...(cached ? ['from the cache'] : [])
  ].join(' · ')
}

/** Returns the address of a call; its time finds it quickly among many. */
export function placeOf ({ id, at_ms }: CallSummary): string {
  return `/calls/${encodeURIComponent(id)}?at=${at_ms}`
}

function isToday (ms: number): boolean {
  return new Date(ms).toDateString() === new Date().toDateString()
}
