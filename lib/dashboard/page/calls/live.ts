/** Follows calls as they end, over server-sent events; the newest are kept. */

import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { addressOf, type Answer } from '../api/client.ts'
import type { CallFilters } from './filters.ts'
import type { CallSummary } from './outcome.tsx'

const maxKept = 200

export interface LiveTail {
  readonly calls: readonly CallSummary[]
  readonly state: 'connecting' | 'open' | 'lost'
  /** True when there were more calls than the stream carries. */
  readonly skipped: boolean
}

export function useLiveCalls (on: boolean, filters: CallFilters): LiveTail {
  const tail = useSignal<LiveTail>({ calls: [], state: 'connecting', skipped: false })
  const address = addressOf('/admin/v1/live-calls', {}, filters)
  useEffect(() => {
    if (!on) return
    tail.value = { calls: [], state: 'connecting', skipped: false }
    const source = new EventSource(address)
    source.addEventListener('open', () => { tail.value = { ...tail.peek(), state: 'open' } })
    // The browser connects again by itself, unless the server refused.
    source.addEventListener('error', () => { tail.value = { ...tail.peek(), state: source.readyState === EventSource.CLOSED ? 'lost' : 'connecting' } })
    source.addEventListener('message', ({ data }: MessageEvent<string>) => {
      const { calls, skipped } = JSON.parse(data) as Answer<'GET /admin/v1/live-calls'>
      const { calls: former, skipped: before } = tail.peek()
      tail.value = { calls: [...calls.toReversed(), ...former].slice(0, maxKept), state: 'open', skipped: before || skipped }
    })
    return () => source.close()
  }, [on, address])
  return tail.value
}
