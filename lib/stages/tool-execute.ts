/**
 * Lets a model use the tools of tool servers: asks, runs what it calls, asks again with the
 * results, until it answers. Whole and streamed answers of every provider go through the same
 * turns; a call that names no tool server goes straight to `ask`.
 *
 * The caller sees one answer. Text appears as it is written, calls of server tools do not appear;
 * calls of the caller's own functions end the answer with `tool_calls`, after the server calls of
 * the same turn have been run and reported. An answer that ends although server calls are pending
 * shows those calls, and says why in `tool_loop_stopped`: `max_turns`, `deadline`,
 * `tokens`, `budget`, `calls_per_turn` or `repeated_call`.
 */

import { defaultTurns } from '../limits/estimate.ts'
import { standardSignal } from '../async/cancellation.ts'
import { forbidsTools, namedToolChoice, relaxedChoice } from '../chat/tool-choice.ts'
import { ToolCallFilter } from '../chat/tool-call-filter.ts'
import { addUsage } from '../core/usage.ts'
import { Turn, type TurnCall } from '../chat/turn.ts'
import { startDeadline } from '../async/start-deadline.ts'
import { GatewayError } from '../core/errors.ts'
import { once, flatMap } from '../core/stage.ts'
import { runTools, type RanCall } from '../mcp/run-tools.ts'
import type { Message, UserPart } from '../../schemas/messages.ts'
import type { Batch } from '../core/batch.ts'
import type { Route } from '../core/route.ts'
import type { RoutedCall } from '../core/call.ts'
import type { ChatInput } from '../chat/input.ts'
import type { ChatEvent, ToolServerError } from '../core/events.ts'
import type { Usage } from '../core/usage.ts'
import type { OpenTools, ToolServers } from '../mcp/tool-servers.ts'
import { affordableAnswer } from '../limits/affordable.ts'
import type { ProviderSettings, ToolSettings } from '../core/settings.ts'
import type { Services } from '../services.ts'
import type { Stage } from '../core/stage.ts'

type ChatCall = RoutedCall<ChatInput>
type ChatBatch = Batch<ChatInput, ChatEvent>
type Ask = Stage<ChatCall, ChatBatch>

export type ToolLimits = Pick<ToolSettings, 'loopMs' | 'loopTokens' | 'callsPerTurn' | 'repeats'>

export interface ToolServices extends Pick<Services, 'tools' | 'models' | 'providers'> {
  readonly settings: {
    readonly tools: ToolLimits
    readonly providers: ReadonlyArray<Pick<ProviderSettings, 'id' | 'kind'>>
  }
}

/** Tells whether the model of a route can be shown the pictures that tools return. */
type SeesImages = (route: Route) => boolean

/** The reason why the loop ended although the model had called server tools. */
export type StopReason = 'max_turns' | 'deadline' | 'tokens' | 'budget' | 'calls_per_turn' | 'repeated_call'

/** Characters of data URLs in one answer: every turn sends all of them again. */
const maxImageCharacters = 20_000_000

/**
 * Runs the tool loop: one call in, its answer out, with the shape `ask` alone would give it: one `response-start`, one
 * `choice-end` per choice, at most one `usage`, which is the sum over the turns. All turns after
 * the first go to the route that answered it.
 *
 * @param ask the provider-call stage
 * @throws GatewayError `unsupported_parameter` when `n` is greater than 1 while tools are to be
 *   run: there is one conversation to go on with. Else what `ask` throws.
 */
export function toolExecute (services: ToolServices, ask: Ask): Ask {
  const { tools, models, settings } = services
  const options: LoopOptions = { limits: settings.tools, seesImages: imageViewers(services), affords: turnsWithin(models) }
  const googleIds = new Set(settings.providers.filter(({ kind }) => kind === 'google').map(({ id }) => id))
  return flatMap(call => {
    const { request } = call
    if (!namesServers(request) || forbidsTools(request)) return ask(once(call))
    return runsTools(call, googleIds) ? answerWithTools(call, tools, ask, options) : offerTools(call, tools, ask)
  })
}

interface LoopOptions {
  readonly limits: ToolLimits
  readonly seesImages: SeesImages
  /** Tells whether the budget pays for another turn. */
  readonly affords: (call: ChatCall) => boolean
}

function turnsWithin (models: ToolServices['models']): LoopOptions['affords'] {
  return call => {
    const answer = affordableAnswer(call, models)
    return answer === undefined || answer.affordable >= answer.min
  }
}

/** Tells whether the model of a route is known to see: a picture shown to one that does not can fail the whole call. */
function imageViewers ({ models, providers }: ToolServices): SeesImages {
  return ({ modelId, providerId }) => providers.get(providerId)?.quirks.toolImages !== false &&
    models.find(modelId)?.capabilities['vision'] === true
}

function namesServers ({ mcp_servers: servers }: ChatInput): boolean {
  return servers !== undefined && !(Array.isArray(servers) && servers.length === 0)
}

/** Google has a field of its own for it, which other providers do not know. */
function runsTools ({ request, routes }: ChatCall, googleIds: ReadonlySet<string>): boolean {
  if (request.automatic_tool_execution === false) return false
  return !(request.disable_automatic_function_calling === true && googleIds.has(routes[0].providerId))
}

/** Offers the tools; what the model calls is left to the caller. */
async function * offerTools (call: ChatCall, tools: ToolServers, ask: Ask): AsyncGenerator<ChatBatch> {
  const open = await openTools(call, tools)
  let report = failureReport(open.errors)
  for await (const batch of ask(once({ ...call, request: withTools(call.request, open) }))) {
    const [first, ...rest] = batch.events
    const events = first?.type === 'response-start' ? [first, ...report, ...rest] : [...report, ...batch.events]
    yield { ...batch, call, events }
    report = []
  }
}

async function * answerWithTools (
  call: ChatCall, tools: ToolServers, ask: Ask, options: LoopOptions
): AsyncGenerator<ChatBatch> {
  if ((call.request.n ?? 1) > 1) {
    throw new GatewayError('unsupported_parameter', {
      message: '`n` greater than 1 cannot be combined with `mcp_servers`, unless `automatic_tool_execution` is false.',
      param: 'n'
    })
  }
  const open = await openTools(call, tools)
  const loop = new ToolLoop(call, open, ask, options)
  try {
    yield * loop.turns()
  } finally {
    loop.end()
  }
}

class ToolLoop {
  readonly #call: ChatCall
  readonly #open: OpenTools
  readonly #ask: Ask
  readonly #limits: ToolLimits
  readonly #seesImages: SeesImages
  readonly #affords: LoopOptions['affords']
  readonly #maxTurns: number
  readonly #own: ReadonlySet<string>
  readonly #clock
  readonly #errors: Record<string, ToolServerError>
  /** The number of times each call was made, by name and arguments. */
  readonly #made = new Map<string, number>()
  #usage: Usage | undefined
  #imageCharacters = 0

  constructor (call: ChatCall, open: OpenTools, ask: Ask, { limits, seesImages, affords }: LoopOptions) {
    this.#call = call
    this.#open = open
    this.#ask = ask
    this.#limits = limits
    this.#seesImages = seesImages
    this.#affords = affords
    this.#maxTurns = call.request.max_turns ?? defaultTurns
    this.#own = ownFunctions(call.request)
    this.#clock = startDeadline(limits.loopMs, call.signal, undefined)
    this.#errors = { ...open.errors }
  }

  /** Stops the clock and the tools that no call waits for any more. */
  end (): void {
    this.#clock.end()
  }

  async * turns (): AsyncGenerator<ChatBatch> {
    let asked: ChatCall = { ...this.#call, request: withTools(this.#call.request, this.#open) }
    let before: string | undefined
    for (let number = 1; ; number++) {
      const isLast = number === this.#maxTurns
      const shown = new ToolCallFilter(name => !isLast && this.#isServerTool(name), before)
      const turn = new Turn()
      this.#call.record.turns = number
      // Until this turn has reported as well, what is recorded is not all of it.
      if (this.#call.record.usage !== undefined) this.#call.record.usageEstimated = true
      let route = asked.routes[0]
      for await (const batch of this.#ask(once(asked))) {
        route = batch.route
        for (const event of batch.events) turn.add(event)
        const events = shown.read(batch.events)
        if (events.length > 0) yield { call: this.#call, route, events }
      }
      this.#usage = addUsage(this.#usage, turn.usage)
      const calls = wantsCalls(turn) ? turn.calls().filter(({ name }) => this.#isServerTool(name)) : []
      let stop = this.#stopReason(calls, isLast, asked)
      if (calls.length > 0 && stop === undefined) {
        const ran = yield * this.#run(calls, route)
        if (this.#call.signal.aborted) throw this.#call.signal.reason
        if (ran.some(({ outcome }) => outcome === undefined)) stop = 'deadline'
        else if (shown.callsShown === 0) {
          asked = nextTurn(asked, route, [turn.message(), ...ran.map(asToolMessage), ...asImageMessage(ran)])
          before = shown.lastText
          continue
        }
      }
      yield { call: this.#call, route, events: this.#ending(shown, stop, number) }
      return
    }
  }

  /** Tools the model calls that are not the caller's; a name it made up is answered here too. */
  #isServerTool (name: string): boolean {
    return this.#open.tools.length > 0 && !this.#own.has(name)
  }

  #stopReason (calls: readonly TurnCall[], isLast: boolean, asked: ChatCall): StopReason | undefined {
    if (calls.length === 0) return undefined
    if (isLast) return 'max_turns'
    if (this.#clock.passed()) return 'deadline'
    if ((this.#usage?.totalTokens ?? 0) >= this.#limits.loopTokens) return 'tokens'
    if (!this.#affords(asked)) return 'budget'
    if (calls.length > this.#limits.callsPerTurn) return 'calls_per_turn'
    let repeated = false
    for (const { name, argumentsText } of calls) {
      const key = JSON.stringify([name, argumentsText])
      const times = this.#made.get(key) ?? 0
      this.#made.set(key, times + 1)
      repeated ||= times >= this.#limits.repeats
    }
    return repeated ? 'repeated_call' : undefined
  }

  async * #run (calls: readonly TurnCall[], route: ChatBatch['route']): AsyncGenerator<ChatBatch, RanCall[]> {
    const { stream, stream_options: options } = this.#call.request
    const emitProgress = stream === true && options?.include_tool_events === true
    const startedAtMs = performance.now()
    const seesImages = this.#imageCharacters < maxImageCharacters && this.#seesImages(route)
    const running = runTools(calls, this.#open, { signal: this.#clock.signal, emitProgress, seesImages })
    for (;;) {
      const step = await running.next()
      if (step.done !== true) {
        yield { call: this.#call, route, events: step.value }
        continue
      }
      this.#call.record.upstreamWaitMs += performance.now() - startedAtMs
      const outcomes = step.value.flatMap(({ outcome }) => outcome ?? [])
      for (const { result, failure, images = [] } of outcomes) {
        if (failure !== undefined) this.#errors[result.serverName] = failure
        for (const image of images) this.#imageCharacters += image.length
      }
      const events = outcomes.map(({ result }): ChatEvent => ({ type: 'tool-result', result }))
      if (events.length > 0) yield { call: this.#call, route, events }
      return step.value
    }
  }

  #ending (shown: ToolCallFilter, stop: StopReason | undefined, turns: number): ChatEvent[] {
    const stopped: ChatEvent[] = stop === undefined
      ? []
      : [...shown.flush(), { type: 'extra', scope: 'answer', fields: { tool_loop_stopped: { reason: stop, turns } } }]
    return [
      ...shown.heldThinking(),
      ...stopped,
      ...failureReport(this.#errors),
      ...shown.choiceEnds(),
      ...(this.#usage === undefined ? [] : [{ type: 'usage', usage: this.#usage } as const])
    ]
  }
}

/** A turn cut off in the middle of a call has not really made it. */
function wantsCalls ({ reason }: Turn): boolean {
  return reason === 'tool_calls' || reason === 'stop'
}

async function openTools ({ request, key, signal, record }: ChatCall, tools: ToolServers): Promise<OpenTools> {
  const startedAtMs = performance.now()
  const open = await tools.open({ request, key, taken: ownFunctions(request), signal: standardSignal(signal) })
  record.upstreamWaitMs += performance.now() - startedAtMs
  return open
}

function ownFunctions ({ tools = [], functions = [] }: ChatInput): Set<string> {
  return new Set([
    ...tools.map(tool => 'custom' in tool ? tool.custom.name : tool.function.name),
    ...functions.map(({ name }) => name)
  ])
}

function withTools (request: ChatInput, { tools, offered }: OpenTools): ChatInput {
  const own = ownFunctions(request)
  const choice = request.tool_choice
  const nameOf = (wanted: string, server?: string): string | undefined => own.has(wanted) && server === undefined
    ? wanted
    : offered.find(({ tool, serverName }) => tool.name === wanted && (server === undefined || serverName === server))?.name
  return {
    ...request,
    ...(tools.length === 0 ? {} : { tools: [...request.tools ?? [], ...tools] }),
    ...(choice === undefined ? {} : { tool_choice: namedToolChoice(choice, nameOf) })
  }
}

function nextTurn (call: ChatCall, route: ChatBatch['route'], added: readonly Message[]): ChatCall {
  const { request } = call
  return {
    ...call,
    routes: [route],
    request: { ...request, ...relaxedChoice(request), messages: [...request.messages, ...added] }
  }
}

function asToolMessage ({ call, outcome }: RanCall): Message {
  return { role: 'tool', tool_call_id: call.id, content: outcome?.text ?? '' }
}

/**
 * Returns the pictures of the results: not every provider takes them in the message of a tool, every one
 * takes them in a message after it.
 */
function asImageMessage (ran: readonly RanCall[]): Message[] {
  const parts = ran.flatMap(({ call, outcome }) => (outcome?.images ?? []).flatMap((url, index): UserPart[] => [
    { type: 'text', text: `Image ${index + 1} of the result of ${call.name} (${call.id}):` },
    { type: 'image_url', image_url: { url } }
  ]))
  return parts.length === 0 ? [] : [{ role: 'user', content: parts }]
}

function failureReport (errors: Readonly<Record<string, ToolServerError>>): ChatEvent[] {
  return Object.keys(errors).length === 0 ? [] : [{ type: 'tool-servers-failed', errors }]
}
