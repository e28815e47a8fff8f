/** The steps of a call, in order, on one time scale. */

import type { JSX } from 'preact'
import { duration, shortDuration } from '../format/numbers.ts'
import { Breakable } from '../parts/breakable.tsx'
import type { Answer } from '../api/client.ts'

type Call = Answer<'GET /admin/v1/calls/:call_id'>
type Entry = Call['timeline'][number]

const titles: Readonly<Record<string, string>> = {
  received: 'Received',
  auth: 'Key checked',
  wait: 'Waited',
  route_skipped: 'Route skipped',
  refused: 'Refused by a limit',
  attempt: 'Sent to the provider',
  attempt_failed: 'Attempt failed',
  first_byte: 'First token',
  tool_call: 'Tool call',
  stage: 'Guard',
  turn: 'Turn',
  end: 'End'
}

const tones: Readonly<Record<string, string>> = {
  attempt_failed: 'bad',
  refused: 'bad',
  route_skipped: 'warn',
  tool_call: 'tool',
  first_byte: 'good'
}

export function Timeline ({ call }: { readonly call: Call }): JSX.Element {
  const total = Math.max(call.duration_ms, 1)
  return (
    <ol class='timeline'>
      {call.timeline.map((entry, index) => (
        <li key={index} class={tones[entry.event]}>
          <span class='timeline-time number'>
            {entry.after_ms === null ? '' : shortDuration(entry.after_ms)}
          </span>
          <div class='grow'>
            <div class='row'>
              <strong>{titles[entry.event] ?? entry.event}</strong>
              {subject(entry) !== '' && (
                <span class='muted break'>
                  <Breakable>{subject(entry)}</Breakable>
                </span>
              )}
              {entry.duration_ms !== null && <span class='faint nowrap'>{duration(entry.duration_ms)}</span>}
            </div>
            {reason(entry) !== '' && <div class='small faint break'>{reason(entry)}</div>}
            {entry.after_ms !== null && (
              <Span from={entry.after_ms / total} length={(entry.duration_ms ?? 0) / total} />
            )}
          </div>
        </li>
      ))}
    </ol>
  )
}

/** Returns the reason as the API gives it, after the provider's status if it refused. */
function reason ({ reason, status }: Entry): string {
  return [status, reason].filter(part => part !== null).join(' · ')
}

function subject ({ tool, server, stage, model, provider }: Entry): string {
  if (stage !== null) return stage
  if (tool !== null) return server === null || server === '' ? tool : `${tool} of ${server}`
  if (model === null) return provider ?? ''
  return provider === null || model.startsWith(`${provider}/`) ? model : `${model} at ${provider}`
}

function Span ({ from, length }: { readonly from: number, readonly length: number }): JSX.Element {
  const left = Math.min(from, 0.995)
  return (
    <div class='timeline-track' aria-hidden='true'>
      <span
        style={{ left: `${left * 100}%`, width: `${Math.max(0.5, Math.min(length, 1 - left) * 100)}%` }}
      />
    </div>
  )
}
