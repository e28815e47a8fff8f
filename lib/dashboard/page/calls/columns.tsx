/** The columns of lists of calls. */

import { count, duration } from '../format/numbers.ts'
import { dateTime, time } from '../format/time.ts'
import type { Column } from '../parts/table.tsx'
import { projectName } from '../state/names.ts'
import { at } from '../state/router.ts'
import { Cost } from './cost.tsx'
import { Outcome, type CallSummary } from './outcome.tsx'

export const columns: ReadonlyArray<Column<CallSummary>> = [
  { title: 'Time', cell: call => <a class='nowrap' href={at(placeOf(call))} title={dateTime(call.at_ms)}>{isToday(call.at_ms) ? time(call.at_ms) : dateTime(call.at_ms)}</a> },
  { title: 'Status', cell: call => <Outcome {...call} /> },
  {
    title: 'Model',
    cell: ({ model, requested_model, provider, attempts }) => (
      <>
        <span class='clip' title={model ?? requested_model ?? undefined}>{model ?? requested_model ?? '–'}</span>
        <span class='sub'>{provider ?? 'no provider'}{attempts > 1 && ` · ${attempts} attempts`}</span>
      </>
    )
  },
  { title: 'Endpoint', cell: ({ endpoint, streamed }) => <>{endpoint}{streamed && <span class='sub'>streamed</span>}</> },
  { title: 'Key', cell: ({ key_name, key_id, project_id }) => <><span class='clip' title={key_name ?? key_id}>{key_name ?? key_id}</span><span class='sub clip'>{projectName(project_id)}</span></> },
  { title: 'Tokens', number: true, cell: ({ prompt_tokens, completion_tokens }) => prompt_tokens === null && completion_tokens === null ? '–' : <>{count(prompt_tokens ?? 0)} <span class='faint'>+</span> {count(completion_tokens ?? 0)}</> },
  { title: 'Cost', number: true, cell: call => <Cost usd={call.cost_usd} estimated={call.estimated} /> },
  { title: 'First token', number: true, cell: ({ first_byte_ms }) => first_byte_ms === null ? '–' : duration(first_byte_ms) },
  { title: 'Duration', number: true, cell: call => duration(call.duration_ms) }
]

/** Returns where a call is shown: its time finds it at once among many. */
export function placeOf ({ id, at_ms }: CallSummary): string {
  return `/calls/${encodeURIComponent(id)}?at=${at_ms}`
}

function isToday (ms: number): boolean {
  return new Date(ms).toDateString() === new Date().toDateString()
}
