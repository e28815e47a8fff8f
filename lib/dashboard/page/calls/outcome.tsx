/** The outcome of a call in a word: its status and its error code. */

import type { JSX } from 'preact'
import type { Answer } from '../api/client.ts'
import { Breakable } from '../parts/breakable.tsx'
import { Badge, type Tone } from '../parts/badge.tsx'

export type CallSummary = Answer<'GET /admin/v1/calls'>['data'][number]

export const outcomes = [
  { value: 'ok', label: 'Succeeded' },
  { value: 'error', label: 'Failed' },
  { value: 'client_closed', label: 'Client left' },
  { value: 'client_too_slow', label: 'Client too slow' },
  { value: 'interrupted', label: 'Interrupted' }
]

const tones: Readonly<Record<string, Tone>> = {
  ok: 'good',
  error: 'bad',
  client_closed: 'neutral',
  client_too_slow: 'neutral',
  interrupted: 'warn'
}

export function Outcome ({
  outcome,
  status,
  error_code
}: Pick<CallSummary, 'outcome' | 'status' | 'error_code'>): JSX.Element {
  const label =
    outcome === 'ok'
      ? String(status ?? 'ok')
      : outcome === 'error'
        ? String(status ?? 'failed')
        : (outcomes.find(({ value }) => value === outcome)?.label ?? outcome)
  return (
    <>
      <Badge tone={tones[outcome] ?? 'neutral'}>{label}</Badge>
      {error_code !== null && (
        <span class='sub mono'>
          <Breakable>{error_code}</Breakable>
        </span>
      )}
    </>
  )
}
