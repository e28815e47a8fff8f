/** Sends a share of a route's calls to another model as well, after their callers have got their answers. */

import { CallRecord } from '../core/record.ts'
import { needsSlices } from '../core/request-size.ts'
import { chain } from '../pipeline/chain.ts'
import { once } from '../pipeline/sources.ts'
import { map, pass, type PassThroughStage } from '../pipeline/stage.ts'
import { providerCall } from './provider-call.ts'
import { recordUsage } from './record-usage.ts'
import type { ChatInput } from '../chat/input.ts'
import { detachedCall, type RoutedCall } from '../core/call.ts'
import type { ApiKey } from '../core/key.ts'
import type { ChatEvent } from '../core/events.ts'
import type { Route } from '../core/route.ts'
import type { Services } from '../services.ts'

/** The key of mirrored calls in usage rows and log lines: callers' keys are not charged. */
const mirrorKey: ApiKey = { id: 'mirror', name: 'mirror' }
const endpoint = 'mirror'

/**
 * Schedules the mirrored calls: one in, the same out. The other model gets the request as it left the guards,
 * translated, and once. Its tool calls are not run, and nobody gets its answer. Only text conversations up to
 * 256 KB are mirrored, without tool servers, `store` or the caller's own provider key. Calls pass if no route
 * is mirrored.
 *
 * @param isAnsweredAtOnce returns false for a call whose answer is fetched later
 * @param random returns a number from 0 up to but not including 1
 */
export function mirror (
  services: Pick<
    Services, 'models' | 'providers' | 'settings' | 'abandonedAnswers' | 'journalSent' | 'mirrors'
  >,
  isAnsweredAtOnce: (call: RoutedCall<ChatInput>) => boolean,
  random: () => number = Math.random
): PassThroughStage<RoutedCall<ChatInput>> {
  const { mirrors } = services
  if (mirrors === undefined) return pass
  const answer = chain(
    providerCall({ ...services, routingState: mirrors.routingState }, 'chat'),
    recordUsage<ChatInput, ChatEvent>()
  )
  const readAnswer = async (call: RoutedCall<ChatInput>): Promise<void> => {
    for await (const _ of answer(once(call))) {
      const { request, times } = call.record
      if (request.isStreamed === true) times.firstByteMs ??= performance.now() - call.receivedAtMs
    }
  }
  return map(<C extends RoutedCall<ChatInput>>(call: C): C => {
    const [{ mirror: target }] = call.routes
    if (target === undefined || random() >= target.share) return call
    if (!isMirrored(call) || !isAnsweredAtOnce(call)) return call
    const [route] = services.models.routes(target.model, call.request.stream === true)
    if (route === undefined) return call
    mirrors.plan(call.record, {
      start: signal => {
        const copy = mirroredCall(call, route, signal)
        copy.record.cost.models = services.models
        return { call: copy, done: readAnswer(copy) }
      },
      callMs: services.settings.limits.callMs,
      maxInFlight: target.maxInFlight
    })
    return call
  })
}

function isMirrored ({ request, providerKey, record }: RoutedCall<ChatInput>): boolean {
  return (
    providerKey === undefined &&
    request.mcp_servers === undefined &&
    request.store !== true &&
    request.audio === undefined &&
    request.cached_content === undefined &&
    !needsSlices(record.request) &&
    request.messages.every(({ content }) =>
      !Array.isArray(content) || content.every(({ type }) => type === 'text' || type === 'refusal'))
  )
}

function mirroredCall (
  { id, request, context, fit, record: { request: { requestedModel } } }: RoutedCall<ChatInput>,
  { mirror: _, defaults, ...route }: Route,
  signal: AbortSignal
): RoutedCall<ChatInput> {
  const record = new CallRecord(endpoint)
  record.caller.keyId = mirrorKey.id
  record.caller.keyName = mirrorKey.name
  record.request.requestedModel = requestedModel
  return {
    ...detachedCall({ id: `${id}:${endpoint}`, key: mirrorKey, record, signal }),
    request,
    context,
    routes: [{ ...route, ...defaults !== undefined && { settings: defaults } }],
    options: { fallbacks: [], maxRetries: 0 },
    ...fit !== undefined && {
      fit: (given, to, options) => fit(given, to, { ...options, isTranslated: true, notes: record.request })
    }
  }
}
