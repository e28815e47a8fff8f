/** Configured guards: their activity of the last day, and what they would do with a text. */

import { GatewayError } from '../../lib/core/errors.ts'
import { CallRecord } from '../../lib/core/record.ts'
import { PlaceTable, text as textPlace } from '../../lib/json/place-table.ts'
import { once } from '../../lib/pipeline/sources.ts'
import { flatMap } from '../../lib/pipeline/stage.ts'
import { inspectAnswer } from '../../lib/stages/inspect-answer.ts'
import { inspectRequest } from '../../lib/stages/inspect-request.ts'
import { textsAt } from '../../lib/stages/texts-at.ts'
import type { Batch, RoutedCall } from '../../lib/core/call.ts'
import type { ChatEvent } from '../../lib/core/events.ts'
import type { GuardSettings } from '../../lib/core/settings.ts'
import type { Route } from '../../lib/core/route.ts'
import type { TextGuards } from '../../lib/guards/text-guards.ts'
import type { GuardSummary, GuardTrial, GuardTrialResult } from '../../schemas/admin/guards.ts'
import { principalOf, report } from './acts.ts'
import { visibleProjects } from './call-filter.ts'
import type { AdminHandlers, AdminRequest } from './handler.ts'

type GuardScope = NonNullable<GuardSettings['only']>

const dayMs = 86_400_000
const nothing: GuardSummary['last_day'] = {
  calls: 0, calls_with_findings: 0, findings: 0, unavailable: 0, took_ms: null
}

export const guardHandlers: AdminHandlers<'GET /admin/v1/stages' | 'POST /admin/v1/stages/try'> = {
  'GET /admin/v1/stages': async (call, { settings: { guards } }) => {
    const counts = await report(call, 'stagesReport', {
      fromMs: Date.now() - dayMs,
      projects: visibleProjects(call, undefined)
    })
    return {
      object: 'list',
      data: guards.map(({ name, use, at, action, when = 'always', only }): GuardSummary => {
        const known = counts.get(name)
        return {
          name,
          use,
          at: [...at],
          action: action ?? null,
          when,
          only: only === undefined ? null : visibleScope(call, only),
          last_day: known === undefined
            ? nothing
            : {
                calls: known.calls,
                calls_with_findings: known.callsWithFindings,
                findings: known.findings,
                unavailable: known.unavailable,
                took_ms: known.tookMs
              }
        }
      })
    }
  },

  'POST /admin/v1/stages/try': async (call, { settings, textGuards }) => {
    if (textGuards === undefined) {
      throw new GatewayError('not_found', { message: 'The configuration has no `stages`.' })
    }
    const asked = settings.guards.filter(({ when }) => when === 'asked').map(({ name }) => name)
    return await tried(textGuards, call, asked)
  }
}

/** Returns the scope of a guard; without names of keys and projects for users limited to some projects. */
function visibleScope (call: AdminRequest<'GET /admin/v1/stages'>, only: GuardScope): GuardScope {
  if (principalOf(call).projects === undefined) return { ...only }
  const { keys: _, projects: __, ...others } = only
  return others
}

interface Tried {
  readonly text: string
}

const places = textsAt<Tried>(new PlaceTable({ text: textPlace }))
const route: Route = { providerId: 'none', model: 'none', modelId: 'none' }

/**
 * Has the guards inspect a text, as in a chat completion by a key without a project that names some guards.
 */
async function tried (
  guards: TextGuards,
  given: AdminRequest<'POST /admin/v1/stages/try'>,
  requestedGuards: readonly string[]
): Promise<GuardTrialResult> {
  const { text, point } = given.request
  const record = new CallRecord('chat')
  const call: RoutedCall<Tried> = {
    id: given.id,
    headers: {},
    params: {},
    body: async () => undefined,
    signal: given.signal,
    receivedAtMs: performance.now(),
    record,
    key: { id: `admin:${principalOf(given).id}`, name: 'dashboard' },
    request: { text },
    requestedGuards,
    routes: [route]
  }
  let left: string | null = null
  let refusal: string | null = null
  try {
    left = await inspections[point](guards, call)
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code !== 'content_refused') throw error
    refusal = error.message
  }
  return {
    text: left,
    refusal,
    duration_ms: Math.round((performance.now() - call.receivedAtMs) * 100) / 100,
    findings: (record.guards.findings?.found ?? []).map(({ guard, action, count }) => ({
      stage: guard, action, count
    }))
  }
}

const inspections: Readonly<
  Record<GuardTrial['point'], (guards: TextGuards, call: RoutedCall<Tried>) => Promise<string>>
> = {
  request: async (guards, call) => {
    let { text } = call.request
    for await (const { request } of inspectRequest(guards, places)(once(call))) ({ text } = request)
    return text
  },
  answer: async (guards, call) => {
    const answer = flatMap(async function * (
      answered: RoutedCall<Tried>
    ): AsyncGenerator<Batch<Tried, ChatEvent>> {
      yield {
        call: answered,
        route,
        events: [
          { type: 'text-delta', choice: 0, text: answered.request.text },
          { type: 'choice-end', choice: 0, reason: 'stop' }
        ]
      }
    })
    let text = ''
    for await (const { events } of inspectAnswer(guards, undefined, answer)(once(call))) {
      for (const event of events) if (event.type === 'text-delta') text += event.text
    }
    return text
  }
}
