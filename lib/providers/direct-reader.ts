/**
 * Reads answers that are passed through unchanged, and extracts what the gateway needs to know: usage, tool
 * calls and the end.
 */

import { GatewayError } from '../core/errors.ts'
import { objectIn, withReportedUsage } from './json-api.ts'
import type { EventSourceMessage } from 'eventsource-parser'
import type { ChatEvent, FinishReason } from '../core/events.ts'
import type { Usage } from '../core/usage.ts'
import type { StreamReader } from './provider.ts'

/** Reads one answer, complete or streamed. Subclasses know the format of their API. */
export abstract class DirectReader implements StreamReader<ChatEvent> {
  isDone = false
  protected started = false
  #calls = 0

  /**
   * Reads a complete answer.
   *
   * @param bytes the raw answer
   * @throws ProviderFailure or GatewayError for an error or an unreadable answer
   */
  complete (value: unknown, bytes?: Buffer): ChatEvent[] {
    const events: ChatEvent[] = [{ type: 'answer-start' }]
    return withReportedUsage(() => this.usage, () => {
      const json = this.readAnswer(value, bytes?.toString() ?? JSON.stringify(value), events)
      events.push({ type: 'direct-answer', json, characters: json.length })
      this.#finish(events)
      return events
    })
  }

  read (message: EventSourceMessage, into: ChatEvent[]): void {
    const { event: name, data } = message
    // An error may be plain text.
    if (name !== 'error' && !data.startsWith('{') && objectIn(data) === undefined) return
    const frame = this.frameWithoutFacts(message)
    if (frame !== undefined) {
      into.push(frame)
      return
    }
    this.readMessage(message, into)
    if (this.isDone) this.#finish(into)
  }

  end (into: ChatEvent[]): void {
    if (this.reason === undefined) throw new GatewayError('upstream_stream_interrupted')
    this.#finish(into)
  }

  /** Like `usage`, for streams that break off. */
  usageSoFar (): Usage | undefined {
    return this.usage
  }

  /** Appends `answer-start` once. */
  protected start (into: ChatEvent[]): void {
    if (!this.started) into.push({ type: 'answer-start' })
    this.started = true
  }

  /** Reports a tool call, so that later turns go to the provider that made it. */
  protected noteCall (id: string, name: string, into: ChatEvent[]): void {
    into.push({ type: 'tool-call-start', choice: 0, callIndex: this.#calls++, id, name, kind: 'function' })
  }

  protected get callsTools (): boolean {
    return this.#calls > 0
  }

  #finish (into: ChatEvent[]): void {
    into.push({ type: 'choice-end', choice: 0, reason: this.reason ?? 'stop' })
    const { usage } = this
    if (usage !== undefined) into.push({ type: 'usage', usage })
  }

  /**
   * Extracts the facts of a complete answer.
   *
   * @returns the text for the caller
   * @throws ProviderFailure and GatewayError like `complete`
   */
  protected abstract readAnswer (value: unknown, json: string, into: ChatEvent[]): string
  /** Returns the frame of a message that needs no parsing; `undefined` for others. */
  protected abstract frameWithoutFacts (message: EventSourceMessage): ChatEvent | undefined
  /**
   * Appends the frame and the facts of a message; sets `done` after the last.
   *
   * @throws ProviderFailure for an error
   */
  protected abstract readMessage (message: EventSourceMessage, into: ChatEvent[]): void
  /** The finish reason; `undefined` until the answer has ended. */
  protected abstract get reason (): FinishReason | undefined
  protected abstract get usage (): Usage | undefined
}
