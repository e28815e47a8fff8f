/** Folds the events of an answer's stream into one message. */

import { PrintedJson } from '../../core/reply.ts'
import { objectOf } from '../../json/type-guards.ts'
import { parseBounded } from '../../json/parse-bounded.ts'
import { messageForCaller } from './direct-frames.ts'
import { StreamEvents } from './stream-events.ts'
import type { AnswerBlock, MessagesAnswer, MessagesStreamEvent } from '../../../schemas/messages-answer.ts'
import type { AnswerStart, ChatBatch } from '../dialect.ts'
import type { MessagesContext } from './input.ts'

/** Returns the message from all batches of an answer; a direct answer is passed through. */
export function messageReply (
  start: AnswerStart<MessagesContext>,
  batches: readonly ChatBatch[]
): MessagesAnswer | PrintedJson {
  for (const { events } of batches) {
    for (const event of events) {
      if (event.type === 'direct-answer') return new PrintedJson(messageForCaller(event.json, start))
    }
  }
  return toMessage(start, batches)
}

/** Folds all batches into a message, through the stream that they would give. */
function toMessage (start: AnswerStart<MessagesContext>, batches: readonly ChatBatch[]): MessagesAnswer {
  const events = new StreamEvents(start)
  const fold = new MessageFold()
  for (const event of events.begin()) fold.add(event)
  for (const batch of batches) {
    for (const event of batch.events) for (const wire of events.of(event)) fold.add(wire)
  }
  for (const event of events.end()) fold.add(event)
  return fold.result()
}

/** Folds stream events like the official clients. */
export class MessageFold {
  readonly #content: AnswerBlock[] = []
  #message: Pick<MessagesAnswer, 'id' | 'type' | 'role' | 'model'> | undefined
  #end: Pick<MessagesAnswer, 'stop_reason' | 'stop_sequence' | 'stop_details' | 'usage'> | undefined
  #arguments = ''

  add (event: MessagesStreamEvent): void {
    switch (event.type) {
      case 'message_start': {
        const { id, type, role, model } = event.message
        this.#message = { id, type, role, model }
        break
      }
      case 'content_block_start':
        this.#content.push({ ...event.content_block })
        this.#arguments = ''
        break
      case 'content_block_delta':
        this.#grow(event.delta)
        break
      case 'content_block_stop': {
        const block = this.#content[event.index]
        if (block?.type === 'tool_use') block.input = inputOf(this.#arguments)
        break
      }
      case 'message_delta':
        this.#end = { ...event.delta, usage: event.usage }
        break
      case 'ping':
      case 'message_stop':
      case 'error':
    }
  }

  /** @throws TypeError for a stream that has not ended */
  result (): MessagesAnswer {
    if (this.#message === undefined || this.#end === undefined) {
      throw new TypeError('the stream did not end with message_stop')
    }
    return { ...this.#message, content: this.#content, ...this.#end }
  }

  #grow (delta: Extract<MessagesStreamEvent, { type: 'content_block_delta' }>['delta']): void {
    const block = this.#content.at(-1)
    switch (delta.type) {
      case 'text_delta':
        if (block?.type === 'text') block.text += delta.text
        break
      case 'thinking_delta':
        if (block?.type === 'thinking') block.thinking += delta.thinking
        break
      case 'signature_delta':
        if (block?.type === 'thinking') block.signature = delta.signature
        break
      case 'input_json_delta':
        this.#arguments += delta.partial_json
    }
  }
}

/** Truncated arguments become an empty object. */
function inputOf (text: string): Record<string, unknown> {
  if (text.trim() === '') return {}
  try {
    return objectOf(parseBounded(text)) ?? {}
  } catch {
    return {}
  }
}
