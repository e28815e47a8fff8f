/** Runs the tool calls of one turn, all at once. */

import type { TurnCall } from '../chat/turn.ts'
import type { ChatEvent } from '../core/events.ts'
import type { OfferedTool, OpenTools, ToolCallOptions, ToolOutcome } from './tool-servers.ts'

/** A call and what came of it; no outcome when there was no time left for one. */
export interface RanCall {
  readonly call: TurnCall
  readonly outcome: ToolOutcome | undefined
}

export interface RunOptions {
  readonly signal: AbortSignal
  /** Whether the caller wants to be told what happens. */
  readonly emitProgress: boolean
  readonly seesImages: boolean
}

/**
 * Yields `tool_event`s while the calls run (none unless `told`), each as soon as it happens, and
 * returns the outcomes in the order of the calls. What has not ended when the signal aborts is
 * cancelled at its server.
 */
export async function * runTools (
  calls: readonly TurnCall[], open: OpenTools, { signal, emitProgress: told, seesImages }: RunOptions
): AsyncGenerator<ChatEvent[], RanCall[]> {
  const news = new EventBuffer()
  const options = { signal, seesImages }
  const tell = told ? (fields: ToolEvent) => news.push(fields) : undefined
  const running = Promise.all(calls.map(async call => await runOne(call, open, options, tell))).finally(() => news.end())
  running.catch(() => undefined) // it is awaited below, unless the caller leaves before that
  for (;;) {
    const events = await news.next()
    if (events === undefined) return await running
    yield events
  }
}

type ToolEvent = Readonly<Record<string, unknown>>

/** What has happened since somebody last asked. */
class EventBuffer {
  #events: ChatEvent[] = []
  #ended = false
  #wake: (() => void) | undefined

  push (fields: ToolEvent): void {
    this.#events.push({ type: 'extra', scope: 'answer', alone: true, fields: { tool_event: fields } })
    this.#wake?.()
  }

  end (): void {
    this.#ended = true
    this.#wake?.()
  }

  /** At least one event, or `undefined` after the end. */
  async next (): Promise<ChatEvent[] | undefined> {
    if (this.#events.length === 0 && !this.#ended) await new Promise<void>(resolve => { this.#wake = resolve })
    return this.#events.length === 0 ? undefined : this.#events.splice(0)
  }
}

async function runOne (
  call: TurnCall, open: OpenTools, options: ToolCallOptions, tell?: (fields: ToolEvent) => void
): Promise<RanCall> {
  const offered = open.offered.find(({ name }) => name === call.name)
  const facts = { id: call.id, name: offered?.tool.name ?? call.name, server_name: offered?.serverName ?? null }
  tell?.({ type: 'tool-start', ...facts })
  const outcome = await outcomeOf(call, offered, open, tell === undefined ? options : {
    ...options,
    onProgress: ({ progress, total, message }) => tell({ type: 'tool-progress', ...facts, progress, total, message })
  })
  tell?.({
    type: 'tool-end', ...facts, is_error: outcome?.result.isError ?? true, duration_ms: outcome?.result.durationMs
  })
  return { call, outcome }
}

async function outcomeOf (
  { name, arguments: args }: TurnCall, offered: OfferedTool | undefined, open: OpenTools, options: ToolCallOptions
): Promise<ToolOutcome | undefined> {
  if (args === undefined) return notRun(name, offered, 'The arguments were not a JSON object.')
  try {
    return await open.call(name, args, options)
  } catch (error) {
    if (options.signal.aborted) return undefined
    throw error
  }
}

function notRun (name: string, offered: OfferedTool | undefined, message: string): ToolOutcome {
  return {
    text: `The tool was not called: ${message}`,
    result: {
      toolName: offered?.tool.name ?? name,
      serverName: offered?.serverName ?? '',
      arguments: {},
      isError: true,
      result: message
    }
  }
}
