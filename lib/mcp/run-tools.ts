/** Runs the tool calls of one turn concurrently. */

import { setMaxListeners } from 'node:events'
import type { TurnToolCall } from '../chat/turn.ts'
import type { ChatEvent } from '../core/events.ts'
import type { CallTrace, ChildSpan } from '../core/call-trace.ts'
import type { ToolRun } from '../core/record.ts'
import type { JsonObject } from '../json/type-guards.ts'
import type { Refusals } from './loop-bounds.ts'
import type { OpenTools, ToolCallOptions, ToolOutcome } from './tool-servers.ts'

/** A call and its outcome; no outcome if time ran out. */
export interface FinishedToolCall {
  readonly call: TurnToolCall
  readonly outcome: ToolOutcome | undefined
}

type SentArguments = (given: JsonObject) => Promise<JsonObject>

export interface RunOptions {
  readonly signal: AbortSignal
  /** True if the caller requested progress events. */
  readonly emitProgress: boolean
  readonly seesImages: boolean
  /** Refusal reasons by call index: a refused call gets its reason as the result. */
  readonly refusals: Refusals
  /** Returns the arguments to send to the server. Default: unchanged. */
  readonly sentArguments?: SentArguments | undefined
  readonly trace?: CallTrace | undefined
  /** Called with the result of each call. An error that it throws ends all calls. */
  readonly onOutcome?: (outcome: ToolOutcome) => void
  /** Called when a call has ended, even when its failure ends all of them. */
  readonly onEnd?: (run: ToolRun) => void
}

/**
 * Yields progress while the calls run (none unless `emitProgress`), each event as soon as it happens, and
 * returns the outcomes in the order of the calls. If a call reports faster than the caller reads, only the
 * latest event is yielded. Calls still running when the signal aborts are cancelled at their server.
 */
export async function* runTools (
  calls: readonly TurnToolCall[],
  open: OpenTools,
  { signal: given, emitProgress, seesImages, refusals, sentArguments, trace, onOutcome, onEnd }: RunOptions
): AsyncGenerator<ChatEvent[], FinishedToolCall[]> {
  const buffer = new EventBuffer()
  const failing = new AbortController()
  const signal = AbortSignal.any([given, failing.signal])
  setMaxListeners(0, signal) // one listener for each call
  const options = { signal, seesImages, sentArguments }
  const shown = emitProgress ? buffer : undefined
  const runOrRefuse = async (
    call: TurnToolCall,
    index: number,
    span: ChildSpan | undefined
  ): Promise<FinishedToolCall> => {
    const refusal = refusals[index]
    return refusal === undefined
      ? await runOne(call, open, { ...options, span }, shown)
      : { call, outcome: notRun(call, open, refusal) }
  }
  const runAndNote = async (call: TurnToolCall, index: number): Promise<FinishedToolCall> => {
    const startedAtMs = performance.now()
    const span = trace?.child()
    let outcome: ToolOutcome | undefined
    try {
      ({ outcome } = await runOrRefuse(call, index, span))
    } finally {
      const endedAtMs = performance.now()
      onEnd?.({ ...namesOf(call, open), startedAtMs, endedAtMs, outcome: outcomeNameOf(outcome), span })
    }
    if (outcome !== undefined) onOutcome?.(outcome)
    return { call, outcome }
  }
  const tasks = calls.map(runAndNote)
  const endAll = async (error: unknown): Promise<never> => {
    failing.abort(error)
    await Promise.allSettled(tasks) // so that `onEnd` is called for each
    throw error
  }
  const running = Promise.all(tasks).catch(endAll).finally(() => buffer.end())
  running.catch(() => undefined) // awaited below, unless the caller leaves first
  for (;;) {
    const events = await buffer.next()
    if (events === undefined) return await running
    yield events
  }
}

type ToolEvent = Readonly<Record<string, unknown>>

/**
 * Buffers events until they are read, at most three per call: a server may report progress endlessly while
 * the caller does not read.
 */
class EventBuffer {
  #events: ChatEvent[] = []
  /** Index of the unread progress of each call. */
  readonly #progress = new Map<TurnToolCall, number>()
  #ended = false
  #wake: (() => void) | undefined

  push (fields: ToolEvent): void {
    this.#events.push(asEvent(fields))
    this.#wake?.()
  }

  /** Adds progress of a call, replacing its unread progress. */
  pushProgress (call: TurnToolCall, fields: ToolEvent): void {
    const index = this.#progress.get(call)
    if (index !== undefined) {
      this.#events[index] = asEvent(fields)
      return
    }
    this.#progress.set(call, this.#events.length)
    this.push(fields)
  }

  end (): void {
    this.#ended = true
    this.#wake?.()
  }

  /** Resolves with at least one event, or `undefined` after the end. */
  async next (): Promise<ChatEvent[] | undefined> {
    if (this.#events.length === 0 && !this.#ended) {
      await new Promise<void>(resolve => {
        this.#wake = resolve
      })
    }
    this.#progress.clear()
    return this.#events.length === 0 ? undefined : this.#events.splice(0)
  }
}

function asEvent (fields: ToolEvent): ChatEvent {
  return { type: 'extra', scope: 'answer', alone: true, fields: { tool_event: fields } }
}

type OneOptions = ToolCallOptions & Pick<RunOptions, 'sentArguments'>

async function runOne (
  call: TurnToolCall, open: OpenTools, options: OneOptions, shown?: EventBuffer
): Promise<FinishedToolCall> {
  const offered = open.byName.get(call.name)
  const facts = {
    id: call.id,
    name: offered?.tool.name ?? call.name,
    server_name: offered?.serverName ?? null
  }
  shown?.push({ type: 'tool-start', ...facts })
  const outcome = await outcomeOf(
    call,
    open,
    shown === undefined
      ? options
      : {
          ...options,
          onProgress: ({ progress, total, message }) =>
            shown.pushProgress(call, { type: 'tool-progress', ...facts, progress, total, message })
        }
  )
  shown?.push({
    type: 'tool-end',
    ...facts,
    is_error: outcome?.result.isError ?? true,
    duration_ms: outcome?.result.durationMs
  })
  return { call, outcome }
}

async function outcomeOf (
  call: TurnToolCall,
  open: OpenTools,
  { sentArguments, ...options }: OneOptions
): Promise<ToolOutcome | undefined> {
  const { arguments: given } = call
  if (given === undefined) return notRun(call, open, 'The arguments must be a JSON object.')
  try {
    if (sentArguments === undefined) return await open.call(call.name, given, options)
    const outcome = await open.call(call.name, await sentArguments(given), options)
    return { ...outcome, result: { ...outcome.result, arguments: given } }
  } catch (error) {
    if (options.signal.aborted) return undefined
    throw error
  }
}

function namesOf (call: TurnToolCall, open: OpenTools): Pick<ToolRun, 'toolName' | 'serverName'> {
  const offered = open.byName.get(call.name)
  return { toolName: offered?.tool.name ?? call.name, serverName: offered?.serverName ?? '' }
}

function outcomeNameOf (outcome: ToolOutcome | undefined): ToolRun['outcome'] {
  if (outcome === undefined) return 'cancelled'
  if (outcome.failure !== undefined) return 'server_failed'
  if (outcome.result.durationMs === undefined) return 'not_run'
  return outcome.result.isError ? 'tool_error' : 'ok'
}

/** Returns the outcome of a refused call, with the reason as its result. */
export function notRun (call: TurnToolCall, open: OpenTools, message: string): ToolOutcome {
  return {
    text: `The tool was not called: ${message}`,
    result: {
      ...namesOf(call, open),
      arguments: call.arguments ?? {},
      isError: true,
      result: message
    }
  }
}
