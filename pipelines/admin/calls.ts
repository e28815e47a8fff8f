/** Calls: the list, single calls, and a live stream of calls as they end. */

import { setTimeout as sleep } from 'node:timers/promises'
import { standardSignal } from '../../lib/async/cancellation.ts'
import { copyCall } from '../../lib/core/call.ts'
import { GatewayError } from '../../lib/core/errors.ts'
import { eventStream } from '../../lib/replies/answer-reply.ts'
import type { Settings } from '../../lib/core/settings.ts'
import { currentPrincipal, type AdminCall } from '../../lib/stages/admin-auth.ts'
import { pageRequest } from '../../lib/stores/pages.ts'
import type { LiveCalls } from '../../schemas/admin/calls.ts'
import { adminRoutes } from '../../schemas/admin/routes.ts'
import { notFound, param, principalOf, report } from './acts.ts'
import { callFilter, momentOf } from './call-filter.ts'
import { printPages } from '../../lib/usage/export-usage.ts'
import { AdminReply, csvReply, type AdminHandlers, type AdminRequest } from './handler.ts'

/** Usage rows are written up to half a second after their calls. */
const lookEveryMs = 1000
/** Rows that appear later than that are found as well. */
const overlapMs = 5000
const maxFollowers = 100
/** Live streams per user, so that nobody takes all slots. */
const maxOfUser = 5
/** Calls per message: the cost of a second does not depend on how many calls end in it. */
const maxCalls = 100

/** Open live streams by user or admin key. */
const followers = new Map<string, number>()

export const callHandlers: AdminHandlers<
  | 'GET /admin/v1/calls'
  | 'GET /admin/v1/calls.csv'
  | 'GET /admin/v1/calls/:call_id'
  | 'GET /admin/v1/live-calls'
> = {
  'GET /admin/v1/calls.csv': async call => {
    const filter = await callFilter(call)
    const pages = printPages(
      'csv',
      async after => await report(call, 'exportPage', filter, 'csv', after)
    )
    return csvReply('calls.csv', pages)
  },

  'GET /admin/v1/calls': async call =>
    await report(call, 'listCalls', await callFilter(call), pageRequest(call.search)),

  'GET /admin/v1/calls/:call_id': async (call, { settings }) => {
    const { projects } = principalOf(call)
    const found = await report(call, 'findCall', param(call, 'call_id'), {
      projects: projects && [...projects],
      atMs: momentOf(call.search, 'at_ms'),
      traceUrl: settings.telemetry.traceUrl
    })
    if (found === undefined) throw notFound('call_id', 'call')
    return found
  },

  'GET /admin/v1/live-calls': async (call, { ready, settings }) => {
    await callFilter(call) // refuses an invalid filter before the answer starts
    const leave = join(call)
    return new AdminReply(eventStream(follow(call, leave, ready, settings)))
  }
}

/**
 * Counts a live stream immediately, because several may start at the same moment.
 *
 * @returns a function that removes it; the end of the call does so, too
 * @throws GatewayError `overloaded` if there are too many
 */
function join (call: AdminCall): () => void {
  const { signal } = call
  const { id } = principalOf(call)
  const own = followers.get(id) ?? 0
  if (own >= maxOfUser) {
    throw new GatewayError('overloaded', {
      message: `You are already following the calls in ${maxOfUser} places. Close one of them.`,
      retryAfterSeconds: 10
    })
  }
  const all = [...followers.values()].reduce((sum, count) => sum + count, 0)
  if (all >= maxFollowers) {
    throw new GatewayError('overloaded', {
      message: 'Too many people are already following calls. Try again later.',
      retryAfterSeconds: 10
    })
  }
  signal.throwIfAborted()
  followers.set(id, own + 1)
  let follows = true
  const leave = (): void => {
    if (!follows) return
    follows = false
    const left = (followers.get(id) ?? 1) - 1
    if (left === 0) followers.delete(id)
    else followers.set(id, left)
  }
  // in case the answer never starts
  signal.addEventListener('abort', leave, { once: true })
  return leave
}

/** Yields newly ended calls every second, until the caller leaves or loses access, or the gateway stops. */
async function* follow (
  call: AdminRequest<'GET /admin/v1/live-calls'>,
  leave: () => void,
  ready: () => boolean,
  settings: Pick<Settings, 'adminKey'>
): AsyncGenerator<string> {
  const signal = standardSignal(call.signal)
  const seen = new Map<string, number>()
  let afterMs = Date.now() - overlapMs
  try {
    yield printed({ calls: [], skipped: false })
    while (ready()) {
      await sleep(lookEveryMs, undefined, { signal })
      const principal = await currentPrincipal(call, adminRoutes['GET /admin/v1/live-calls'].role, settings)
      if (principal === undefined) return
      const lookMs = Date.now()
      const filter = await callFilter(copyCall(call, { principal }))
      const found = await report(call, 'endedCalls', filter, {
        afterMs,
        seen: new Set(seen.keys()),
        limit: maxCalls + 1
      })
      const skipped = found.length > maxCalls
      if (found.length > 0) yield printed({ calls: found.slice(-maxCalls), skipped })
      for (const { id, at_ms: atMs, duration_ms: durationMs } of found) seen.set(id, atMs + durationMs)
      // Skipped calls are not sent later.
      afterMs = skipped ? lookMs : Math.max(afterMs, lookMs - overlapMs)
      for (const [id, endMs] of seen) if (endMs <= afterMs) seen.delete(id)
    }
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    leave()
  }
}

function printed (message: LiveCalls): string {
  return `data: ${JSON.stringify(message)}\n\n`
}
