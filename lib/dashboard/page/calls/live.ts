/** Follows calls as they end, over server-sent events; keeps the newest. */

import { useSignal, type Signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { readEvents } from '../api/read-events.ts'
import { ApiError, request, type Answer } from '../api/client.ts'
import type { CallFilters } from './filters.ts'
import type { CallSummary } from './outcome.tsx'

const maxKept = 200

export interface LiveTail {
  readonly calls: readonly CallSummary[]
  readonly state: 'connecting' | 'open' | 'lost'
  /** True if there were more calls than the stream carries. */
  readonly skipped: boolean
}

/** Delay before reconnecting. */
const reconnectMs = 3000

export function useLiveCalls (on: boolean, filters: CallFilters): LiveTail {
  const tail = useSignal<LiveTail>({ calls: [], state: 'connecting', skipped: false })
  useEffect(() => {
    if (!on) return
    tail.value = { calls: [], state: 'connecting', skipped: false }
    const controller = new AbortController()
    void follow(filters, tail, controller.signal)
    return () => controller.abort()
  }, [on, JSON.stringify(filters)])
  return tail.value
}

/**
 * Reads the stream until the page no longer shows it. Reconnects after an interruption, but not if the server
 * refuses.
 */
async function follow (filters: CallFilters, tail: Signal<LiveTail>, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      const response = await request('GET /admin/v1/live-calls', 'text/event-stream', {
        query: filters,
        signal
      })
      for await (const messages of readEvents<Answer<'GET /admin/v1/live-calls'>>(response)) {
        for (const { calls, skipped } of messages) {
          const { calls: former, skipped: before } = tail.peek()
          tail.value = {
            calls: [...calls.toReversed(), ...former].slice(0, maxKept),
            state: 'open',
            skipped: before || skipped
          }
        }
      }
    } catch (error) {
      if (signal.aborted) return
      if (ApiError.of(error).status !== 0) return void (tail.value = { ...tail.peek(), state: 'lost' })
    }
    tail.value = { ...tail.peek(), state: 'connecting' }
    await new Promise(resolve => setTimeout(resolve, reconnectMs))
  }
}
