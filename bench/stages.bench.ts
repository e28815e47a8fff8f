/** Measures the cost of each stage of a chat call, from the received call to its normalised answer. */

import { deepEqual, equal } from 'node:assert/strict'
import { CallRecord } from '../lib/core/record.ts'
import { checkChatRules } from '../lib/chat/rules.ts'
import { chatInput } from '../lib/dialects/chat-completions/input.ts'
import type { ChatInput } from '../lib/chat/input.ts'
import { createModels } from '../lib/models/create-models.ts'
import { createProvider } from '../lib/providers/index.ts'
import { fuse } from '../lib/pipeline/chain.ts'
import { once } from '../lib/pipeline/sources.ts'
import { map, type Stage } from '../lib/pipeline/stage.ts'
import { auth } from '../lib/stages/auth.ts'
import { normalise } from '../lib/stages/normalise.ts'
import { routeModel } from '../lib/stages/route-model.ts'
import { validate } from '../lib/stages/validate.ts'
import { ChatRequest } from '../schemas/chat.ts'
import { requestBody, texts, type BodySize } from '../lib/load/answers.ts'
import { benchApiKey, benchKey, benchSettings } from './support/settings.ts'
import type { AuthedCall, Batch, Call, RoutedCall, ValidCall } from '../lib/core/call.ts'
import type { ChatEvent } from '../lib/core/events.ts'
import type { Scenario } from './support/scenario.ts'

const settings = benchSettings()
const models = createModels(settings, new Set(['mock']))
const providers = new Map(settings.providers.map(entry => [
  entry.id, createProvider(entry, { send: async () => await Promise.reject(new Error('nothing is sent')) })
]))

const authStage = auth({ keys: { check: presented => presented === benchKey ? benchApiKey : undefined } })
const validateStage = validate(ChatRequest)
const promptStage = map(chatInput)
const rulesStage = map(checkChatRules)
const routeStage = routeModel({ models, providers, settings })
const normaliseStage = normalise()
/** As a pipeline joins them: all five are steps on the call. */
const [fused] = fuse([authStage, validateStage, promptStage, rulesStage, routeStage])
const fromAuthToRoute = fused as Stage<Call, RoutedCall<ChatInput>> // from the first to the last

export function callOf (size: BodySize, streamed = false): Call {
  const body: unknown = JSON.parse(requestBody('json', size, streamed))
  return {
    id: 'req-bench',
    headers: { authorization: `Bearer ${benchKey}` },
    params: {},
    body: async () => await Promise.resolve(body),
    signal: new AbortController().signal,
    receivedAtMs: performance.now(),
    record: new CallRecord('chat')
  }
}

export async function routedCall (streamed = false): Promise<RoutedCall<ChatInput>> {
  return await first(fromAuthToRoute(once(callOf('1 KB', streamed))))
}

async function first<T> (source: AsyncIterable<T>): Promise<T> {
  for await (const value of source) return value
  throw new Error('a stage gave nothing')
}

/** One call through one stage, generators included. */
function oneCall<In, Out> (
  name: string,
  stage: Stage<In, Out>,
  call: In,
  check: (call: Out) => void
): Scenario {
  return {
    name: `stage: ${name}`,
    per: 'call',
    count: 1,
    run: async () => await first(stage(once(call))),
    check: result => check(result as Out) // the output of the stage
  }
}

const plain = callOf('1 KB')
const authed: AuthedCall = { ...plain, key: benchApiKey }
const large: AuthedCall = { ...callOf('33 KB'), key: benchApiKey }
const valid = await first(validateStage(once(authed)))
const prompted = chatInput(valid)
const routed = await routedCall()

/** Returns 200 text events between a start and an end, in batches of the given size. */
export function batches (perBatch: number, call: RoutedCall<ChatInput>): Array<Batch<ChatInput, ChatEvent>> {
  const [route] = call.routes
  const events: ChatEvent[] = [
    { type: 'answer-start' },
    ...texts.map((text): ChatEvent => ({ type: 'text-delta', choice: 0, text })),
    { type: 'choice-end', choice: 0, reason: 'stop' },
    { type: 'usage', usage: { promptTokens: 1, completionTokens: 200, totalTokens: 201 } }
  ]
  const all: Array<Batch<ChatInput, ChatEvent>> = []
  for (let at = 0; at < events.length; at += perBatch) {
    all.push({ call, route, events: events.slice(at, at + perBatch) })
  }
  return all
}

function normalising (perBatch: number): Scenario {
  const given = batches(perBatch, routed)
  return {
    name: `stage: normalise, 200 events, ${perBatch} per read`,
    per: 'event',
    count: texts.length,
    run: async () => {
      const events: ChatEvent[] = []
      for await (const batch of normaliseStage(each(given))) events.push(...batch.events)
      return events
    },
    check: result => equal((result as ChatEvent[]).length, texts.length + 3)
  }
}

export async function * each<T> (values: readonly T[]): AsyncGenerator<T, void, undefined> {
  yield * values
}

export const scenarios: readonly Scenario[] = [
  oneCall<Call, AuthedCall>('auth', authStage, plain, call => equal(call.key.id, benchApiKey.id)),
  oneCall<AuthedCall, ValidCall<ChatRequest>>('validate, 1 KB', validateStage, authed, call =>
    equal(call.request.messages?.length, 2)
  ),
  oneCall<AuthedCall, ValidCall<ChatRequest>>('validate, 33 KB', validateStage, large, call =>
    equal(call.request.messages?.length, 40)
  ),
  oneCall('resolve-prompt', promptStage, valid, call => equal(call.request.messages.length, 2)),
  oneCall('check-chat-rules', rulesStage, prompted, call => equal(call, prompted)),
  oneCall('route-model', routeStage, prompted, call =>
    deepEqual(
      call.routes.map(({ modelId }) => modelId),
      ['mock/json']
    )
  ),
  {
    name: 'stages: auth to route-model, 1 KB',
    per: 'call',
    count: 1,
    run: async () => await routedCall(),
    check: result => equal((result as RoutedCall<ChatInput>).routes.length, 1)
  },
  normalising(1),
  normalising(8),
  normalising(200)
]
