/**
 * Runs the turns of a call with server tools: the model answers, its tool calls are run, and it answers again
 * with their results.
 */

import { startDeadline, type Deadline } from '../async/start-deadline.ts'
import { copyCall } from '../core/call.ts'
import { GatewayError } from '../core/errors.ts'
import { once } from '../pipeline/sources.ts'
import type { Stage } from '../pipeline/stage.ts'
import { beginTurn, endTurn } from '../core/usage-facts.ts'
import { estimateChat } from '../limits/estimate-chat.ts'
import { addUsage, type Usage } from '../core/usage.ts'
import { ToolCallFilter, type ShownText } from '../chat/tool-call-filter.ts'
import { ToolTexts } from './tool-texts.ts'
import { toolKey } from '../chat/tool-names.ts'
import { Turn, type TurnToolCall } from '../chat/turn.ts'
import { LoopBounds, type Refusals, type StopReason, type ToolBounds } from './loop-bounds.ts'
import { notRun, runTools, type FinishedToolCall } from './run-tools.ts'
import { isObject, type JsonObject } from '../json/type-guards.ts'
import { parseBounded } from '../json/parse-bounded.ts'
import { offeredNames, callerFunctions, withApproved, withResults, withTools } from './turn-requests.ts'
import type { ApprovedCall, RoutedChatCall, ToolApproval } from '../chat/input.ts'
import type { ChatBatch } from '../dialects/dialect.ts'
import type { ChatEvent, ListedServerTool, ToolServerError } from '../core/events.ts'
import type { Route } from '../core/route.ts'
import type { TextGuards } from '../guards/text-guards.ts'
import { noErrors, type OpenTools } from './tool-servers.ts'

export type AnswerTurn = Stage<RoutedChatCall, ChatBatch>

export interface LoopOptions {
  readonly bounds: ToolBounds
  /** Returns true if the model of a route can read images that tools return. */
  readonly seesImages: (route: Route) => boolean
  /** Returns true if the budget allows another turn. */
  readonly canAffordTurn: (call: RoutedChatCall) => boolean
  /** Check the arguments and results of tools. Default: none. */
  readonly textGuards?: TextGuards | undefined
}

/** Maximum characters of data URLs in one answer, because every later turn sends them again. */
const maxImageCharacters = 20_000_000

/** Copies of tools and results in memory: as received, in the request, and as JSON for the provider. */
const toolCopies = 3

/**
 * Reserves memory for what tool servers add to the requests of a call, in `limits.body_memory_bytes`, until
 * the call ends.
 *
 * @throws GatewayError `overloaded` if other calls use the memory; `file_too_large` if it exceeds the maximum
 *   per key
 */
export function holdToolMemory (bytes: number, takeMemory: RoutedChatCall['takeMemory']): void {
  try {
    takeMemory?.(toolCopies * bytes)
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code !== 'file_too_large') throw error
    throw new GatewayError('file_too_large', {
      message:
        'The tools, or their results, need more memory than one API key may use. Name fewer tool servers.',
      param: 'mcp_servers'
    })
  }
}

/** The tool loop of one call. Read `turns` once, and call `end` afterwards. */
export class ToolLoop {
  readonly #call: RoutedChatCall
  readonly #open: OpenTools
  readonly #answerTurn: AnswerTurn
  readonly #bounds: LoopBounds
  readonly #seesImages: LoopOptions['seesImages']
  readonly #canAffordTurn: LoopOptions['canAffordTurn']
  readonly #callerFunctions: ReadonlySet<string>
  readonly #deadline: Deadline
  readonly #texts: ToolTexts
  readonly #errors: Record<string, ToolServerError>
  /** True in dialects that report server tools and their calls. */
  readonly #reportsTools: boolean
  /** Events to insert before the first output of the model. */
  #opening: readonly ChatEvent[] = []
  #usage: Usage | undefined
  #imageCharacters = 0

  constructor (
    call: RoutedChatCall,
    open: OpenTools,
    answerTurn: AnswerTurn,
    { bounds, seesImages, canAffordTurn, textGuards }: LoopOptions
  ) {
    this.#call = call
    this.#open = open
    this.#answerTurn = answerTurn
    this.#bounds = new LoopBounds(bounds, call.request)
    this.#seesImages = seesImages
    this.#canAffordTurn = canAffordTurn
    this.#callerFunctions = callerFunctions(call.request)
    this.#deadline = startDeadline(bounds.loopMs, call.signal)
    this.#errors = Object.assign(noErrors(), open.errors)
    this.#reportsTools = call.request.toolApproval !== undefined
    this.#texts = new ToolTexts(textGuards, call)
  }

  /** Stops the timer, and tools whose results are no longer needed. */
  end (): void {
    this.#deadline.end()
  }

  async * turns (): AsyncGenerator<ChatBatch> {
    let call = await this.#firstTurn()
    let shown: ShownText | undefined
    for (let number = 1; ; number++) {
      const answered = yield * this.#answerOnce(call, number, shown)
      const { route, filter } = answered
      const after = yield * this.#runCalls(answered)
      if ('stop' in after) {
        yield { call: this.#call, route, events: this.#ending(filter, number, after) }
        return
      }
      call = after.next
      shown = filter.shown
    }
  }

  /** Returns the call of the first turn, after the calls that the caller has approved. */
  async #firstTurn (): Promise<RoutedChatCall> {
    const { request } = this.#call
    const call = copyCall(this.#call, { request: withTools(request, this.#open) })
    if (request.toolApproval === undefined) return call
    this.#opening = this.#listed()
    if (request.toolApproval.approved.length === 0) return call
    const { ran, events } = await this.#runApproved(request.toolApproval)
    this.#opening = [...this.#opening, ...events]
    return copyCall(call, { request: withApproved(call.request, ran) })
  }

  /** Passes the answer of one turn on, without calls of server tools. */
  async * #answerOnce (
    call: RoutedChatCall,
    number: number,
    shown: ShownText | undefined
  ): AsyncGenerator<ChatBatch, AnsweredTurn> {
    const { record } = this.#call
    const isLast = this.#bounds.isLastTurn(number)
    const filter = new ToolCallFilter(
      name => (this.#reportsTools || !isLast) && this.#isServerTool(name),
      shown,
      this.#reportsTools
    )
    const turn = new Turn()
    record.tools.turns = number
    beginTurn(
      record.usage,
      record.routing,
      () => estimateChat(call.request, call.routes).prompt.typical
    )
    let [route] = call.routes
    for await (const batch of this.#answerTurn(once(call))) {
      route = batch.route
      for (const event of batch.events) turn.add(event)
      const events = afterStart(filter.read(batch.events), this.#opening)
      this.#opening = []
      if (events.length > 0) yield { call: this.#call, route, events }
    }
    endTurn(record.usage, turn.usage !== undefined)
    this.#usage = addUsage(this.#usage, turn.usage)
    return { call, number, route, turn, filter }
  }

  /** Runs the calls of a turn that are allowed and need no approval. */
  async * #runCalls (answered: AnsweredTurn): AsyncGenerator<ChatBatch, NextTurn | LoopEnd> {
    const { call, number, route, turn, filter } = answered
    const calls = hasCompleteCalls(turn) ? turn.calls().filter(({ name }) => this.#isServerTool(name)) : []
    const stop = this.#bounds.stopReason(calls, {
      turn: number,
      outOfTime: this.#deadline.passed(),
      tokens: this.#call.record.usage.total?.totalTokens ?? 0,
      canAffordTurn: () => this.#canAffordTurn(call)
    })
    if (stop !== undefined) {
      return { stop, waiting: [], pending: this.#reportsTools ? await this.#texts.called(calls) : calls }
    }
    // Broken arguments are reported to the model: nobody can approve a call that it did not write.
    const waiting = calls.filter(call => call.arguments !== undefined && this.#needsApproval(call))
    const end: LoopEnd = { stop, waiting, pending: [] }
    if (calls.length === 0) return end
    const runnable = calls.filter(call => !waiting.includes(call))
    const ran = yield * this.#run(runnable, this.#bounds.admit(runnable), route)
    if (this.#call.signal.aborted) throw this.#call.signal.reason
    const pending = ran.flatMap(({ call, outcome }) => outcome === undefined ? [call] : [])
    if (pending.length > 0) return { ...end, stop: 'deadline', pending }
    if (filter.callsShown > 0 || waiting.length > 0) return end
    const next = this.#nextTurn(answered, ran)
    // the results may cost more than the remaining budget
    return this.#canAffordTurn(next) ? { next } : { ...end, stop: 'budget' }
  }

  /** Returns the call of the next turn, which gets the results of this one. */
  #nextTurn ({ call, route, turn }: AnsweredTurn, ran: readonly FinishedToolCall[]): RoutedChatCall {
    const request = withResults(call.request, this.#texts.withSentArguments(turn.message(), ran), ran)
    return copyCall(call, { routes: [route] as const, request })
  }

  /** Returns true for tools other than the caller's, including hallucinated names. */
  #isServerTool (name: string): boolean {
    return this.#open.tools.length > 0 && !this.#callerFunctions.has(name)
  }

  async *#run (
    calls: readonly TurnToolCall[],
    refusals: Refusals,
    route: Route
  ): AsyncGenerator<ChatBatch, readonly FinishedToolCall[]> {
    const { stream, stream_options: options } = this.#call.request
    const emitProgress = stream === true && options?.include_tool_events === true
    const seesImages = this.#imageCharacters < maxImageCharacters && this.#seesImages(route)
    const { record, requestAccepted, takeMemory } = this.#call
    await requestAccepted // no tool may run for a refused call
    record.tools.runs ??= []
    const { runs } = record.tools
    const running = runTools(
      await this.#texts.called(calls),
      this.#open,
      {
        signal: this.#deadline.signal,
        emitProgress,
        seesImages,
        refusals,
        sentArguments: this.#texts.sentArguments,
        trace: record.trace,
        onOutcome: ({ text, images = [] }) =>
          holdToolMemory(images.reduce((sum, image) => sum + image.length, text.length), takeMemory),
        onEnd: run => runs.push(run)
      }
    )
    for (;;) {
      const startedAtMs = performance.now()
      const step = await running.next()
      record.times.upstreamWaitMs += performance.now() - startedAtMs
      if (step.done !== true) {
        yield { call: this.#call, route, events: step.value }
        continue
      }
      const ran = await this.#texts.returned(step.value)
      const outcomes = ran.flatMap(({ outcome }) => outcome ?? [])
      for (const { result, failure, images = [] } of outcomes) {
        if (failure !== undefined) this.#errors[result.serverName] = failure
        for (const image of images) this.#imageCharacters += image.length
      }
      const events = outcomes.map(({ result }): ChatEvent => ({ type: 'tool-result', result }))
      if (events.length > 0) yield { call: this.#call, route, events }
      return ran
    }
  }

  #needsApproval (call: TurnToolCall): boolean {
    const offered = this.#open.byName.get(call.name)
    return (
      offered !== undefined &&
      this.#call.request.toolApproval?.isNeeded(offered.serverName, offered.tool.name) === true
    )
  }

  #approvalOf (call: TurnToolCall): ChatEvent {
    const { serverName = '', tool = { name: call.name } } = this.#open.byName.get(call.name) ?? {}
    return { type: 'tool-approval-needed', serverName, toolName: tool.name, arguments: call.arguments ?? {} }
  }

  /** Returns the tools of each server. */
  #listed (): ChatEvent[] {
    const byServer = new Map<string, ListedServerTool[]>()
    for (const { serverName, tool } of this.#open.offered) {
      const tools = byServer.get(serverName)
      if (tools === undefined) byServer.set(serverName, [tool])
      else tools.push(tool)
    }
    return [...byServer].map(([serverName, tools]) => ({ type: 'tools-listed', serverName, tools }))
  }

  /**
   * Runs approved calls that the bounds admit, under the names by which their tools are offered now. A name
   * that the call's server does not offer may belong to another server's tool. The batches of the run are
   * dropped: the returned events report each result with the id of its approval.
   */
  async #runApproved (approval: ToolApproval): Promise<{
    readonly ran: readonly FinishedToolCall[]
    readonly events: readonly ChatEvent[]
  }> {
    const approved = this.#texts.approved(approval.approved)
    const names = offeredNames(this.#open)
    const calls = approved.flatMap(call => {
      const name = names.get(toolKey(call.serverName, call.toolName))
      return name === undefined ? [] : asTurnCall(call, name)
    })
    const running = this.#run(calls, this.#bounds.admitApproved(calls), this.#call.routes[0])
    for (;;) {
      const step = await running.next()
      if (step.done === true) {
        if (this.#call.signal.aborted) throw this.#call.signal.reason
        const byId = new Map(step.value.map(finished => [finished.call.id, finished]))
        const ran: FinishedToolCall[] = []
        for (const call of approved) ran.push(byId.get(call.id) ?? await this.#notOffered(call))
        return { ran, events: ran.flatMap(approvedResult) }
      }
    }
  }

  async #notOffered (approved: ApprovedCall): Promise<FinishedToolCall> {
    const { serverName, toolName } = approved
    const [call = asTurnCall(approved, toolName)] = await this.#texts.called([asTurnCall(approved, toolName)])
    const { text, result } = notRun(call, this.#open, 'The tool server no longer offers this tool.')
    return { call, outcome: { text, result: { ...result, serverName, toolName } } }
  }

  #ending (filter: ToolCallFilter, turns: number, { stop, waiting, pending }: LoopEnd): ChatEvent[] {
    const stopped: ChatEvent[] =
      stop === undefined
        ? []
        : [
            ...this.#shownPending(filter, pending, stop),
            { type: 'extra', scope: 'answer', fields: { tool_loop_stopped: { reason: stop, turns } } }
          ]
    return [
      ...filter.withheldThinking(),
      ...stopped,
      ...waiting.map(call => this.#approvalOf(call)),
      ...failureReport(this.#errors),
      ...filter.choiceEnds(),
      ...this.#reportedUsage()
    ]
  }

  /**
   * Returns the sum over all turns, or nothing if a turn did not report its usage: a partial sum would be
   * billed incorrectly.
   */
  #reportedUsage (): ChatEvent[] {
    return this.#usage === undefined || this.#call.record.usage.hasEstimatedTurns === true
      ? []
      : [{ type: 'usage', usage: this.#usage }]
  }

  /**
   * Returns what the caller sees of calls that are not run: the calls themselves, or their results in
   * dialects that report server tools.
   */
  #shownPending (
    filter: ToolCallFilter,
    calls: readonly TurnToolCall[],
    stop: StopReason
  ): readonly ChatEvent[] {
    if (!this.#reportsTools) return filter.withheldCalls(new Set(calls.map(({ id }) => id)))
    return calls.map(call => ({
      type: 'tool-result',
      result: notRun(call, this.#open, `The tool loop stopped before this call (${stop}).`).result
    }))
  }
}

interface AnsweredTurn {
  /** The call of this turn, with the tools and the results so far. */
  readonly call: RoutedChatCall
  readonly number: number
  readonly route: Route
  readonly turn: Turn
  readonly filter: ToolCallFilter
}

interface NextTurn {
  readonly next: RoutedChatCall
}

/** The end of a loop, and the calls of its last turn that were not run. */
interface LoopEnd {
  /** `undefined`: the model has finished, or the caller has to act. */
  readonly stop: StopReason | undefined
  /** Calls that need approval. */
  readonly waiting: readonly TurnToolCall[]
  /** Calls at which the loop stopped, and that did not run. */
  readonly pending: readonly TurnToolCall[]
}

/** Inserts events before the first output of the model. */
export function afterStart (
  events: readonly ChatEvent[],
  inserted: readonly ChatEvent[]
): readonly ChatEvent[] {
  if (inserted.length === 0) return events
  const [first, ...rest] = events
  return first?.type === 'answer-start' ? [first, ...inserted, ...rest] : [...inserted, ...events]
}

function asTurnCall ({ id, argumentsText }: ApprovedCall, name: string): TurnToolCall {
  return { id, name, arguments: argumentsOf(argumentsText), argumentsText, extra: {} }
}

/** Returns the result of an approved call; the call has the id of its approval. */
function approvedResult ({ call, outcome }: FinishedToolCall): ChatEvent[] {
  return outcome === undefined
    ? []
    : [{ type: 'tool-result', result: { ...outcome.result, approvalId: call.id } }]
}

function argumentsOf (text: string): JsonObject | undefined {
  try {
    const value: unknown = parseBounded(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined // reported by the result of the call
  }
}

/** Returns true if the calls of a turn are complete: truncation may cut the last one. */
function hasCompleteCalls ({ reason }: Turn): boolean {
  return reason === 'tool_calls' || reason === 'stop'
}

/** Returns the event that reports failed servers, if there are any. */
export function failureReport (errors: Readonly<Record<string, ToolServerError>>): ChatEvent[] {
  return Object.keys(errors).length === 0 ? [] : [{ type: 'tool-servers-failed', errors }]
}
